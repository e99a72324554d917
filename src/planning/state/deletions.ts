import type { InstanceKey, NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { InstanceState } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taint.ts';

/**
 * An accepted deletion shows as `deleting` at once, for as long as it takes. A machine that is still called running after
 * two readings of its list at their longest interval was never deleted: the node gives its mark back and is judged anew.
 */
const LOST_DELETION_MS = 600_000;

/**
 * Which nodes are on their way out: entries end when the node has gone, when Azure says that the deletion failed, or when
 * it was lost. A node that carries our taint and whose instance is being deleted belongs here even after a restart.
 */
export function reduceDeletions(state: LoopState, observation: Observation): LoopState['deleting'] {
  const { cluster, cloud, nowMs } = observation;
  const failed = new Set<InstanceKey>(cloud.events.flatMap((event) => (event.kind === 'delete-failed' ? event.instances : [])));
  const states = instanceStates(observation);
  const deleting = new Map<NodeName, { group: LoopStateEntry['group']; instance: InstanceKey; sinceMs: number }>();
  for (const [name, entry] of state.deleting) {
    const lost = nowMs - entry.sinceMs > LOST_DELETION_MS && states.get(entry.instance) === 'running';
    if (cluster.nodes.has(name) && !failed.has(entry.instance) && !lost) deleting.set(name, entry);
  }
  for (const [name, node] of cluster.nodes) {
    const group = cloud.groupOfNode.get(name);
    const instance = cloud.instanceOfNode.get(name);
    if (deleting.has(name) || group === undefined || instance === undefined || !hasTaint(node.taints, TO_BE_DELETED_TAINT)) continue;
    if (states.get(instance) === 'deleting') deleting.set(name, { group, instance, sinceMs: nowMs });
  }
  return deleting;
}

type LoopStateEntry = LoopState['deleting'] extends ReadonlyMap<NodeName, infer Entry> ? Entry : never;

function instanceStates(observation: Observation): ReadonlyMap<InstanceKey, InstanceState> {
  const states = new Map<InstanceKey, InstanceState>();
  for (const group of observation.cloud.groups) for (const instance of group.instances ?? []) states.set(instance.key, instance.state);
  return states;
}
