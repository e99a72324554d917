/**
 * Whether the cluster, or one group, is healthy enough to be scaled. Many unready nodes at once have a larger cause; then neither the
 * pending pods nor the nodes' states are reliable. Pure.
 * Idea: health.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation, ClusterView } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import { nodeListFacts } from '../facts/node-list-facts.ts';
import { countNodes, type NodeCounts } from './node-counts.ts';

/** The Cluster Autoscaler's defaults of `--ok-total-unready-count` and `--max-total-unready-percentage`. */

/** Why the whole cluster is frozen. */
interface ClusterProblem {
  /** `sick`: too many nodes are unready. `empty`: no node can take a pod, and the policy forbids to scale up from that. */
  readonly kind: 'sick' | 'empty';
  readonly detail: string;
}

/** Unhealthy only if both limits are exceeded. Nodes that are starting, stopped or leaving do not count as unready. */
function isHealthy({ unready, registered }: Pick<NodeCounts, 'unready' | 'registered'>, policy: Policy): boolean {
  const { okUnreadyNodes, maxUnreadyShare } = policy.cluster;
  return unready <= okUnreadyNodes || unready <= maxUnreadyShare * registered;
}

/** The same for one group. Instances that lost their node count like unready nodes. */
export function isGroupHealthy(
  { unready, lost, registered }: Pick<NodeCounts, 'unready' | 'lost' | 'registered'>,
  policy: Policy,
): boolean {
  return isHealthy({ unready: unready + lost, registered }, policy);
}

/**
 * Groups that are not increased for pods, with the reason: most of their nodes do not work, and the next would hardly be better. This is
 * the Cluster Autoscaler's health of a node group, with the limits of the whole cluster.
 */
export function unhealthyGroups(observation: Observation, state: LoopState, policy: Policy): ReadonlyMap<NodeGroupId, string> {
  const unhealthy = new Map<NodeGroupId, string>();
  const { okUnreadyNodes } = policy.cluster;
  const withoutNode = state.unregisteredSince?.size ?? 0;
  if (countNotReady(observation) + withoutNode <= okUnreadyNodes) return unhealthy;
  for (const [group, counts] of countNodes({ observation, state, policy }).byGroup) {
    if (isGroupHealthy(counts, policy)) continue;
    const lost = counts.lost === 0 ? '' : `, and ${counts.lost} instances have lost their node`;
    unhealthy.set(group, `${counts.unready} of its ${counts.registered} nodes are not ready${lost}`);
  }
  return unhealthy;
}

/** Why nothing is scaled in this loop, or undefined. */
export function clusterProblem(observation: Observation, state: LoopState, policy: Policy): ClusterProblem | undefined {
  const { scaleUpFromZero, okUnreadyNodes } = policy.cluster;
  // The common case skips the full count.
  if (scaleUpFromZero && countNotReady(observation) <= okUnreadyNodes) return undefined;
  const { total } = countNodes({ observation, state, policy });
  if (!scaleUpFromZero) {
    if (total.registered === 0) return { kind: 'empty', detail: 'Cluster has no nodes' };
    if (total.ready === 0) return { kind: 'empty', detail: 'Cluster has no ready nodes' };
  }
  if (isHealthy(total, policy)) return undefined;
  return { kind: 'sick', detail: `${total.unready} of ${total.registered} nodes are not ready` };
}

/** Nodes that are not ready, for any reason. */
function countNotReady({ cluster }: Observation): number {
  return nodeListFacts(cluster.nodes).unready.length;
}

/**
 * Why the view of the cluster is too old to decide on, or undefined. A silent or forbidden watch shows running pods as pending and misses
 * nodes that joined.
 */
export function stalenessProblem(cluster: ClusterView, limitMs: number | undefined): string | undefined {
  if (limitMs === undefined || cluster.stalenessMs <= limitMs) return undefined;
  const seconds = (ms: number): number => Math.round(ms / 1000);
  return `a watch of the cluster last received data ${seconds(cluster.stalenessMs)} s ago; the limit is ${seconds(limitMs)} s`;
}

/** Why no node at all is requested at present, in the order in which plans check it; undefined: nothing is against it. */
export function reasonNotToAct(observation: Observation, state: LoopState, policy: Policy): string | undefined {
  const { cloud, cluster } = observation;
  const stale = cloud.scaleUpBlocked ?? stalenessProblem(cluster, policy.scaleUp.maxClusterStalenessMs);
  return stale ?? clusterProblem(observation, state, policy)?.detail;
}
