/** Whether the daemon is alive: a loop has completed recently enough, and not every one since has failed. Knows nothing of HTTP or of what a loop does. */

export interface HealthVerdict {
  readonly healthy: boolean;
  /** One sentence for a person. */
  readonly reason: string;
}

export interface HealthLimits {
  /** Counts from leadership until the first loop, and from each completed loop after. */
  readonly maxInactivityMs: number;
  /** This many failed loops one after the other are too many: what is wrong may be wrong in this process. */
  readonly maxFailuresInRow: number;
}

/** A process that waits for leadership is healthy; one that leads must complete loops. */
export class Health {
  readonly #limits: HealthLimits;
  #failuresInRow = 0;
  #leadingSinceMs: number | undefined;
  #lastCompletedMs: number | undefined;
  #ready = false;

  constructor(limits: HealthLimits) {
    this.#limits = limits;
  }

  /** From now on loops are expected. `nowMs` is monotonic, as everywhere here. */
  leading(nowMs: number): void {
    this.#leadingSinceMs = nowMs;
  }

  loopCompleted(nowMs: number): void {
    this.#lastCompletedMs = nowMs;
    this.#failuresInRow = 0;
    this.#ready = true;
  }

  loopFailed(): void {
    this.#failuresInRow += 1;
  }

  check(nowMs: number): HealthVerdict {
    const since = this.#lastCompletedMs ?? this.#leadingSinceMs;
    if (since === undefined) return { healthy: true, reason: 'waiting for leadership' };
    const { maxInactivityMs, maxFailuresInRow } = this.#limits;
    if (this.#failuresInRow >= maxFailuresInRow)
      return { healthy: false, reason: `${this.#failuresInRow} loops in a row have failed; the limit is ${maxFailuresInRow}` };
    const seconds = Math.round((nowMs - since) / 1000);
    const healthy = nowMs - since <= maxInactivityMs;
    const what = this.#lastCompletedMs === undefined ? 'no loop has completed since the start' : 'the last loop completed';
    return { healthy, reason: `${what} ${seconds} s ago; the limit is ${maxInactivityMs / 1000} s` };
  }

  /** Ready once a first loop has completed; a standby is ready too, since it can take over. */
  get ready(): boolean {
    return this.#ready || this.#leadingSinceMs === undefined;
  }
}
