/**
 * Whether the cluster, or one group, is well enough to be scaled. Too many unready nodes at once are a fault of something
 * larger, in which neither what pods need nor what nodes do can be believed. Pure.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation, ClusterView } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import { countNodes, type NodeCounts } from './node-counts.ts';

/** The Cluster Autoscaler's limits: `--ok-total-unready-count` and `--max-total-unready-percentage`. */
const DEFAULTS = { okUnreadyNodes: 3, maxUnreadyShare: 0.45, scaleUpFromZero: true };

/** Why the whole cluster is left alone. */
export interface ClusterProblem {
  /** `sick`: too many nodes are unready. `empty`: no node can take a pod, and the policy says that this is no time to grow. */
  readonly kind: 'sick' | 'empty';
  readonly detail: string;
}

/** Unhealthy only when both limits are passed. Nodes that are starting, stopped or leaving are not unready. */
export function isHealthy({ unready, registered }: Pick<NodeCounts, 'unready' | 'registered'>, policy: Policy): boolean {
  const { okUnreadyNodes, maxUnreadyShare } = { ...DEFAULTS, ...policy.cluster };
  return unready <= okUnreadyNodes || unready <= maxUnreadyShare * registered;
}

/** The same of one group, in which machines that lost their node count like nodes that are not ready. */
export function isGroupHealthy(
  { unready, lost, registered }: Pick<NodeCounts, 'unready' | 'lost' | 'registered'>,
  policy: Policy,
): boolean {
  return isHealthy({ unready: unready + lost, registered }, policy);
}

/**
 * Groups that are not grown for pods, each with why: most of their nodes are no use, and the next would hardly be better. The
 * Cluster Autoscaler's health of a node group, by the limits of the whole cluster.
 */
export function unhealthyGroups(observation: Observation, state: LoopState, policy: Policy): ReadonlyMap<NodeGroupId, string> {
  const unhealthy = new Map<NodeGroupId, string>();
  const { okUnreadyNodes } = { ...DEFAULTS, ...policy.cluster };
  const withoutNode = state.unregisteredSince?.size ?? 0;
  if (countNotReady(observation, okUnreadyNodes) + withoutNode <= okUnreadyNodes) return unhealthy;
  for (const [group, counts] of countNodes({ observation, state, policy }).byGroup) {
    if (isGroupHealthy(counts, policy)) continue;
    const lost = counts.lost === 0 ? '' : `, and ${counts.lost} instances have lost their node`;
    unhealthy.set(group, `${counts.unready} of its ${counts.registered} nodes are not ready${lost}`);
  }
  return unhealthy;
}

/** Why nothing is to be scaled, or undefined. */
export function clusterProblem(observation: Observation, state: LoopState, policy: Policy): ClusterProblem | undefined {
  const { scaleUpFromZero, okUnreadyNodes } = { ...DEFAULTS, ...policy.cluster };
  // What nearly every loop sees is not counted out.
  if (scaleUpFromZero && countNotReady(observation, okUnreadyNodes) <= okUnreadyNodes) return undefined;
  const { total } = countNodes({ observation, state, policy });
  if (!scaleUpFromZero) {
    if (total.registered === 0) return { kind: 'empty', detail: 'Cluster has no nodes' };
    if (total.ready === 0) return { kind: 'empty', detail: 'Cluster has no ready nodes' };
  }
  if (isHealthy(total, policy)) return undefined;
  return { kind: 'sick', detail: `${total.unready} of ${total.registered} nodes are not ready` };
}

/** Nodes that do not say ready, whatever the reason; stops counting above the limit. */
function countNotReady({ cluster }: Observation, limit: number): number {
  let count = 0;
  for (const node of cluster.nodes.values()) if (!node.readiness.ready && ++count > limit) break;
  return count;
}

/**
 * Why the cluster is too little known to decide on, or undefined. A watch that has gone silent, or that we may no longer
 * read, shows pods as pending that run and nodes as missing that joined, however well everything else is known.
 */
export function stalenessProblem(cluster: ClusterView, limitMs: number | undefined): string | undefined {
  if (limitMs === undefined || cluster.stalenessMs <= limitMs) return undefined;
  const seconds = (ms: number): number => Math.round(ms / 1000);
  return `a watch of the cluster last received data ${seconds(cluster.stalenessMs)} s ago; the limit is ${seconds(limitMs)} s`;
}
