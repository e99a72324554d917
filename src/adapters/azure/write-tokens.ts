/**
 * How often one scale set may be written: Azure takes 12 writes at once and then 4 a minute, whoever sends them. What would
 * be more is not sent: growth waits, so that the next write asks for all of it at once, and a removal waits for its turn.
 */

const BURST = 12;
const REFILL_MS = 15_000;
/** Removals are batched already and have emptied their nodes: growth leaves them the last writes. */
const KEPT_FOR_REMOVALS = 2;

/** By folded name of the set; all times monotonic. */
export class WriteTokens {
  /** When the bucket of a set will be full again if nobody writes to it. */
  readonly #fullAtMs = new Map<string, number>();

  /** One write goes out now. */
  note(key: string, nowMs: number): void {
    this.#fullAtMs.set(key, Math.max(this.#fullAtMs.get(key) ?? nowMs, nowMs) + REFILL_MS);
  }

  /** How long a removal has to wait; 0: not at all. */
  removalWaitMs(key: string, nowMs: number): number {
    return Math.max(0, (this.#fullAtMs.get(key) ?? nowMs) - nowMs - (BURST - 1) * REFILL_MS);
  }

  /** Why the set cannot be written for growth now; the same text until it can. */
  growthHeldBecause(key: string, nowMs: number): string | undefined {
    const waitMs = (this.#fullAtMs.get(key) ?? nowMs) - nowMs - (BURST - KEPT_FOR_REMOVALS - 1) * REFILL_MS;
    return waitMs > 0 ? HELD : undefined;
  }
}

const HELD = 'it was written as often as Azure lets a scale set be written: what is needed meanwhile is asked for at once';
