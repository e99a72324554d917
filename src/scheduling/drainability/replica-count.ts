import { block, type DrainRule } from './drain-rule.ts';

/**
 * A pod whose DaemonSet no longer exists would not come back. Of the controllers only DaemonSets are watched, so only
 * they can be missed; for the others the API server's garbage collector is trusted.
 */
export const replicaCount: DrainRule = (pod, { policy, daemonSets }) => {
  if (!policy.skipNodesWithCustomControllerPods || pod.controller?.kind !== 'DaemonSet') return undefined;
  const name = `${pod.namespace}/${pod.controller.name}`;
  return daemonSets.has(name) ? undefined : block('ControllerNotFound', `DaemonSet ${name}`);
};
