/**
 * Assumed pods: pods that a plan counts on a node to which they are not bound. kube-scheduler has nominated the node, a buffer or a booking
 * reserves room there, or the pod fits there and is about to arrive. And pods that are evicted or terminate and are not yet created again:
 * their successors need a place that is not known yet. Pure.
 * Idea: assumed pod.
 */
import { isReal, type Pod } from '../../domain/pod.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { AssumedPod, Increase, ScaleUpPlan } from '../../domain/plan.ts';
import { refusedByCordon, refusedByTaints } from '../../scheduling/predicates/node-gates.ts';
import { isLongTerminating } from '../../scheduling/drainability/drain-rules.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import { withForkInSlices, type Snapshot } from '../../scheduling/snapshot/snapshot.ts';
import { isTaintedForDeletion } from './deletions.ts';
import { isPreempted } from './node-counts.ts';

interface Nominations {
  readonly observation: Pick<Observation, 'cluster' | 'nowMs'>;
  readonly state: Pick<LoopState, 'deleting'>;
}

/**
 * The node that kube-scheduler has named for the pod, as long as the node can take it. A nomination of a node that is gone or leaving says
 * nothing, although it stays on the pod until kube-scheduler tries the pod again. So does one of a node that takes no pods yet: it is our own,
 * since preemption helps on no such node (v1.37.2, `pkg/scheduler/framework/preemption/preemption.go`: `findCandidates`).
 */
export function nominatedNode(pod: Pod, { observation: { cluster, nowMs }, state }: Nominations): NodeName | undefined {
  const name = pod.nodeName === undefined && pod.deletionAtMs === undefined ? pod.nominatedNodeName : undefined;
  const node = name === undefined ? undefined : cluster.nodes.get(name);
  // guard: a nomination of a node that is gone or leaving says nothing
  if (node === undefined || node.deletionAtMs !== undefined || state.deleting.has(node.name)) return undefined;
  // guard: a nomination of a node that takes no pods yet keeps its pod from no other node
  if (!takesPods(node, pod)) return undefined;
  return isPreempted(node, nowMs) || isTaintedForDeletion(node, nowMs) ? undefined : node.name;
}

/** Whether nothing about the node as a whole keeps the pod out: what preemption on the node would not change. */
export function takesPods(node: Node, { shape }: Pick<Pod, 'shape'>): boolean {
  return node.readiness.ready && refusedByCordon(shape, node).length === 0 && refusedByTaints(shape, node).length === 0;
}

/** Pods for which others are being preempted, with their nodes. */
export function nominatedPods(input: Nominations): readonly AssumedPod[] {
  return input.observation.cluster.pendingPods.flatMap((pod) => {
    const node = nominatedNode(pod, input);
    return node === undefined ? [] : [{ pod, node }];
  });
}

/** Pending pods with a node that they fit on. kube-scheduler is about to bind them, so their nodes are no longer empty. */
export function arrivingPods(plan: Pick<ScaleUpPlan, 'verdicts'>): readonly AssumedPod[] {
  return placedPods(plan).filter(({ pod }) => pod.nodeName === undefined && isReal(pod));
}

/** Reserved room on present nodes. On nodes to come it keeps nothing that could be removed. */
export function reservedPods(plan: Pick<ScaleUpPlan, 'verdicts'>): readonly AssumedPod[] {
  return placedPods(plan).filter(({ pod }) => isReservation(pod));
}

function placedPods({ verdicts }: Pick<ScaleUpPlan, 'verdicts'>): readonly AssumedPod[] {
  return [...verdicts].flatMap(([pod, verdict]) => (verdict.kind === 'fits-present-node' ? [{ pod, node: verdict.node }] : []));
}

/** Whether the pod stands for reserved room only. A drain ignores such pods. */
export function isReservation({ origin }: Pod): boolean {
  return origin !== 'cluster' && origin !== 'expected';
}

/** The kind of the owner of pods of headroom. No object of the cluster has it. */
export const HEADROOM = 'Headroom';

const CLUSTER = 'cluster';

/** Whether the pod stands for room that a setting keeps free. */
export function isHeadroom({ origin, controller }: Pick<Pod, 'origin' | 'controller'>): boolean {
  return origin === 'buffer' && controller?.kind === HEADROOM;
}

/** The uid of the owner of these pods. No uid of an object has this form. */
export function headroomUid(pool: string | undefined, at: number): string {
  return `headroom/${pool ?? CLUSTER}/${at}`;
}

/** The pool of a pod of headroom, or `cluster`. */
export function headroomPool({ controller }: Pick<Pod, 'controller'>): string {
  const { uid = '' } = controller ?? {};
  return uid.slice(uid.indexOf('/') + 1, uid.lastIndexOf('/'));
}

/** Whether nothing but headroom asks for the nodes. */
export function isForHeadroom({ pods }: Pick<Increase, 'pods'>): boolean {
  return pods.length > 0 && pods.every(isHeadroom);
}

/** What the room of such a pod is for, in words. */
export function roomOwner({ namespace, controller }: Pick<Pod, 'namespace' | 'controller'>): string {
  const { kind = '', name = '' } = controller ?? {};
  return kind === HEADROOM ? name : `${kind} ${namespace}/${name}`;
}

/**
 * Whether the pod will be created again, and is not yet: it is about to be evicted, or terminates and its controller waits for its end, as
 * a StatefulSet does. Other controllers create the successor of a terminating pod at once. Call it for pods of nodes that they must leave.
 */
export function awaitsSuccessor(pod: Pod, nowMs: number): boolean {
  if (pod.deletionAtMs === undefined) return true;
  // guard: the only node for a terminating pod of a StatefulSet stays
  return pod.controller?.kind === 'StatefulSet' && !isLongTerminating(pod, nowMs);
}

/**
 * Pods of draining nodes whose controller will create them again and has not done so yet: they need a place before they turn pending. They
 * are still bound, so no event is about them.
 */
export function displacedPods(observation: Pick<Observation, 'cluster' | 'nowMs'>, draining: Iterable<NodeName>): readonly Pod[] {
  return [...draining].flatMap((node) =>
    (observation.cluster.podsByNode.get(node) ?? []).filter(
      (pod) => pod.controller !== undefined && !pod.mirror && !pod.daemonSet && awaitsSuccessor(pod, observation.nowMs),
    ),
  );
}

/** The observation with those pods on their nodes instead of pending. Returns the observation itself if there are none. */
export function withAssumedPods(observation: Observation, assumed: readonly AssumedPod[]): Observation {
  if (assumed.length === 0) return observation;
  const podsByNode = new Map<NodeName, readonly Pod[]>(observation.cluster.podsByNode);
  for (const { pod, node } of assumed) podsByNode.set(node, [...(podsByNode.get(node) ?? []), { ...pod, nodeName: node }]);
  const placed = new Set(assumed.map(({ pod }) => pod));
  const pendingPods = observation.cluster.pendingPods.filter((pod) => !placed.has(pod));
  return { ...observation, cluster: { ...observation.cluster, podsByNode, pendingPods } };
}

/** Makes a plan with those pods in the snapshot, which is as before afterwards. */
export function* planWithAssumedPods<Plan>(
  assumed: readonly AssumedPod[],
  snapshot: Snapshot,
  plan: () => SlicedWork<Plan>,
): SlicedWork<Plan> {
  if (assumed.length === 0) return yield* plan();
  return yield* withForkInSlices(snapshot, function* (): SlicedWork<Plan> {
    for (const { pod, node } of assumed) snapshot.addPod({ ...pod, nodeName: node }, node);
    return yield* plan();
  });
}
