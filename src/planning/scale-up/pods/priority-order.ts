/**
 * Packing goes by size. If that leaves a pod without a place but gives a pod of lower priority a new node, the plan is made
 * again, in steps for the priorities that were passed over. The new plan is used if it serves higher priorities better.
 */
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { priorityOf } from './unschedulable-pods.ts';
import type { PlanDeadline } from './plan-deadline.ts';

/** Each try may leave other pods without a place, so the number of tries is limited. */
const MAX_TRIES = 3;

/** `planInSteps` plans in steps of priorities, the highest first: pods of at least that priority are served before all others. */
export function bestPlanByPriority(
  pods: readonly Pod[],
  planInSteps: (steps: readonly number[]) => ScaleUpPlan,
  deadline: Pick<PlanDeadline, 'cutShortAfter'>,
): ScaleUpPlan {
  let best = planInSteps([]);
  let last = best;
  let steps: readonly number[] = [];
  for (let tries = 0; tries < MAX_TRIES && deadline.cutShortAfter === undefined; tries++) {
    // Includes those of a try that was no better: its first step may have taken what still higher priorities need.
    const more = passedOverPriorities(last, pods).filter((priority) => !steps.includes(priority));
    if (more.length === 0) break;
    steps = [...steps, ...more].sort((left, right) => right - left);
    last = planInSteps(steps);
    if (servesBetter(last, best, pods)) best = last;
  }
  const { cutShortAfter } = deadline;
  return cutShortAfter === undefined ? best : { ...best, cutShortAfter };
}

/** Priorities of pods that find no place although a pod of lower priority gets a new node. */
function passedOverPriorities(plan: ScaleUpPlan, pods: readonly Pod[]): readonly number[] {
  const lowest = pods.reduce((least, pod) => (isPlaced(plan, pod) ? Math.min(least, priorityOf(pod)) : least), Infinity);
  return [...new Set(pods.filter((pod) => isUnplaced(plan, pod)).map(priorityOf))].filter((priority) => priority > lowest);
}

/** Whether fewer pods find no place at the highest priority that the two plans serve differently. */
function servesBetter(plan: ScaleUpPlan, before: ScaleUpPlan, pods: readonly Pod[]): boolean {
  const gain = new Map<number, number>();
  for (const pod of pods) {
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
