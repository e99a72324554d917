/**
 * The order in which pods are searched for a place: by priority, and within one priority the namespaces take turns. After a plan whose time
 * was up, pods that were tried in vain come behind all others, as in kube-scheduler: no number of them keeps another pod from its search.
 * Must not know how a place is found.
 */
import type { StoppedPlan } from '../../../domain/loop-state.ts';
import type { Pod } from '../../../domain/pod.ts';
import { byPrecedence, priorityOf } from './unschedulable-pods.ts';

/**
 * Sorts the pods: buffers last, since any pod may have their room; then pods that were searched in vain behind the others; then higher
 * priority first; within one priority the namespaces take turns, that of the oldest pod first; and within a namespace the longer waiting first.
 */
export function inSearchOrder(pods: readonly Pod[], stopped: Pick<StoppedPlan, 'searched'> | undefined): readonly Pod[] {
  return inTurns(pods.toSorted(byPrecedence), new Set(stopped?.searched));
}

interface Turn {
  readonly pod: Pod;
  readonly part: number;
  /** How many pods of the same namespace come before it in the part. */
  readonly number: number;
}

/** The same for pods in order of precedence. `done` are those that had their turn. */
function inTurns(sorted: readonly Pod[], done: ReadonlySet<Pod['uid']>): readonly Pod[] {
  const counts = new Map<string, number>();
  const turns = sorted.map((pod): Turn => {
    const part = Number(pod.holds === 'buffer') * 2 + Number(done.has(pod.uid));
    const own = `${part} ${priorityOf(pod)} ${pod.namespace}`;
    const number = counts.get(own) ?? 0;
    counts.set(own, number + 1);
    return { pod, part, number };
  });
  turns.sort((left, right) => left.part - right.part || priorityOf(right.pod) - priorityOf(left.pod) || left.number - right.number);
  return turns.map(({ pod }) => pod);
}
