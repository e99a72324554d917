/** Advice from loop to loop, never simulated for longer than a loop can spare. */
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { PodVerdict } from '../../../domain/reasons.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import type { Advice } from './fix.ts';
import { type MemoryLimits, Remembered } from './remembered.ts';
import { adviseClassInSlices, type HelplessClass, helplessClasses } from './advice.ts';

interface AdviceLimits extends MemoryLimits {
  /** Time for simulations per loop. A simulation that has begun is completed. */
  readonly perLoopMs: number;
  /** If one plan takes longer, nothing is simulated. */
  readonly mostPlanMs: number;
  readonly triedPerClass: number;
}

const DEFAULT_LIMITS: AdviceLimits = { keepMs: 300_000, perLoopMs: 200, mostPlanMs: 50, triedPerClass: 8, remembered: 500 };

export class RememberedAdvice {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #limits: AdviceLimits;
  readonly #memory: Remembered<Advice>;
  #found: ReadonlyMap<PodVerdict, Advice> = new Map();

  constructor(clock: Pick<Clock, 'monotonic'>, limits: Partial<AdviceLimits> = {}) {
    this.#clock = clock;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#memory = new Remembered(this.#limits);
  }

  /** For as many classes of the plan as time allows, in slices. `planMs`: how long the plan took. */
  *adviseAll(input: ScaleUpInput, plan: ScaleUpPlan, planMs: number): SlicedWork<ReadonlyMap<PodVerdict, Advice>> {
    const { perLoopMs, mostPlanMs, triedPerClass: mostTried } = this.#limits;
    const startMs = this.#clock.monotonic();
    const found = new Map<PodVerdict, Advice>();
    const maySimulate = (): boolean => planMs <= mostPlanMs && this.#clock.monotonic() - startMs < perLoopMs;
    for (const helpless of helplessClasses(plan)) {
      const key = keyOf(helpless);
      let advice = this.#memory.fresh(key, startMs);
      if (advice === undefined && maySimulate()) {
        advice = yield* adviseClassInSlices({ input, plan, mostTried }, helpless);
        this.#memory.remember(key, advice, startMs);
      }
      if (advice !== undefined) found.set(helpless.verdict, advice);
    }
    this.#memory.forget();
    this.#found = found;
    return found;
  }

  /** What is known for the classes of a plan, without a simulation. */
  knownFor(plan: ScaleUpPlan): ReadonlyMap<PodVerdict, Advice> {
    const known = helplessClasses(plan).map((helpless) => [helpless.verdict, this.#memory.known(keyOf(helpless))] as const);
    return new Map(known.flatMap(([verdict, advice]) => (advice === undefined ? [] : [[verdict, advice]])));
  }

  /** What the last call found for this verdict of its plan. */
  found(verdict: PodVerdict): Advice | undefined {
    return this.#found.get(verdict);
  }
}

/** Equal for equal pods with the same obstacles. */
function keyOf({ verdict, pods }: HelplessClass): string {
  return JSON.stringify([verdict.byGroup, pods.length, pods[0]?.shape.key]);
}
