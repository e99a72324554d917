/** Says when the time for one plan is up: one for all the tries that a plan takes, so that it can be replayed by their number. */
export class PlanDeadline {
  readonly #isUp: (made: number) => boolean;
  #made = 0;
  #late = false;

  /** `isUp` is asked before each estimate but the first, with how many were made. */
  constructor(isUp: ((made: number) => boolean) | undefined) {
    this.#isUp = isUp ?? (() => false);
  }

  /** Whether one more estimate may be made; it counts as made then. Once late, always late: what is known is what is chosen from. */
  allowsOneMore(): boolean {
    this.#late ||= this.#made > 0 && this.#isUp(this.#made);
    if (!this.#late) this.#made += 1;
    return !this.#late;
  }

  /** After so many estimates the time was up; undefined: it was not. */
  get cutShortAfter(): number | undefined {
    return this.#late ? this.#made : undefined;
  }
}
