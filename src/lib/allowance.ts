/**
 * How often something may happen. There are two rules, which differ: an `Allowance` saves up what was not used, as the limits of servers do,
 * so that within a stretch of time more may happen than it refills; a `RateWindow` counts what began within the last stretch, so that no
 * stretch has more. Must not know what happens.
 */
import type { Clock } from './clock.ts';

/** `burst` uses at once, and then one in each `refillMs`. */
export interface AllowanceLimit {
  readonly burst: number;
  readonly refillMs: number;
}

/** The limit that a rate means. */
export function limitOfRate({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }): AllowanceLimit {
  return { burst, refillMs: 1000 / perSecond };
}

/** One allowance for each key. All times are monotonic, in ms. A use is never prevented: what goes beyond the limit is paid back. */
export class Allowance {
  readonly #burst: number;
  readonly #refillMs: number;
  /** When the allowance of a key is whole again without further uses. If absent, it is whole. */
  readonly #wholeAtMs = new Map<string, number>();

  constructor({ burst, refillMs }: AllowanceLimit) {
    this.#burst = burst;
    this.#refillMs = refillMs;
  }

  /** The number of uses that are left for the key now. */
  left(key: string, nowMs: number): number {
    const usedMs = Math.max(0, (this.#wholeAtMs.get(key) ?? nowMs) - nowMs);
    if (usedMs === 0) this.#wholeAtMs.delete(key);
    // guard: an allowance of calls is used up by calls
    return Math.max(0, this.#burst - Math.ceil(usedMs / this.#refillMs));
  }

  /** How long the next use has to wait if `reserved` uses are left to others; 0: it need not. */
  waitMs(key: string, nowMs: number, reserved = 0): number {
    return Math.max(0, (this.#wholeAtMs.get(key) ?? nowMs) - nowMs - (this.#burst - reserved - 1) * this.#refillMs);
  }

  /** Counts a use. Returns how long it has to wait to be within the limit; 0: it need not. */
  take(key: string, nowMs: number): number {
    const wholeAtMs = Math.max(this.#wholeAtMs.get(key) ?? nowMs, nowMs) + this.#refillMs;
    this.#wholeAtMs.set(key, wholeAtMs);
    return Math.max(0, wholeAtMs - nowMs - this.#burst * this.#refillMs);
  }

  /** A use that was counted did not happen after all. */
  giveBack(key: string): void {
    const wholeAtMs = this.#wholeAtMs.get(key);
    if (wholeAtMs !== undefined) this.#wholeAtMs.set(key, wholeAtMs - this.#refillMs);
  }
}

/** Counts a use and resolves when it is within the limit, in the order of the calls. @throws AutoscalerError `cancelled` with the signal: then it is given back. */
export async function waitForAllowance(
  allowance: Allowance,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  const waitMs = allowance.take('', clock.monotonic());
  if (waitMs <= 0) return;
  try {
    await clock.sleep(waitMs, signal);
  } catch (thrown) {
    allowance.giveBack('');
    throw thrown;
  }
}

/** At most `count` starts within any `withinMs`. All times are monotonic, in ms. */
export interface RateLimit {
  readonly count: number;
  readonly withinMs: number;
}

export class RateWindow {
  readonly #limit: RateLimit;
  /** The last starts, oldest first: as many as the limit counts. */
  #starts: readonly number[] = [];

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  /** The last start. If undefined, there was none. */
  get lastMs(): number | undefined {
    return this.#starts.at(-1);
  }

  /** When the next start is within the limit. In the past: at once. */
  get nextMs(): number {
    const [oldest] = this.#starts;
    return oldest === undefined || this.#starts.length < this.#limit.count ? Number.NEGATIVE_INFINITY : oldest + this.#limit.withinMs;
  }

  note(nowMs: number): void {
    this.#starts = [...this.#starts, nowMs].slice(-this.#limit.count);
  }

  /** Earlier starts no longer count. */
  clear(): void {
    this.#starts = [];
  }
}
