/** How soon another pool grows after Azure refused an increase of one, or showed that it cannot fill it. */

export interface Shown {
  readonly atMs: number;
  /** Pools with machines that Azure could not allocate, and how many of them there are. */
  readonly failed: ReadonlyMap<string, number>;
  /** Pods wait. */
  readonly isWaiting: boolean;
}

/** From the refusal, or from the moment at which a list could show a failed machine, to the next increase of another pool. */
export class FallbackTimes {
  readonly tookMs: number[] = [];
  readonly #open = new Map<string, number>();
  #before: ReadonlyMap<string, number> = new Map();

  look({ atMs, failed, isWaiting }: Shown): void {
    for (const [pool, count] of failed) {
      if (count > (this.#before.get(pool) ?? 0) && isWaiting && !this.#open.has(pool)) this.#open.set(pool, atMs);
    }
    this.#before = new Map(failed);
    // What was short is no longer needed.
    if (!isWaiting) this.#open.clear();
  }

  /** Azure refused to increase a pool. */
  refused(pool: string, atMs: number): void {
    if (!this.#open.has(pool)) this.#open.set(pool, atMs);
  }

  /** The daemon increased a pool. */
  increased(pool: string, atMs: number): void {
    for (const [refused, sinceMs] of this.#open) {
      if (refused === pool) continue;
      this.tookMs.push(atMs - sinceMs);
      this.#open.delete(refused);
    }
  }
}
