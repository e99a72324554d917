/** Decides when the time for one plan is up. It is counted in estimates of all tries of the plan, so that a plan can be replayed. */
export class PlanDeadline {
  readonly #isUp: (made: number) => boolean;
  #made = 0;
  #late = false;

  /** `isUp` is called before each estimate except the first, with the number of estimates made. If undefined, there is no limit. */
  constructor(isUp: ((made: number) => boolean) | undefined) {
    this.#isUp = isUp ?? (() => false);
  }

  /** Counts one more estimate. False if the time is up, which is final: the plan chooses from what is known. */
  startEstimate(): boolean {
    this.#late ||= this.#made > 0 && this.#isUp(this.#made);
    if (!this.#late) this.#made += 1;
    return !this.#late;
  }

  /** The number of estimates after which the time was up; undefined if it was not. */
  get cutShortAfter(): number | undefined {
    return this.#late ? this.#made : undefined;
  }
}
