import type { Clock } from '../lib/clock.ts';

/** When a read began. `seq` orders reads and mutations; `atMs` (wall clock) only shows how old data is. */
export interface Stamp {
  readonly seq: number;
  readonly atMs: number;
}

/**
 * The order of everything that the cache compares. Wall time cannot order two events if the clock is stepped or both
 * share a millisecond; a counter can. One per process. Must not know what is compared.
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

  /** To be taken immediately before a request is sent, never after its answer: one per page of a list. */
  stamp(): Stamp {
    return { seq: this.tick(), atMs: this.#clock.now() };
  }
}
