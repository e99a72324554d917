/**
 * Advice from loop to loop. The same pods wait for the same reasons for hours: what helps them is simulated once in a while, and
 * never for longer than a loop can spare. Holds a bounded number of results.
 */
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { PodVerdict } from '../../../domain/reasons.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import type { Advice } from './fix.ts';
import { adviseClassInSlices, type HelplessClass, helplessClasses } from './advice.ts';

interface AdviceLimits {
  /** How long a result is used. The reasons may stay while quota, nodes and other pods change. */
  readonly keepMs: number;
  /** Time for simulations per loop. A simulation that has begun is completed. */
  readonly perLoopMs: number;
  /** If one plan takes longer, nothing is simulated. */
  readonly mostPlanMs: number;
  readonly triedPerClass: number;
  readonly remembered: number;
}

const DEFAULT_LIMITS: AdviceLimits = { keepMs: 300_000, perLoopMs: 200, mostPlanMs: 50, triedPerClass: 8, remembered: 500 };

interface RememberedResult {
  readonly advice: Advice;
  readonly untilMs: number;
}

export class RememberedAdvice {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #limits: AdviceLimits;
  readonly #results = new Map<string, RememberedResult>();
  #found: ReadonlyMap<PodVerdict, Advice> = new Map();

  constructor(clock: Pick<Clock, 'monotonic'>, limits: Partial<AdviceLimits> = {}) {
    this.#clock = clock;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /** For as many classes of the plan as time allows, in slices. `planMs`: how long the plan took. */
  *adviseAll(input: ScaleUpInput, plan: ScaleUpPlan, planMs: number): SlicedWork<ReadonlyMap<PodVerdict, Advice>> {
    const { keepMs, perLoopMs, mostPlanMs, remembered } = this.#limits;
    const startMs = this.#clock.monotonic();
    const found = new Map<PodVerdict, Advice>();
    for (const helpless of helplessClasses(plan)) {
      const key = keyOf(helpless);
      const known = this.#results.get(key);
      const isFresh = known !== undefined && known.untilMs > startMs;
      const maySimulate = (): boolean => planMs <= mostPlanMs && this.#clock.monotonic() - startMs < perLoopMs;
      if (!isFresh && !maySimulate()) continue;
      const advice = isFresh ? known.advice : yield* adviseClassInSlices({ input, plan, mostTried: this.#limits.triedPerClass }, helpless);
      found.set(helpless.verdict, advice);
      // Moved to the end: the first entries are those that nothing asked for longest.
      this.#results.delete(key);
      this.#results.set(key, isFresh ? known : { advice, untilMs: startMs + keepMs });
    }
    for (const key of [...this.#results.keys()].slice(0, Math.max(0, this.#results.size - remembered))) this.#results.delete(key);
    this.#found = found;
    return found;
  }

  /** What is known for the classes of a plan, without a simulation. */
  knownFor(plan: ScaleUpPlan): ReadonlyMap<PodVerdict, Advice> {
    const known = helplessClasses(plan).map((helpless) => [helpless.verdict, this.#results.get(keyOf(helpless))?.advice] as const);
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
