/**
 * A limit of our own on calls to ARM, for who wants one below Azure's: a bucket of tokens for reads and one for writes. A
 * call without a token waits for it; none is refused. Off unless configured: the budgets follow what Azure tells.
 */
import type { Clock } from '../../domain/clock.ts';

export interface CallRate {
  readonly perSecond: number;
  /** Calls that may go at once after a rest. */
  readonly burst: number;
}

export class RateLimit {
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly #rate: CallRate;
  /** When the bucket would be full, if nobody else came: later than now by the tokens that are out. */
  #fullAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>, rate: CallRate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Resolves when the call may go, in the order of asking. Rejects when the signal fires; its token is lost then. */
  async take(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonic();
    const perTokenMs = 1000 / this.#rate.perSecond;
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + perTokenMs;
    const waitMs = this.#fullAtMs - nowMs - this.#rate.burst * perTokenMs;
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
  }
}
