/** What a failure closes for a time. It opens by itself, and a further failure closes it for longer. */

/** Milliseconds. */
export interface ClosureTimes {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Times of one clock, in milliseconds. */
export interface Closure {
  readonly untilMs: number;
  /** How long it is closed. The next failure doubles it. */
  readonly durationMs: number;
}

/** How long the next failure closes it: twice as long as before, at most the longest time. */
export function nextDurationMs({ firstMs, longestMs }: ClosureTimes, before: Pick<Closure, 'durationMs'> | undefined): number {
  return before === undefined ? firstMs : Math.min(longestMs, before.durationMs * 2);
}

/** The same after so many failures in a row; `failures` counts from 1. */
export function durationAfterMs({ firstMs, longestMs }: ClosureTimes, failures: number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(0, failures - 1), 30));
}

/**
 * Where a closure is that ends with a probe: closed until its end, then for a time probed by one try at a time, unless a try shows before that
 * it is open, or that it is not.
 */
export function phaseOf({ untilMs }: Pick<Closure, 'untilMs'>, probedForMs: number, nowMs: number): 'closed' | 'probed' | 'over' {
  if (nowMs < untilMs) return 'closed';
  return nowMs < untilMs + probedForMs ? 'probed' : 'over';
}

// Calls that a server asked not to send.

// guard: no read is held for longer than an hour
/** The longest time without a call, milliseconds: a server may ask for days, and people correct limits earlier. */
export const LONGEST_HOLD_MS = 3_600_000;
/** While a probe is under way, the others wait for this time before they ask again. */
const PROBE_WAIT_MS = 5_000;

/**
 * `untilMs` is monotonic: a correction of the wall clock must neither end a pause nor prolong it. `durationMs` is the length of the last pause
 * without a `Retry-After`.
 */
export interface Hold extends Closure {
  /** The end by the wall clock when it was set, for people. */
  readonly untilWallMs: number;
  /** The server's own sentence. */
  readonly message: string;
  /** After its end one call is sent first. */
  readonly probed: boolean;
}

interface Entry {
  readonly hold: Hold;
  readonly probe: object | undefined;
}

/**
 * Pauses that a server asked for, by key. While one lasts, no call of its keys is sent. After a pause of the longest length, or one that an
 * operator released, one call is sent first, and the others wait for its answer. Calls are compared by identity.
 */
export class Holds {
  readonly #entries = new Map<string, Entry>();

  get(key: string): Hold | undefined {
    return this.#entries.get(key)?.hold;
  }

  set(key: string, hold: Hold): void {
    this.#entries.set(key, { hold, probe: undefined });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  [Symbol.iterator](): IterableIterator<readonly [key: string, hold: Hold]> {
    return [...this.#entries].map(([key, { hold }]) => [key, hold] as const).values();
  }

  /** How long a call of these keys has to wait, milliseconds; 0: it may be sent. */
  waitMs(keys: readonly string[], nowMs: number): number {
    return Math.max(0, ...keys.map((key) => this.#waitOf(this.#entries.get(key), nowMs)));
  }

  /** The call is sent: it is the probe of every hold that waits for one. Call `endCall` when it has ended. */
  beginCall(keys: readonly string[], call: object): void {
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry?.hold.probed === true) this.#entries.set(key, { ...entry, probe: call });
    }
  }

  /** The server answered the call without asking for a pause. Ends the holds that are over; a probed one only by its probe. */
  recordAnswer(keys: readonly string[], call: object, nowMs: number): void {
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry === undefined || entry.hold.untilMs > nowMs || (entry.hold.probed && entry.probe !== call)) continue;
      this.#entries.delete(key);
    }
  }

  /** The call has ended. If it was a probe without an answer, the next call is one. */
  endCall(call: object): void {
    for (const [key, entry] of this.#entries) if (entry.probe === call) this.#entries.set(key, { ...entry, probe: undefined });
  }

  /** An operator asks: every hold ends, and one call of each is sent first. */
  release(nowMs: number): void {
    // guard: after a manual refresh one call is sent first
    for (const [key, { hold, probe }] of this.#entries)
      if (hold.untilMs > nowMs) this.#entries.set(key, { hold: { ...hold, untilMs: nowMs, probed: true }, probe });
  }

  #waitOf(entry: Entry | undefined, nowMs: number): number {
    if (entry === undefined) return 0;
    if (entry.hold.untilMs > nowMs) return entry.hold.untilMs - nowMs;
    // guard: a hold of an hour ends with one call
    return entry.probe === undefined ? 0 : PROBE_WAIT_MS;
  }
}
