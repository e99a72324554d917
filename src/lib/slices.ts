/**
 * Long computations in slices, so that a process does other work in between. The computation is a generator: it yields where it may be
 * interrupted, and knows neither whether nor for how long it is. So its result does not depend on that. Must not know what is computed.
 */
export type SlicedWork<Result> = Generator<undefined, Result, undefined>;

/** When a computation is interrupted, and for what. */
export interface SlicePacing {
  readonly clock: { monotonic(): number };
  /** The longest slice, in milliseconds, as far as the work yields often enough. */
  readonly sliceMs: number;
  /** Resolves after other work has had its turn. */
  readonly pause: () => Promise<void>;
}

/**
 * Gives other work its turn: between short works, none of which is worth slices, and in long ones. All of a loop shares one, so what its
 * steps take adds up to no longer turn than a slice. Without pacing it never pauses.
 */
export class Turns {
  readonly #pacing: SlicePacing | undefined;
  #since = 0;

  constructor(pacing: SlicePacing | undefined) {
    this.#pacing = pacing;
    this.begin();
  }

  /** A turn begins now, for instance after a wait. */
  begin(): void {
    this.#since = this.#pacing?.clock.monotonic() ?? 0;
  }

  /** Call it where other work may have its turn. Pauses if the present turn has lasted a slice. */
  async next(): Promise<void> {
    if (!this.#isOver) return;
    await this.#pacing?.pause();
    this.begin();
  }

  /** Does the work. Wherever it yields, other work may have its turn. */
  async finish<Result>(work: SlicedWork<Result>): Promise<Result> {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      if (this.#isOver) await this.next();
    }
  }

  /** Like `finish`, but the work ends when the signal fires, and undoes what it began to try: undefined. */
  async finishUnless<Result>(over: AbortSignal, work: SlicedWork<Result>): Promise<Result | undefined> {
    try {
      while (!over.aborted) {
        const step = work.next();
        if (step.done === true) return step.value;
        if (this.#isOver) await this.next();
      }
      return undefined;
    } finally {
      work.return(undefined as never);
    }
  }

  /** Asked before a wait: most works yield far more often than other work needs a turn. */
  get #isOver(): boolean {
    return this.#pacing !== undefined && this.#pacing.clock.monotonic() - this.#since >= this.#pacing.sliceMs;
  }
}

/** Items between two places where a walk over many may be interrupted. */
const ITEMS_PER_STEP = 64;

/** Visits the items in their order. May be interrupted between them. */
export function* visitInSlices<Item>(items: Iterable<Item>, visit: (item: Item) => void, itemsPerStep = ITEMS_PER_STEP): SlicedWork<void> {
  let count = 0;
  for (const item of items) {
    visit(item);
    if (++count % itemsPerStep === 0) yield;
  }
}

/** Does the work without a pause. */
export function finishAtOnce<Result>(work: SlicedWork<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
