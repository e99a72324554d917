import { podName, type NodeName } from '../../domain/ids.ts';
import { compareText } from '../../lib/comparison.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { TO_BE_DELETED_TAINT } from '../../domain/taints.ts';
import type { Snapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { tryInFork } from '../../scheduling/snapshot/fork.ts';

/** Pods in the order in which they are placed: important first, then large first, then by name. */
export function placementOrder(left: Pod, right: Pod): number {
  return (
    (right.shape.priority ?? 0) - (left.shape.priority ?? 0) ||
    (right.shape.requests[CPU] ?? 0) - (left.shape.requests[CPU] ?? 0) ||
    (right.shape.requests[MEMORY] ?? 0) - (left.shape.requests[MEMORY] ?? 0) ||
    compareText(podName(left), podName(right))
  );
}

/** Where the pods of a removed node go, or the pod that found no place. */
export type SimulatedRemoval = { readonly destinations: ReadonlySet<NodeName> } | { readonly stuck: Pod };

/**
 * Takes the node out of the snapshot and puts its movable pods on the destinations. On success the snapshot keeps the
 * result (later candidates must see it); else it is as before.
 */
export function simulateRemoval(
  node: Node,
  movable: readonly Pod[],
  snapshot: Snapshot,
  destinations: ReadonlySet<NodeName>,
): SimulatedRemoval {
  return tryInFork(
    snapshot,
    () => moveAllPods(node, movable, snapshot, destinations),
    (result) => !('stuck' in result),
  );
}

const NOWHERE: SimulatedRemoval = { destinations: new Set() };

function moveAllPods(node: Node, movable: readonly Pod[], snapshot: Snapshot, destinations: ReadonlySet<NodeName>): SimulatedRemoval {
  snapshot.removeNode(node.name);
  if (movable.length === 0) return NOWHERE;
  const taken = new Set<NodeName>();
  // While its pods look for a place the node still exists, emptied and tainted: spread constraints count its domain.
  snapshot.addNode(withDeletionTaint(node), []);
  for (const pod of [...movable].sort(placementOrder)) {
    const place = snapshot.findNode(pod, (name) => name !== node.name && destinations.has(name));
    if (place === undefined || snapshot.deviceFault(pod) !== undefined) return { stuck: pod };
    snapshot.addPod(pod, place);
    taken.add(place);
  }
  snapshot.removeNode(node.name);
  return { destinations: taken };
}

function withDeletionTaint(node: Node): Node {
  return { ...node, taints: [...node.taints, { key: TO_BE_DELETED_TAINT, value: '0', effect: 'NoSchedule' }] };
}

// Pods that others are being pushed aside for: kube-scheduler has named their node, and they are about to run there. A plan
// counts them as there already, or it would take the node from under them. Pure.

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
