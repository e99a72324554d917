/** How many calls of one kind may still be sent for each key, so that a server's own limit on them is not reached. Sends nothing. */
import type { Clock } from '../lib/clock.ts';

export class CallAllowance {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #burst: number;
  readonly #refillMs: number;
  /** When the allowance of a key is whole again without further calls (monotonic). */
  readonly #wholeAtMs = new Map<string, number>();

  /** `burst` calls may be sent at once, and then one in each `refillMs`. */
  constructor(clock: Pick<Clock, 'monotonic'>, { burst, refillMs }: { readonly burst: number; readonly refillMs: number }) {
    this.#clock = clock;
    this.#burst = burst;
    this.#refillMs = refillMs;
  }

  /** The number of calls that may be sent for this key now. */
  left(key: string): number {
    const nowMs = this.#clock.monotonic();
    const usedMs = Math.max(0, (this.#wholeAtMs.get(key) ?? nowMs) - nowMs);
    if (usedMs === 0) this.#wholeAtMs.delete(key);
    // guard: an allowance of calls is used up by calls
    return Math.max(0, this.#burst - Math.ceil(usedMs / this.#refillMs));
  }

  /** A call for this key is being sent. */
  note(key: string): void {
    const nowMs = this.#clock.monotonic();
    this.#wholeAtMs.set(key, Math.max(this.#wholeAtMs.get(key) ?? nowMs, nowMs) + this.#refillMs);
  }
}
