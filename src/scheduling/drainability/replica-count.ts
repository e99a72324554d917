import type { Pod } from '../../domain/pod.ts';
import { ownerKey, ownerOf } from '../../domain/workload.ts';
import { block, type DrainContext, type DrainRule, type DrainVerdict } from './drain-rule.ts';

/**
 * A pod whose controller no longer exists would not come back. DaemonSets are watched; of the other kinds we know those
 * that were asked for, and the others are asked for before a node is touched.
 */
export const replicaCount: DrainRule = (pod, context) => {
  if (!context.policy.skipNodesWithCustomControllerPods) return undefined;
  if (pod.controller?.kind !== 'DaemonSet') return ownerGone(pod, context);
  const name = `${pod.namespace}/${pod.controller.name}`;
  return context.daemonSets?.has(name) !== false ? undefined : block('ControllerNotFound', `DaemonSet ${name}`);
};

function ownerGone(pod: Pod, { owners, policy }: DrainContext): DrainVerdict | undefined {
  if (owners === undefined || owners.size === 0) return undefined;
  const owner = ownerOf(pod);
  const state = owner === undefined ? undefined : owners.get(ownerKey(owner));
  if (owner === undefined || state === undefined) return undefined;
  if (!state.exists) return block('ControllerNotFound', ownerKey(owner));
  const { minReplicaCount = 0 } = policy;
  if (state.desired === undefined || state.desired >= minReplicaCount) return undefined;
  return block('MinReplicasReached', `${ownerKey(owner)} keeps ${state.desired} of the ${minReplicaCount} pods that a drain asks for`);
}
