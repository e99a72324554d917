/** A limit of how much work is under way at once. Must not know what the work is. */
import { Semaphore } from 'async-mutex';
import { withAbort } from './abort.ts';

/** First come, first served. */
export class Slots {
  readonly #most: number;
  readonly #free: Semaphore;

  constructor(most: number) {
    this.#most = most;
    this.#free = new Semaphore(most);
  }

  /** Whether no work is under way or waits. */
  get isIdle(): boolean {
    return this.#free.getValue() === this.#most;
  }

  /**
   * Waits for a slot and holds it during the work.
   * @throws what the work throws. If the signal fires while it waits, the work is not started, and an AutoscalerError `cancelled` is thrown.
   */
  async run<Value>(work: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    const [, release] = await withAbort(this.#free.acquire(), signal, { late: ([, free]) => free() });
    try {
      return await work();
    } finally {
      release();
    }
  }
}
