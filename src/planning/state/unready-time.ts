import type { Node } from '../../domain/node.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';

/** Azure may still change its mind, and lists may lag: so long after it came to be of no use an evicted machine is left alone. */
const EVICTED_KEPT_MS = 60_000;

/**
 * How long a node that is not ready is kept, milliseconds. A machine that Azure said it would take back and then deallocated
 * is no node that may recover: nobody starts it again, and it holds a place of its group.
 */
export function unreadyKeptMs(
  node: Pick<Node, 'name' | 'preemption'>,
  group: NodeGroup,
  { cloud, nowMs }: Pick<Observation, 'cloud' | 'nowMs'>,
  policy: Policy,
): number {
  const usualMs = group.options.unreadyForMs ?? policy.scaleDown.unreadyForMs;
  if (node.preemption === undefined || nowMs < node.preemption.deadlineMs) return usualMs;
  const key = cloud.instanceOfNode.get(node.name);
  const instance = group.instances?.find((candidate) => candidate.key === key);
  return instance?.state === 'deallocated' ? Math.min(EVICTED_KEPT_MS, usualMs) : usualMs;
}
