/**
 * Packing goes by size. Where that leaves a pod without a place and gives one of lower priority a new node, the plan is made
 * again, step by step for the priorities that were passed over, and stands when it serves the higher ones better.
 */
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { priorityOf } from './unschedulable-pods.ts';
import type { PlanDeadline } from './plan-deadline.ts';

/** Each try may leave other pods behind than the one before; it does not go on for ever. */
const MAX_TRIES = 3;

/** `tryIn`: the plan for steps of priorities, the highest first: pods of at least the first are served before all others get a node, and so on. */
export function bestPlanByPriority(
  asking: readonly Pod[],
  tryIn: (steps: readonly number[]) => ScaleUpPlan,
  timer: Pick<PlanDeadline, 'cutShortAfter'>,
): ScaleUpPlan {
  let best = tryIn([]);
  let last = best;
  let steps: readonly number[] = [];
  for (let tries = 0; tries < MAX_TRIES && timer.cutShortAfter === undefined; tries++) {
    // Also those of a try that was no better: what came first in it may have taken what still higher ones need.
    const more = passedOverPriorities(last, asking).filter((priority) => !steps.includes(priority));
    if (more.length === 0) break;
    steps = [...steps, ...more].sort((left, right) => right - left);
    last = tryIn(steps);
    if (servesBetter(last, best, asking)) best = last;
  }
  const { cutShortAfter } = timer;
  return cutShortAfter === undefined ? best : { ...best, cutShortAfter };
}

/** Priorities of pods that stay behind although one of lower priority gets a new node. */
function passedOverPriorities(plan: ScaleUpPlan, asking: readonly Pod[]): readonly number[] {
  const lowest = asking.reduce((least, pod) => (isPlaced(plan, pod) ? Math.min(least, priorityOf(pod)) : least), Infinity);
  return [...new Set(asking.filter((pod) => isUnplaced(plan, pod)).map(priorityOf))].filter((priority) => priority > lowest);
}

/** Of the highest priority that the two plans do not serve alike, fewer pods stay behind. */
function servesBetter(plan: ScaleUpPlan, before: ScaleUpPlan, asking: readonly Pod[]): boolean {
  const gain = new Map<number, number>();
  for (const pod of asking) {
    const change = Number(isUnplaced(before, pod)) - Number(isUnplaced(plan, pod));
    if (change !== 0) gain.set(priorityOf(pod), (gain.get(priorityOf(pod)) ?? 0) + change);
  }
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
