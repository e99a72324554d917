/** How much memory world and daemon gain, hour by hour. Needs a process that exposes the garbage collector. */
const HOUR = 3_600_000;
const MIB = 1_048_576;
/** Journals and caches fill up first. */
const WARM_UP_MS = 4 * HOUR;

interface Sample {
  readonly atMs: number;
  readonly bytes: number;
}

export class HeapGrowth {
  readonly #startMs: number;
  readonly #heapBytes: () => number | undefined;
  #first: Sample | undefined;
  #last: Sample | undefined;

  /** `heapBytes`: the heap after a collection; undefined if the collector is not exposed. */
  constructor(startMs: number, heapBytes: () => number | undefined = collectedHeap) {
    this.#startMs = startMs;
    this.#heapBytes = heapBytes;
  }

  /** To be called now and then. Times are of the world. */
  look(atMs: number): void {
    const bytes = atMs - this.#startMs < WARM_UP_MS ? undefined : this.#heapBytes();
    if (bytes === undefined) return;
    this.#first ??= { atMs, bytes };
    this.#last = { atMs, bytes };
  }

  /** MiB gained in an hour of the world; 0 for runs that are too short to tell. */
  perHour(): number {
    if (this.#first === undefined || this.#last === undefined || this.#last.atMs - this.#first.atMs < HOUR) return 0;
    return ((this.#last.bytes - this.#first.bytes) / MIB / (this.#last.atMs - this.#first.atMs)) * HOUR;
  }
}

function collectedHeap(): number | undefined {
  if (globalThis.gc === undefined) return undefined;
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
