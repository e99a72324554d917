/** The decision for one pod: filter, score, and the message if no node fits. Pure. Must not know the API. */
import { compareText } from '../../../../src/lib/comparison.ts';
import type { PodObject } from '../store/objects.ts';
import { nodeReasons, type NodeUsage, requestsOf, untoleratedPreferences } from './node-filters.ts';
import { topologyRule, type TopologyView } from './topology.ts';
import { volumeReason } from './volumes.ts';

export type Decision = { readonly kind: 'bind'; readonly usage: NodeUsage } | { readonly kind: 'unschedulable'; readonly message: string };

/** Used share of CPU and memory after placing the pod; the least is best. */
export function usedShareWith(pod: PodObject, usage: NodeUsage): number {
  const shares = ['cpu', 'memory'].map((name) => {
    const total = usage.allocatable.get(name) ?? 0;
    return total === 0 ? 1 : ((usage.used.get(name) ?? 0) + (requestsOf(pod).get(name) ?? 0)) / total;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

/** How a node is preferred; less is better. Within a pass it only grows, because nodes only fill up. */
export interface Rank {
  readonly dislike: number;
  readonly share: number;
  readonly name: string;
}

export function rankOf(pod: PodObject, usage: NodeUsage): Rank {
  const dislike = untoleratedPreferences(usage.node.spec.taints ?? [], pod.spec.tolerations ?? []);
  return { dislike, share: usedShareWith(pod, usage), name: usage.node.metadata.name };
}

export function compareRanks(left: Rank, right: Rank): number {
  return left.dislike - right.dislike || left.share - right.share || compareText(left.name, right.name);
}

/** `0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu. ...`, as kube-scheduler writes it. */
export function unschedulableMessage(reasonsByNode: readonly (readonly string[])[]): string {
  const total = reasonsByNode.length;
  if (total === 0) return 'no nodes available to schedule pods';
  const histogram = new Map<string, number>();
  for (const reason of reasonsByNode.flat()) histogram.set(reason, (histogram.get(reason) ?? 0) + 1);
  const texts = [...histogram].map(([reason, count]) => `${count} ${reason}`).sort(compareText);
  // kube-scheduler tries preemption after every failure. This scheduler has none, and reports the result for pods of equal
  // priority.
  const candidates = reasonsByNode.filter((reasons) => reasons.every(isAboutResources)).length;
  const others = total - candidates;
  const preemption = [
    ...(others > 0 ? [`${others} Preemption is not helpful for scheduling`] : []),
    ...(candidates > 0 ? [`${candidates} No preemption victims found for incoming pod`] : []),
  ];
  return `0/${total} nodes are available: ${texts.join(', ')}. preemption: 0/${total} nodes are available: ${preemption.join(', ')}.`;
}

/** Whether the end of another pod could remove this reason. */
function isAboutResources(reason: string): boolean {
  return /^(Insufficient|Too many pods|node\(s\) didn't (have free ports|match pod anti-affinity|satisfy existing|match pod topology spread constraints$))/.test(
    reason,
  );
}

/** Why a pod cannot run on a node with the current usage. Empty: it can. */
export function refusalsBy(view: TopologyView, pod: PodObject): (usage: NodeUsage) => readonly string[] {
  const topologyReason = topologyRule(pod, view);
  return (usage) => {
    const reasons = nodeReasons(pod, usage);
    if (reasons.length > 0) return reasons;
    const other = volumeReason(pod, usage, view.nodes, view.stored) ?? topologyReason(usage);
    return other === undefined ? [] : [other];
  };
}

/** Decides for one pod with the current usage. */
export function scheduleOne(pod: PodObject, view: TopologyView): Decision {
  const refusalsOn = refusalsBy(view, pod);
  const refused: (readonly string[])[] = [];
  const fitting: NodeUsage[] = [];
  for (const usage of view.nodes) {
    const reasons = refusalsOn(usage);
    if (reasons.length === 0) fitting.push(usage);
    else refused.push(reasons);
  }
  const best = bestOf(pod, fitting);
  return best === undefined ? { kind: 'unschedulable', message: unschedulableMessage(refused) } : { kind: 'bind', usage: best };
}

function bestOf(pod: PodObject, fitting: readonly NodeUsage[]): NodeUsage | undefined {
  const ranked = fitting.map((usage) => ({ usage, rank: rankOf(pod, usage) }));
  const [first, ...rest] = ranked;
  return rest.reduce((best, one) => (best !== undefined && compareRanks(best.rank, one.rank) <= 0 ? best : one), first)?.usage;
}
