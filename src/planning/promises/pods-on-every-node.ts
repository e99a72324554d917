/**
 * Which pods run on every node of a group, by what is seen: one pod of a kind on each ready node. Must not know what such pods use, nor
 * why it is asked.
 * Idea: broken promise.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import { isOlderThanNode } from '../../domain/workloads.ts';

/** Their number does not follow the nodes: that one of them is on each node is chance. */
const REPLICATED: ReadonlySet<string> = new Set(['ReplicaSet', 'ReplicationController', 'StatefulSet', 'Job', 'Deployment']);
/** Whatever follows the nodes creates its pod soon after the node. */
const CREATED_WITHIN_MS = 120_000;

/** Whether a pod on the node is of a kind that is on every node. */
export type IsEverywhere = (pod: Pod, node: Node) => boolean;

/**
 * On at least two nodes, exactly one pod of the kind on each, and none that is pending: pods of workflow tools may be on all nodes by
 * chance. On the node in question it was created soon after the node.
 */
export function podsOnEveryNode(names: readonly NodeName[], { nodes, podsByNode, pendingPods }: ClusterView): IsEverywhere {
  const ready = names.filter((name) => nodes.get(name)?.readiness.ready === true && nodes.get(name)?.deletionAtMs === undefined);
  if (ready.length < 2) return () => false;
  let kinds = new Set<string>();
  for (const [at, name] of ready.entries()) {
    const single = singleKinds(podsByNode.get(name) ?? []);
    kinds = new Set(at === 0 ? single : [...kinds].filter((kind) => single.has(kind)));
    if (kinds.size === 0) return () => false;
  }
  for (const pod of pendingPods) if (followsNodes(pod)) kinds.delete(kindOf(pod));
  return (pod, node) => followsNodes(pod) && cameWith(pod, node) && kinds.has(kindOf(pod));
}

/** The lists are never changed, and most are the same in the next loop. */
const singles = new WeakMap<readonly Pod[], ReadonlySet<string>>();

function singleKinds(pods: readonly Pod[]): ReadonlySet<string> {
  const known = singles.get(pods);
  if (known !== undefined) return known;
  const counts = new Map<string, number>();
  for (const kind of pods.filter(followsNodes).map(kindOf)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const found = new Set([...counts].flatMap(([kind, count]) => (count === 1 ? [kind] : [])));
  singles.set(pods, found);
  return found;
}

function followsNodes({ controller }: Pod): boolean {
  return controller === undefined || !REPLICATED.has(controller.kind);
}

/** Whether the pod was created soon after its node. */
export function cameWith(pod: Pod, node: Node): boolean {
  return !isOlderThanNode(pod, node) && pod.createdAtMs <= node.createdAtMs + CREATED_WITHIN_MS;
}

/** Values of labels may name the node. */
function kindOf({ namespace, controller, shape }: Pod): string {
  const owner = controller === undefined ? [] : [controller.apiVersion, controller.kind];
  return JSON.stringify([namespace, owner, Object.keys(shape.labels).sort(), [...shape.requests], shape.hostPorts]);
}
