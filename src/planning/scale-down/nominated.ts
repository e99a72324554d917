/**
 * Pods that others are being pushed aside for: kube-scheduler has named their node, and they are about to run there. A plan
 * counts them as there already, or it would take the node from under them. Pure.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';

export interface NominatedPod {
  readonly pod: Pod;
  readonly node: NodeName;
}

/** Pods that wait for a node that is there. */
export function nominatedPods({ cluster }: Pick<Observation, 'cluster'>): readonly NominatedPod[] {
  return cluster.pendingPods.flatMap((pod) => {
    const node = pod.nominatedNodeName;
    return node !== undefined && pod.nodeName === undefined && cluster.nodes.has(node) ? [{ pod: { ...pod, nodeName: node }, node }] : [];
  });
}

/** The observation with those pods on their nodes. Itself when there are none. */
export function withNominated(observation: Observation, nominated: readonly NominatedPod[]): Observation {
  if (nominated.length === 0) return observation;
  const podsByNode = new Map<NodeName, readonly Pod[]>(observation.cluster.podsByNode);
  for (const { pod, node } of nominated) podsByNode.set(node, [...(podsByNode.get(node) ?? []), pod]);
  return { ...observation, cluster: { ...observation.cluster, podsByNode } };
}
