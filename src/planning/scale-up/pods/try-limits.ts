/**
 * Limits what all tries of a plan may cost together: time, which is counted in estimates so that a plan can be replayed, and whole plans
 * beside the first one.
 */

/**
 * The most whole plans that one loop makes beside the first plan of each round of writes: in steps of priorities, with buffers last, and
 * to explain nodes on their way.
 */
export const MAX_RETRIES_PER_LOOP = 6;

/** As in the input of the plan. */
interface TryLimitsOptions {
  readonly isLate?: (made: number) => boolean;
  readonly retries?: number;
}

export class TryLimits {
  readonly #isUp: (made: number) => boolean;
  readonly #retries: number;
  #made = 0;
  #late = false;
  #retried = 0;

  constructor({ isLate = () => false, retries = MAX_RETRIES_PER_LOOP }: TryLimitsOptions) {
    this.#isUp = isLate;
    this.#retries = retries;
  }

  /** Counts one more estimate. False if the time is up, which is final: the plan chooses from what is known. */
  startEstimate(): boolean {
    this.#late ||= this.#made > 0 && this.#isUp(this.#made);
    if (!this.#late) this.#made += 1;
    return !this.#late;
  }

  /** Counts one more whole plan. False if the time is up, or the loop made enough of them. */
  startRetry(): boolean {
    if (this.#late || this.#retried >= this.#retries) return false;
    this.#retried += 1;
    return true;
  }

  /** How many whole plans were made beside the first. */
  get retried(): number {
    return this.#retried;
  }

  /** The number of estimates after which the time was up; undefined if it was not. */
  get cutShortAfter(): number | undefined {
    return this.#late ? this.#made : undefined;
  }
}
