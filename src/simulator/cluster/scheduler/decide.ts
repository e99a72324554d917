/** Where one pod goes: filter, score, and the sentence that tells people why it goes nowhere. Pure. */
import type { PodObject } from '../objects.ts';
import { nodeReasons, type Seat } from './node-filters.ts';
import { requestsOf } from './requests.ts';
import { untoleratedPreferences } from './taints.ts';
import { topologyReason, type Room } from './topology.ts';
import { volumeReason } from './volumes.ts';

export type Decision = { readonly kind: 'bind'; readonly seat: Seat } | { readonly kind: 'unschedulable'; readonly message: string };

/** Share of the node that would be in use after placing the pod, over CPU and memory: least is best. */
function loadWith(pod: PodObject, seat: Seat): number {
  const shares = ['cpu', 'memory'].map((name) => {
    const total = seat.allocatable.get(name) ?? 0;
    return total === 0 ? 1 : ((seat.used.get(name) ?? 0) + (requestsOf(pod).get(name) ?? 0)) / total;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function compare(pod: PodObject): (left: Seat, right: Seat) => number {
  const dislike = (seat: Seat): number => untoleratedPreferences(seat.node.spec.taints ?? [], pod.spec.tolerations ?? []);
  return (left, right) =>
    dislike(left) - dislike(right) ||
    loadWith(pod, left) - loadWith(pod, right) ||
    (left.node.metadata.name < right.node.metadata.name ? -1 : 1);
}

/** `0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu. ...`, as kube-scheduler writes it. */
export function unschedulableMessage(reasonsByNode: readonly (readonly string[])[]): string {
  const total = reasonsByNode.length;
  if (total === 0) return 'no nodes available to schedule pods';
  const histogram = new Map<string, number>();
  for (const reason of reasonsByNode.flat()) histogram.set(reason, (histogram.get(reason) ?? 0) + 1);
  const texts = [...histogram].map(([reason, count]) => `${count} ${reason}`).sort((left, right) => (left < right ? -1 : 1));
  // Preemption is tried after every failure; this scheduler has none, and says what a cluster of equals would say.
  const victims = reasonsByNode.filter((reasons) => reasons.every(isAboutRoom)).length;
  const others = total - victims;
  const preemption = [
    ...(others > 0 ? [`${others} Preemption is not helpful for scheduling`] : []),
    ...(victims > 0 ? [`${victims} No preemption victims found for incoming pod`] : []),
  ];
  return `0/${total} nodes are available: ${texts.join(', ')}. preemption: 0/${total} nodes are available: ${preemption.join(', ')}.`;
}

/** Failures that the end of another pod could cure. */
function isAboutRoom(reason: string): boolean {
  return /^(Insufficient|Too many pods|node\(s\) didn't (have free ports|match pod anti-affinity|satisfy existing|match pod topology spread constraints$))/.test(
    reason,
  );
}

/** Decides for one pod in the present room. */
export function decide(pod: PodObject, room: Room): Decision {
  const refused: (readonly string[])[] = [];
  const fitting: Seat[] = [];
  for (const seat of room.seats) {
    const reasons = nodeReasons(pod, seat);
    const topology =
      reasons.length === 0 ? (volumeReason(pod, seat, room.seats, room.stored) ?? topologyReason(pod, seat, room)) : undefined;
    if (reasons.length === 0 && topology === undefined) fitting.push(seat);
    else refused.push(topology === undefined ? reasons : [topology]);
  }
  const [best] = fitting.sort(compare(pod));
  return best === undefined ? { kind: 'unschedulable', message: unschedulableMessage(refused) } : { kind: 'bind', seat: best };
}
