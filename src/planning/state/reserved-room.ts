/** Room on nodes for pods that are not bound yet: found by a scale-up plan, respected by the scale-down plan. Pure. */
import type { NodeName } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ReservedRoom, ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';

/** The observation with those pods on their nodes instead of pending. Returns the observation itself if there are none. */
export function withReservedPods(observation: Observation, held: readonly ReservedRoom[]): Observation {
  if (held.length === 0) return observation;
  const podsByNode = new Map<NodeName, readonly Pod[]>(observation.cluster.podsByNode);
  for (const { pod, node } of held) podsByNode.set(node, [...(podsByNode.get(node) ?? []), { ...pod, nodeName: node }]);
  const placed = new Set(held.map(({ pod }) => pod));
  const pendingPods = observation.cluster.pendingPods.filter((pod) => !placed.has(pod));
  return { ...observation, cluster: { ...observation.cluster, podsByNode, pendingPods } };
}

/** Pending pods with a node that they fit on. kube-scheduler is about to bind them, so their nodes are no longer empty. */
export function arrivingPods({ verdicts }: Pick<ScaleUpPlan, 'verdicts'>): readonly ReservedRoom[] {
  return [...verdicts].flatMap(([pod, verdict]) => {
    const waits = verdict.kind === 'fits-present-node' && pod.nodeName === undefined && pod.injected !== true && !isReservation(pod);
    return waits ? [{ pod, node: verdict.node }] : [];
  });
}

/** Whether the pod stands for reserved room only. A drain ignores such pods. */
export function isReservation({ holds }: Pod): boolean {
  return holds !== undefined;
}
