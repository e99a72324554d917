/** Whether the daemon is alive: a loop has completed recently enough. Knows nothing of HTTP or of what a loop does. */

export interface HealthVerdict {
  readonly healthy: boolean;
  /** One sentence for a person. */
  readonly reason: string;
}

/** A process that waits for leadership is healthy; one that leads must complete a loop every `maxInactivityMs`. */
export class Health {
  readonly #maxInactivityMs: number;
  #leadingSinceMs: number | undefined;
  #lastCompletedMs: number | undefined;
  #ready = false;

  /** `maxInactivityMs` counts from leadership until the first loop, and from each completed loop after. */
  constructor(options: { readonly maxInactivityMs: number }) {
    this.#maxInactivityMs = options.maxInactivityMs;
  }

  /** From now on loops are expected. `nowMs` is monotonic, as everywhere here. */
  leading(nowMs: number): void {
    this.#leadingSinceMs = nowMs;
  }

  loopCompleted(nowMs: number): void {
    this.#lastCompletedMs = nowMs;
    this.#ready = true;
  }

  check(nowMs: number): HealthVerdict {
    const since = this.#lastCompletedMs ?? this.#leadingSinceMs;
    if (since === undefined) return { healthy: true, reason: 'waiting for leadership' };
    const seconds = Math.round((nowMs - since) / 1000);
    const healthy = nowMs - since <= this.#maxInactivityMs;
    const what = this.#lastCompletedMs === undefined ? 'no loop has completed since the start' : 'the last loop completed';
    return { healthy, reason: `${what} ${seconds} s ago; the limit is ${this.#maxInactivityMs / 1000} s` };
  }

  /** Ready once a first loop has completed; a standby is ready too, since it can take over. */
  get ready(): boolean {
    return this.#ready || this.#leadingSinceMs === undefined;
  }
}
