import type { Clock } from '../lib/clock.ts';

/** When a read began. `seq` orders reads and mutations; `atMs` (wall clock) only says how old an answer is. */
export interface Stamp {
  readonly seq: number;
  readonly atMs: number;
}

/**
 * The order of everything the cache compares. Wall time cannot say which of two things came first when a clock is stepped
 * or two things share a millisecond; a counter can. One per process.
 */
export class LogicalClock {
  readonly #clock: Pick<Clock, 'now'>;
  #last = 0;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** The next number; strictly growing. */
  tick(): number {
    this.#last += 1;
    return this.#last;
  }

  /** Take it immediately before the first byte of a request is sent, never after the answer came: one per page of a list. */
  stamp(): Stamp {
    return { seq: this.tick(), atMs: this.#clock.now() };
  }
}
