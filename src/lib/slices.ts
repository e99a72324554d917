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

/** Gives other work its turn between short works, none of which is worth slices. Without pacing it never does. */
export class Turns {
  readonly #pacing: SlicePacing | undefined;
  #since: number;

  constructor(pacing: SlicePacing | undefined) {
    this.#pacing = pacing;
    this.#since = pacing?.clock.monotonic() ?? 0;
  }

  /** Call it where other work may have its turn. Pauses if the present turn has lasted a slice. */
  async next(): Promise<void> {
    if (this.#pacing === undefined) return;
    const { clock, sliceMs, pause } = this.#pacing;
    if (clock.monotonic() - this.#since < sliceMs) return;
    await pause();
    this.#since = clock.monotonic();
  }

  /** Does the work. Wherever it yields, other work may have its turn. */
  async finish<Result>(work: SlicedWork<Result>): Promise<Result> {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      await this.next();
    }
  }
}

/** Does the work without a pause. */
export function finishAtOnce<Result>(work: SlicedWork<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Does the work in slices. Without pacing it is done at once. Returns undefined if the signal fires before it is done; it ends then. */
export async function finishInSlices<Result>(
  work: SlicedWork<Result>,
  pacing: SlicePacing | undefined,
  signal: AbortSignal,
): Promise<Result | undefined> {
  if (pacing === undefined) return finishAtOnce(work);
  const { clock, sliceMs, pause } = pacing;
  try {
    for (let since = clock.monotonic(); !signal.aborted;) {
      const step = work.next();
      if (step.done === true) return step.value;
      if (clock.monotonic() - since < sliceMs) continue;
      await pause();
      since = clock.monotonic();
    }
    return undefined;
  } finally {
    // Has the work undo what it began to try.
    work.return(undefined as never);
  }
}
