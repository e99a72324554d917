/**
 * The order in which pods have their turn where there may not be time for all: of searches for a place, and of explanations. After a plan that
 * left some out, pods that had their turn come behind all others, as pods that were tried in vain do in kube-scheduler: no number of them keeps
 * another pod from its turn. Must not know what the turn is for.
 */
import type { PodUid } from '../../../domain/ids.ts';
import type { Pod } from '../../../domain/pod.ts';
import { byPrecedence, priorityOf } from './unschedulable-pods.ts';

interface Turn {
  readonly pod: Pod;
  readonly part: number;
  readonly priority: number;
  /** How many pods of the same namespace come before it in the part and priority. */
  readonly number: number;
}

/**
 * Sorts the pods: buffers last, since any pod may have their room; then the pods of `last` behind the others; then higher priority first;
 * within one priority the namespaces take turns, that of the oldest pod first; and within a namespace the longer waiting first.
 */
export function inTurns(pods: readonly Pod[], last: readonly PodUid[] = []): readonly Pod[] {
  const had = new Set(last);
  /** Of each part, the last turn of each namespace. Sorted pods pass the priorities one after the other. */
  const latest = Array.from({ length: 4 }, () => new Map<string, Turn>());
  const turns = pods.toSorted(byPrecedence).map((pod): Turn => {
    // guard: pods that were searched in vain keep no other pod from its search
    const part = Number(pod.origin === 'buffer') * 2 + Number(had.has(pod.uid));
    const priority = priorityOf(pod);
    const before = latest[part]?.get(pod.namespace);
    const turn = { pod, part, priority, number: before?.priority === priority ? before.number + 1 : 0 };
    latest[part]?.set(pod.namespace, turn);
    return turn;
  });
  // guard: the pods of one namespace keep those of another from no search
  turns.sort((left, right) => left.part - right.part || right.priority - left.priority || left.number - right.number);
  return turns.map(({ pod }) => pod);
}
