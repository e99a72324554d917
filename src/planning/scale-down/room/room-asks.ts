/**
 * Pods that wait for room on one node: what each needs there, and which others are enough. The kubelet tries a deferred resize again once pods have
 * left its node (v1.37.2, `pkg/kubelet/kubelet.go`: `HandlePodRemoves`), and kube-scheduler counts its new size meanwhile (component-helpers v0.37.2,
 * `resource/helpers.go`). Pods of a lower priority than a pod of a DaemonSet are preempted by kube-scheduler itself. Must not know which may be moved.
 */
import { podName } from '../../../domain/ids.ts';
import type { Node } from '../../../domain/node.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import { PODS, type Resources } from '../../../domain/resources.ts';
import { compareText } from '../../../lib/comparison.ts';
import { fitsStatically } from '../../../scheduling/snapshot/node-only-fit.ts';
import { isReservation } from '../../state/assumed-pods.ts';
import type { ScaleDownContext } from '../plan-context.ts';

/** Before that, kube-scheduler or the kubelet may find the room by itself. */
const WAITED_MS = 60_000;

export interface RoomAsk {
  readonly pod: Pod;
  readonly node: Node;
  /** What it requests there. */
  readonly wanted: Resources;
  /** The other pods of the node that hold resources. */
  readonly others: readonly Pod[];
}

/** In units of resource vectors. */
export interface Shortage {
  readonly index: number;
  readonly needs: number;
  /** Negative if the other pods request more than the node has, as pods do whose new sizes wait. */
  readonly free: number;
}

/** The DaemonSet controller pins each pod to its node by name. */
export function ownNode({ shape: { nodeAffinity = [] } }: Pod): string | undefined {
  const fields = nodeAffinity.flatMap((term) => term.fields);
  return fields.find(({ key, operator, values }) => key === 'metadata.name' && operator === 'In' && values.length === 1)?.values[0];
}

/** Those that hold resources. Room that is reserved there, for headroom for example, keeps no pod from running. */
export function podsOn(node: Pick<Node, 'name'>, podsByNode: ClusterView['podsByNode']): readonly Pod[] {
  const pods = podsByNode.get(node.name) ?? [];
  return pods.filter((pod) => pod.phase !== 'Succeeded' && pod.phase !== 'Failed' && !isReservation(pod));
}

/** What the node is short of for these requests beside the other pods. */
export function missingFor({ node, wanted, others }: Pick<RoomAsk, 'node' | 'wanted' | 'others'>): readonly Shortage[] {
  return [...wanted].flatMap((needs, index) => {
    const used = others.reduce((sum, { shape }) => sum + (shape.requests[index] ?? 0), 0);
    const free = (node.allocatable[index] ?? 0) - used;
    return needs <= free ? [] : [{ index, needs, free }];
  });
}

/**
 * Whether its node can never hold a running pod in its new size: its kubelet says so, or the node is too small beside the pods that belong to it. Kubelets of 1.36
 * and 1.37 call such a resize deferred.
 */
export function mustLeave({ pod, node, wanted, others }: RoomAsk): boolean {
  const { resize } = pod.status;
  if (resize === undefined) return false;
  const staying = others.filter(({ daemonSet, mirror }) => daemonSet || mirror);
  return resize.kind === 'infeasible' || missingFor({ node, wanted, others: staying }).length > 0;
}

/** Pods that have waited for a while on nodes that would hold them without others; higher priority first, then by name. */
export function findRoomAsks({ observation: { cluster, nowMs } }: ScaleDownContext): readonly RoomAsk[] {
  const asks: RoomAsk[] = [];
  for (const pod of cluster.pendingPods) {
    const node = pod.daemonSet && pod.deletionAtMs === undefined ? cluster.nodes.get(ownNode(pod) ?? '') : undefined;
    if (node === undefined || pod.unschedulable === undefined || nowMs - pod.unschedulable.sinceMs < WAITED_MS) continue;
    if (fitsStatically(pod.shape, node)) asks.push({ pod, node, wanted: pod.shape.requests, others: podsOn(node, cluster.podsByNode) });
  }
  for (const [name, pods] of cluster.podsByNode) {
    const node = cluster.nodes.get(name);
    for (const pod of node === undefined ? [] : pods) {
      const { resize } = pod.status;
      if (node === undefined || resize === undefined || pod.deletionAtMs !== undefined) continue;
      const others = podsOn(node, cluster.podsByNode).filter(({ uid }) => uid !== pod.uid);
      asks.push({ pod, node, wanted: resize.wanted, others });
    }
  }
  const open = asks.filter(
    (ask) => mustLeave(ask) || missingFor(ask).some(({ index }) => index !== PODS || ask.pod.nodeName === undefined),
  );
  return open.sort(
    (left, right) => askerPriority(right.pod) - askerPriority(left.pod) || compareText(podName(left.pod), podName(right.pod)),
  );
}

/** One pod if one is enough, the smallest of the least priority; else pods in the order of their priorities, the largest first. */
export function fewestPods(movable: readonly Pod[], short: readonly Shortage[]): readonly Pod[] | undefined {
  const missing = short.map(({ index, needs, free }) => ({ index, missing: needs - free }));
  const share = ({ shape }: Pod): number => missing.reduce((sum, each) => sum + (shape.requests[each.index] ?? 0) / each.missing, 0);
  const isEnough = (pods: readonly Pod[]): boolean =>
    missing.every((each) => pods.reduce((sum, { shape }) => sum + (shape.requests[each.index] ?? 0), 0) >= each.missing);
  const ordered = (pods: readonly Pod[], largestFirst: 1 | -1): readonly Pod[] =>
    pods.toSorted(
      (left, right) =>
        askerPriority(left) - askerPriority(right) ||
        (share(right) - share(left)) * largestFirst ||
        compareText(podName(left), podName(right)),
    );
  const [alone] = ordered(
    movable.filter((pod) => isEnough([pod])),
    -1,
  );
  if (alone !== undefined) return [alone];
  const taken: Pod[] = [];
  for (const pod of ordered(
    movable.filter((each) => share(each) > 0),
    1,
  )) {
    taken.push(pod);
    if (isEnough(taken)) return taken;
  }
  return undefined;
}

/** 0 for a pod without a priority. */
export function askerPriority({ shape }: Pick<Pod, 'shape'>): number {
  return shape.priority ?? 0;
}
