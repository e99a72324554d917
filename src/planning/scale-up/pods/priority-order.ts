/**
 * Packing goes by size. If that leaves a pod without a place but gives a pod of lower priority a new node, the plan is made
 * again, in steps for the priorities that were passed over. The new plan is used if it serves higher priorities better.
 */
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { priorityOf } from './unschedulable-pods.ts';
import type { TryLimits } from './try-limits.ts';

/**
 * `planInSteps` plans in steps of priorities, the highest first: pods of at least that priority are served before all others. Each try may
 * leave other pods without a place, so the number of tries is limited.
 */
export function* bestPlanByPriority<Plan extends ScaleUpPlan>(
  pods: readonly Pod[],
  planInSteps: (steps: readonly number[]) => SlicedWork<Plan>,
  tries: Pick<TryLimits, 'startRetry'>,
): SlicedWork<Plan> {
  const placedIn = (plan: ScaleUpPlan): readonly Pod[] => pods.filter((pod) => isPlaced(plan, pod));
  const unplacedIn = (plan: ScaleUpPlan): readonly Pod[] => pods.filter((pod) => isUnplaced(plan, pod));
  let best = yield* planInSteps([]);
  let last = best;
  let steps: readonly number[] = [];
  for (;;) {
    const unplaced = unplacedIn(last);
    if (unplaced.length === 0) break;
    // Includes those of a try that was no better: its first step may have taken what still higher priorities need.
    const more = passedOverPriorities(placedIn(last), unplaced).filter((priority) => !steps.includes(priority));
    if (more.length === 0 || !tries.startRetry()) break;
    steps = [...steps, ...more].sort((left, right) => right - left);
    last = yield* planInSteps(steps);
    if (servesBetter(unplacedIn(last), unplacedIn(best))) best = last;
  }
  return best;
}

/** Priorities of pods that find no place although a pod of lower priority gets one of the places. */
function passedOverPriorities(placed: readonly Pod[], unplaced: readonly Pod[]): readonly number[] {
  const lowest = placed.reduce((least, pod) => Math.min(least, priorityOf(pod)), Infinity);
  return [...new Set(unplaced.map(priorityOf))].filter((priority) => priority > lowest);
}

/** Whether fewer pods find no place at the highest priority that the two ways serve differently. */
function servesBetter(unplaced: readonly Pod[], unplacedBefore: readonly Pod[]): boolean {
  const gain = new Map<number, number>();
  const count = (pods: readonly Pod[], change: number): void => {
    for (const pod of pods) gain.set(priorityOf(pod), (gain.get(priorityOf(pod)) ?? 0) + change);
  };
  count(unplacedBefore, 1);
  count(unplaced, -1);
  const decisive = [...gain].filter(([, change]) => change !== 0).sort(([left], [right]) => right - left)[0];
  return decisive !== undefined && decisive[1] > 0;
}

export function isUnplaced({ verdicts }: ScaleUpPlan, pod: Pod): boolean {
  const kind = verdicts.get(pod)?.kind;
  return kind === 'helpless' || kind === 'waiting';
}

export function isPlaced({ verdicts }: ScaleUpPlan, pod: Pod): boolean {
  return verdicts.get(pod)?.kind === 'triggered';
}

/** Splits the pods at these priorities, the highest first; pods of an earlier part are served before those of a later part. */
export function splitByPriority(pods: readonly Pod[], steps: readonly number[]): readonly (readonly Pod[])[] {
  const stepOf = (pod: Pod): number => {
    const step = steps.findIndex((least) => priorityOf(pod) >= least);
    return step < 0 ? steps.length : step;
  };
  const turns = Array.from({ length: steps.length + 1 }, (): Pod[] => []);
  for (const pod of pods) turns[stepOf(pod)]?.push(pod);
  return turns;
}
