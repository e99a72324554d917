/**
 * Nodes that have not been ready for longer than an unready node is kept. A minimum is meant of nodes that work: in a group
 * at its minimum they are replaced first and removed then, and ready nodes do not go in their stead.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taint.ts';
import { isStarting } from '../node-counts.ts';
import { unreadyKeptMs } from './unready-time.ts';

/** How many by group; nodes on their way out and those that scale-down may not touch are left out, as are those still starting and groups without any. */
export function brokenNodes(observation: Observation, state: LoopState, policy: Policy): ReadonlyMap<NodeGroupId, number> {
  const { cluster, cloud, nowMs } = observation;
  const broken = new Map<NodeGroupId, number>();
  if (!policy.scaleDown.enabled || policy.scaleDown.unreadyEnabled === false) return broken;
  for (const [name, node] of cluster.nodes) {
    // Our own timer: conditions and taints do not say reliably since when a node is of no use. It runs only for nodes that could go.
    const sinceMs = state.unneededSince.get(name);
    if (sinceMs === undefined || node.readiness.ready || node.scaleDownDisabled) continue;
    if (node.deletionAtMs !== undefined || state.deleting.has(name) || hasTaint(node.taints, TO_BE_DELETED_TAINT)) continue;
    const id = cloud.groupOfNode.get(name);
    const group = cloud.groups.find((candidate) => candidate.id === id);
    if (group === undefined || isStarting(node, group, { policy, nowMs })) continue;
    if (nowMs - sinceMs > unreadyKeptMs(node, group, observation, policy)) broken.set(group.id, (broken.get(group.id) ?? 0) + 1);
  }
  return broken;
}
