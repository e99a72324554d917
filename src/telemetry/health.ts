/**
 * Whether the daemon is alive: loops end, one has completed recently enough, and not every one since has failed. Knows nothing
 * of HTTP or of what a loop does. The three times are upstream's (`--max-inactivity`, `--max-failing-time`, `--max-startup-time`).
 */

export interface HealthVerdict {
  readonly healthy: boolean;
  /** One sentence for a person. */
  readonly reason: string;
}

export interface HealthLimits {
  /** So long after the last loop that ended, however it did. */
  readonly maxInactivityMs: number;
  /** So long after the last loop that completed. */
  readonly maxFailingMs: number;
  /** So long after leadership for the first to complete; the longest of the three holds. */
  readonly maxStartupMs: number;
  /** This many failed loops one after the other are too many: what is wrong may be wrong in this process. */
  readonly maxFailuresInRow: number;
}

/** A process that waits for leadership is healthy; one that leads must complete loops. */
export class Health {
  #limits: HealthLimits;
  #failuresInRow = 0;
  #leadingSinceMs: number | undefined;
  #lastEndedMs = 0;
  #lastCompletedMs: number | undefined;

  constructor(limits: HealthLimits) {
    this.#limits = limits;
  }

  reconfigure(limits: HealthLimits): void {
    this.#limits = limits;
  }

  /** From now on loops are expected. `nowMs` is monotonic, as everywhere here. */
  leading(nowMs: number): void {
    this.#leadingSinceMs = nowMs;
  }

  loopCompleted(nowMs: number): void {
    this.#lastCompletedMs = nowMs;
    this.#lastEndedMs = nowMs;
    this.#failuresInRow = 0;
  }

  loopFailed(nowMs: number): void {
    this.#lastEndedMs = nowMs;
    this.#failuresInRow += 1;
  }

  check(nowMs: number): HealthVerdict {
    if (this.#lastCompletedMs === undefined && this.#leadingSinceMs === undefined)
      return { healthy: true, reason: 'waiting for leadership' };
    const { maxFailuresInRow } = this.#limits;
    if (this.#failuresInRow >= maxFailuresInRow)
      return { healthy: false, reason: `${this.#failuresInRow} loops in a row have failed; the limit is ${maxFailuresInRow}` };
    return this.#lastCompletedMs === undefined
      ? this.#starting(nowMs, this.#leadingSinceMs ?? nowMs)
      : this.#running(nowMs, this.#lastCompletedMs);
  }

  #starting(nowMs: number, sinceMs: number): HealthVerdict {
    const { maxInactivityMs, maxFailingMs, maxStartupMs } = this.#limits;
    const limitMs = Math.max(maxInactivityMs, maxFailingMs, maxStartupMs);
    return verdict('no loop has completed since the start', nowMs - sinceMs, limitMs);
  }

  #running(nowMs: number, completedMs: number): HealthVerdict {
    const { maxInactivityMs, maxFailingMs } = this.#limits;
    const completed = verdict('the last loop completed', nowMs - completedMs, maxFailingMs);
    const ended = verdict('the last loop ended', nowMs - this.#lastEndedMs, maxInactivityMs);
    return completed.healthy && !ended.healthy ? ended : completed;
  }

  /** Ready once a first loop has completed; a standby is ready too, since it can take over. */
  get ready(): boolean {
    return this.#lastCompletedMs !== undefined || this.#leadingSinceMs === undefined;
  }
}

function verdict(what: string, agoMs: number, limitMs: number): HealthVerdict {
  return { healthy: agoMs <= limitMs, reason: `${what} ${Math.round(agoMs / 1000)} s ago; the limit is ${limitMs / 1000} s` };
}
