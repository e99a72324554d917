/**
 * Limits what all tries of a plan may cost together: time, which is counted in estimates and searches so that a plan can be replayed, and whole plans
 * beside the first one.
 */

/**
 * The most whole plans that one loop makes beside the first plan of each round of writes: in steps of priorities, with buffers last, and
 * to explain nodes on their way.
 */
export const MAX_RETRIES_PER_LOOP = 6;

/**
 * Whether the time for planning is up. Called before each estimate and each search but the first, with the number of estimates made, and
 * for a search with the number of searches made.
 */
export type IsLate = (made: number, searches?: number) => boolean;

/** Without a limit of time. */
export const NEVER_LATE: IsLate = () => false;

/** As in the input of the plan. */
interface TryLimitsOptions {
  readonly isLate: IsLate;
  readonly retries: number;
}

export class TryLimits {
  readonly #isUp: IsLate;
  readonly #retries: number;
  #made = 0;
  #searches = 0;
  #late = false;
  #lateInSearch = false;
  #retried = 0;
  /** Estimates that may be made although the time is up. */
  #granted = 0;
  /** The estimates that were made when the time was up. undefined: it is not. */
  #madeUntilLate: number | undefined;

  constructor({ isLate, retries }: TryLimitsOptions) {
    this.#isUp = isLate;
    this.#retries = retries;
  }

  /**
   * Counts one more estimate. False if the time is up, which is final: the plan chooses from what is known. The first estimate is always
   * made, so that pods whose search ended in time get nodes in every loop. That the time for searches is up does not end it.
   */
  startEstimate(): boolean {
    this.#late ||= this.#made > 0 && this.#isUp(this.#made);
    if (this.#late) this.#madeUntilLate ??= this.#made;
    const mayStart = !this.#late || this.#made < this.#granted || this.#made === 0;
    if (mayStart) this.#made += 1;
    return mayStart;
  }

  /** Counts one more search for a place on nodes that are there or coming. False if the time is up: then none may be made. */
  startSearch(): boolean {
    this.#lateInSearch ||= !this.#late && this.#searches > 0 && this.#isUp(this.#made, this.#searches);
    const mayStart = !this.#late && !this.#lateInSearch;
    if (mayStart) this.#searches += 1;
    return mayStart;
  }

  /** Counts one more whole plan. False if the time is up, or the loop made enough of them. */
  startRetry(): boolean {
    if (this.#late || this.#lateInSearch || this.#retried >= this.#retries) return false;
    this.#retried += 1;
    return true;
  }

  /** Before a plan that takes the place of one that must not be carried out: it may make one estimate even if the time is up. */
  startOver(): void {
    if (this.#late) this.#granted = this.#made + 1;
  }

  /** How many whole plans were made beside the first, those of {@link startOver} aside. */
  get retried(): number {
    return this.#retried;
  }

  /** Whether the time was up before an estimate. */
  get isLateInEstimates(): boolean {
    return this.#late;
  }

  /** The number of estimates that were made until the time was up, for estimates or for searches; undefined if it was not. */
  get cutShortAfter(): number | undefined {
    return this.#madeUntilLate ?? (this.#lateInSearch ? this.#made : undefined);
  }

  /** The number of searches after which the time was up; undefined if it was not up before a search. */
  get searchedUntilLate(): number | undefined {
    return this.#lateInSearch ? this.#searches : undefined;
  }
}
