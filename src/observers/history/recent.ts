/** What happened lately, the oldest first: no older than a time, and no more than a number. */

export interface RecentLimits {
  readonly maxAgeMs: number;
  readonly maxCount: number;
}

export class Recent<Entry extends { readonly atMs: number }> {
  readonly #limits: RecentLimits;
  #entries: Entry[] = [];

  constructor(limits: RecentLimits) {
    this.#limits = limits;
  }

  get all(): readonly Entry[] {
    return this.#entries;
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
    if (this.#entries.length > this.#limits.maxCount) this.#entries.shift();
  }

  /** Replaces entries in their places. */
  update(change: (entry: Entry) => Entry): void {
    this.#entries = this.#entries.map(change);
  }

  dropOld(nowMs: number): void {
    const oldest = this.#entries[0];
    if (oldest === undefined || oldest.atMs >= nowMs - this.#limits.maxAgeMs) return;
    this.#entries = this.#entries.filter(({ atMs }) => atMs >= nowMs - this.#limits.maxAgeMs);
  }
}
