/**
 * Whether the daemon is alive: loops end, one completed recently enough, and not too many failed since. The three limits
 * are upstream's (`--max-inactivity`, `--max-failing-time`, `--max-startup-time`). Must not know HTTP or what a loop does.
 */

interface HealthVerdict {
  readonly healthy: boolean;
  /** One sentence for people. */
  readonly reason: string;
}

interface HealthLimits {
  /** Maximum time since the last loop ended, with any result. */
  readonly maxInactivityMs: number;
  /** Maximum time since the last loop completed. */
  readonly maxFailingMs: number;
  /** Maximum time from leadership to the first completed loop. The longest of the three limits applies. */
  readonly maxStartupMs: number;
  /** Limit of consecutive failed loops: the cause may be this process itself. */
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

  /** Loops are expected from now on. `nowMs` is monotonic, as in all methods. */
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

  /** Ready after the first completed loop. A standby is ready too, since it can take over. */
  get ready(): boolean {
    return this.#lastCompletedMs !== undefined || this.#leadingSinceMs === undefined;
  }
}

function verdict(what: string, agoMs: number, limitMs: number): HealthVerdict {
  return { healthy: agoMs <= limitMs, reason: `${what} ${Math.round(agoMs / 1000)} s ago; the limit is ${limitMs / 1000} s` };
}
