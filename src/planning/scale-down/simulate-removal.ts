import { podName, type NodeName } from '../../domain/ids.ts';
import { compareText } from '../../lib/comparison.ts';
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { TO_BE_DELETED_TAINT } from '../../domain/taints.ts';
import { tryInFork, type Snapshot } from '../../scheduling/snapshot/snapshot.ts';

/** The order in which pods are placed: higher priority first, then larger requests, then by name. */
export function placementOrder(left: Pod, right: Pod): number {
  return (
    (right.shape.priority ?? 0) - (left.shape.priority ?? 0) ||
    (right.shape.requests[CPU] ?? 0) - (left.shape.requests[CPU] ?? 0) ||
    (right.shape.requests[MEMORY] ?? 0) - (left.shape.requests[MEMORY] ?? 0) ||
    compareText(podName(left), podName(right))
  );
}

/** The nodes that take the pods of a removed node, or the pod that found no place. */
export type SimulatedRemoval = { readonly destinations: ReadonlySet<NodeName> } | { readonly unplaced: Pod };

/**
 * Removes the node from the snapshot and places its movable pods on the destinations. If all pods find a place, the snapshot
 * keeps the result, since later candidates must see it; else the snapshot is as before.
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
    (result) => !('unplaced' in result),
  );
}

const NOWHERE: SimulatedRemoval = { destinations: new Set() };

function moveAllPods(node: Node, movable: readonly Pod[], snapshot: Snapshot, destinations: ReadonlySet<NodeName>): SimulatedRemoval {
  snapshot.removeNode(node.name);
  if (movable.length === 0) return NOWHERE;
  // While its pods are placed the node still exists, empty and tainted: spread constraints count its domain.
  snapshot.addNode(withDeletionTaint(node), []);
  const result = placePods([...movable].sort(placementOrder), snapshot, (name) => name !== node.name && destinations.has(name));
  snapshot.removeNode(node.name);
  return result;
}

/** Pods that found no place are tried again as long as others find one: the place of a pod may depend on a pod that is placed later. */
export function placePods(pods: readonly Pod[], snapshot: Snapshot, accepts: (name: NodeName) => boolean): SimulatedRemoval {
  const taken = new Set<NodeName>();
  snapshot.prepareRules(pods);
  for (let waiting = pods; waiting.length > 0;) {
    const unplaced: Pod[] = [];
    for (const pod of waiting) {
      const place = findPlace(pod, snapshot, accepts);
      // guard: a follower is placed after the pod that it follows
      if (place === undefined && !dependsOnOthers(pod)) return { unplaced: pod };
      if (place === undefined) unplaced.push(pod);
      else {
        snapshot.addPod(pod, place);
        taken.add(place);
      }
    }
    const [first] = unplaced;
    if (first !== undefined && unplaced.length === waiting.length) return { unplaced: first };
    waiting = unplaced;
  }
  return { destinations: taken };
}

function findPlace(pod: Pod, snapshot: Snapshot, accepts: (name: NodeName) => boolean): NodeName | undefined {
  const place = snapshot.findNode(pod, accepts);
  return place === undefined || snapshot.deviceAllocationFailure(pod) !== undefined ? undefined : place;
}

/** Whether pods that are placed later may give the pod a place: those it must run near, or spread evenly with. */
function dependsOnOthers({ shape }: Pod): boolean {
  return shape.podAffinity.length > 0 || shape.topologySpread.length > 0;
}

function withDeletionTaint(node: Node): Node {
  return { ...node, taints: [...node.taints, { key: TO_BE_DELETED_TAINT, value: '0', effect: 'NoSchedule' }] };
}
