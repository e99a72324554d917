import { podName, type NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { TO_BE_DELETED_TAINT } from '../../domain/taint.ts';
import type { Snapshot } from '../../scheduling/snapshot.ts';
import { byName } from './scope.ts';

/** Pods in the order in which they are placed: important first, then large first, then by name. */
export function placementOrder(left: Pod, right: Pod): number {
  return (
    (right.shape.priority ?? 0) - (left.shape.priority ?? 0) ||
    (right.shape.requests[CPU] ?? 0) - (left.shape.requests[CPU] ?? 0) ||
    (right.shape.requests[MEMORY] ?? 0) - (left.shape.requests[MEMORY] ?? 0) ||
    byName(podName(left), podName(right))
  );
}

/**
 * Takes the node out of the snapshot and puts its movable pods on the destinations. On success the snapshot keeps the
 * result (later candidates must see it) and undefined is returned; else it is as before and the pod that found no place
 * is returned.
 */
export function simulateRemoval(
  node: Node,
  movable: readonly Pod[],
  snapshot: Snapshot,
  destinations: ReadonlySet<NodeName>,
): Pod | undefined {
  snapshot.fork();
  const stuck = tryRemoval(node, movable, snapshot, destinations);
  if (stuck === undefined) snapshot.commit();
  else snapshot.revert();
  return stuck;
}

function tryRemoval(node: Node, movable: readonly Pod[], snapshot: Snapshot, destinations: ReadonlySet<NodeName>): Pod | undefined {
  snapshot.removeNode(node.name);
  if (movable.length === 0) return undefined;
  // While its pods look for a place the node still exists, emptied and tainted: spread constraints count its domain.
  snapshot.addNode(asLeaving(node), []);
  for (const pod of [...movable].sort(placementOrder)) {
    const place = snapshot.findNode(pod, (name) => name !== node.name && destinations.has(name));
    if (place === undefined) return pod;
    snapshot.addPod(pod, place);
  }
  snapshot.removeNode(node.name);
  return undefined;
}

function asLeaving(node: Node): Node {
  return { ...node, taints: [...node.taints, { key: TO_BE_DELETED_TAINT, value: '0', effect: 'NoSchedule' }] };
}
