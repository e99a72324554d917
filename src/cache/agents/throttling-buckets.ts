interface Bucket {
  running: number;
  heldUntilMs: number | undefined;
  stretched: boolean;
}

/** Maximum of concurrent runs of a bucket. */
const MAX_RUNNING = 2;

/** Calls that share a throttling limit: how many runs are active, until when they are held, and whether to slow down. */
export class ThrottlingBuckets {
  readonly #buckets = new Map<string, Bucket>();

  hasRoom(name: string): boolean {
    return this.#of(name).running < MAX_RUNNING;
  }

  enter(name: string): void {
    this.#of(name).running += 1;
  }

  leave(name: string): void {
    this.#of(name).running -= 1;
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

  heldUntilMs(name: string): number | undefined {
    return this.#of(name).heldUntilMs;
  }

  stretch(name: string, on: boolean): void {
    this.#of(name).stretched = on;
  }

  isStretched(name: string): boolean {
    return this.#of(name).stretched;
  }

  #of(name: string): Bucket {
    const known = this.#buckets.get(name);
    if (known !== undefined) return known;
    const bucket: Bucket = { running: 0, heldUntilMs: undefined, stretched: false };
    this.#buckets.set(name, bucket);
    return bucket;
  }
}
