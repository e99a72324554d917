/**
 * Since when instances run without a node. An instance that had a node and lost it (the Node object was deleted, the machine
 * is imaged anew) begins its time then, not at its birth years ago.
 */
import type { InstanceKey } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';

/** Keeps the known times, begins new ones now, and forgets instances that have joined, left or cannot join. */
export function trackUnregistered(state: LoopState, { cluster, cloud, nowMs }: Observation): ReadonlyMap<InstanceKey, number> {
  const registered = new Set(cloud.instanceOfNode.values());
  const since = new Map<InstanceKey, number>();
  // Nodes without a single match mean that ids do not compare, not that every instance is lost.
  if (registered.size === 0 && cluster.nodes.size > 0) return since;
  for (const group of cloud.groups) {
    for (const instance of group.instances ?? []) {
      if (!mayJoin(instance) || registered.has(instance.key)) continue;
      since.set(instance.key, state.unregisteredSince?.get(instance.key) ?? nowMs);
    }
  }
  return since;
}

export function mayJoin(instance: Instance): boolean {
  return instance.state === 'creating' || instance.state === 'running';
}

/** Whether an instance without a node has had all the time to get one. The caller knows that it has none. */
export function isOverdue(instance: Instance, group: NodeGroup, context: { state: LoopState; policy: Policy; nowMs: number }): boolean {
  const { state, policy, nowMs } = context;
  const sinceMs = state.unregisteredSince?.get(instance.key) ?? instance.firstSeenMs;
  return nowMs - sinceMs > (group.options.maxProvisionMs ?? policy.scaleUp.maxProvisionMs);
}

/** How many of the group's instances the target counts although they never became nodes. Only those with a known time. */
export function overdueInstances(group: NodeGroup, context: { state: LoopState; policy: Policy; nowMs: number }): number {
  const known = context.state.unregisteredSince;
  if (known === undefined || known.size === 0) return 0;
  return (group.instances ?? []).filter((instance) => mayJoin(instance) && known.has(instance.key) && isOverdue(instance, group, context))
    .length;
}
