interface Bucket {
  running: number;
  heldUntilMs: number | undefined;
  stretched: boolean;
}

/** Calls that share a throttling limit: how many runs are active, until when they are held, and whether to slow down. */
export class ThrottlingBuckets {
  readonly #maxRunning: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  hasRoom(name: string | undefined): boolean {
    return name === undefined || (this.#buckets.get(name)?.running ?? 0) < this.#maxRunning;
  }

  enter(name: string | undefined): void {
    if (name !== undefined) this.#of(name).running += 1;
  }

  leave(name: string | undefined): void {
    if (name !== undefined) this.#of(name).running -= 1;
  }

  /** Monotonic time. A hold is never shortened. */
  hold(name: string, untilMs: number): void {
    const bucket = this.#of(name);
    bucket.heldUntilMs = Math.max(bucket.heldUntilMs ?? untilMs, untilMs);
  }

  /** Ends every hold. */
  release(): void {
    for (const bucket of this.#buckets.values()) bucket.heldUntilMs = undefined;
  }

  heldUntilMs(name: string | undefined): number | undefined {
    return name === undefined ? undefined : this.#buckets.get(name)?.heldUntilMs;
  }

  stretch(name: string, on: boolean): void {
    this.#of(name).stretched = on;
  }

  isStretched(name: string | undefined): boolean {
    return name !== undefined && (this.#buckets.get(name)?.stretched ?? false);
  }

  #of(name: string): Bucket {
    const known = this.#buckets.get(name);
    if (known !== undefined) return known;
    const bucket: Bucket = { running: 0, heldUntilMs: undefined, stretched: false };
    this.#buckets.set(name, bucket);
    return bucket;
  }
}
