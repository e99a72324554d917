/**
 * Whether the cluster, or one group, is healthy enough to be scaled. Many unready nodes at once have a larger cause; then neither the
 * pending pods nor the nodes' states are reliable. Pure.
 * Idea: health.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { zonePart } from '../../domain/node-template.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation, ClusterView } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import { nodeListFacts } from '../facts/node-list-facts.ts';
import { countNodes, type NodeCounts, unreadyNodes } from './node-counts.ts';

const ZONE_LABEL = 'topology.kubernetes.io/zone';

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

/** One broken node says nothing about its zone. */
const FEWEST_UNREADY = 2;

export interface ZoneOutage {
  /** As the label of its nodes has it. */
  readonly zone: string;
  readonly unready: number;
  /** Registered nodes, except those that are leaving. */
  readonly nodes: number;
}

interface Seen {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
}

const NONE: ReadonlyMap<string, ZoneOutage> = new Map();

/** By the last part of the zone. Empty if outages of zones are not heeded, or if no zone with nodes works: then the zones are not the cause. */
export function zoneOutages(seen: Seen): ReadonlyMap<string, ZoneOutage> {
  if (!seen.policy.cluster.avoidDownZones) return NONE;
  const unready = unreadyNodes(seen);
  if (unready.length < FEWEST_UNREADY) return NONE;
  const { cluster, cloud } = seen.observation;
  // The label of a node outside of zones names a fault domain.
  const zones = new Set(cloud.groups.flatMap((group) => zonesOf(group)));
  const counts = new Map<string, { zone: string; unready: number; nodes: number }>();
  const gone = new Set(nodeListFacts(cluster.nodes).departing);
  for (const node of cluster.nodes.values()) {
    const zone = node.labels[ZONE_LABEL];
    if (zone === undefined || gone.has(node) || seen.state.deleting.has(node.name) || !zones.has(zonePart(zone))) continue;
    const count = counts.get(zonePart(zone)) ?? { zone, unready: 0, nodes: 0 };
    count.nodes += 1;
    counts.set(zonePart(zone), count);
  }
  for (const { labels } of unready) {
    const count = counts.get(zonePart(labels[ZONE_LABEL] ?? ''));
    if (count !== undefined) count.unready += 1;
  }
  const down = [...counts].filter(([, count]) => count.unready >= FEWEST_UNREADY && count.unready * 2 > count.nodes);
  return down.length === 0 || down.length === counts.size ? NONE : new Map(down);
}

/** The zones in which a new node may come, by their last parts. */
export function zonesOf({ template, zones }: Pick<NodeGroup, 'template' | 'zones'>): readonly string[] {
  return (template?.zones ?? zones).map(zonePart);
}

/** Whether all is well but for zones that are down: then it is known what the cause is, and that the nodes elsewhere work. */
function isWellElsewhere(seen: Seen): boolean {
  const down = [...zoneOutages(seen).values()];
  if (down.length === 0) return false;
  const { total } = countNodes(seen);
  const unready = total.unready - down.reduce((sum, zone) => sum + zone.unready, 0);
  const registered = total.registered - down.reduce((sum, zone) => sum + zone.nodes, 0);
  // guard: a zone that is down lets others grow only if most of their nodes work
  return registered > 0 && unready <= seen.policy.cluster.maxUnreadyShare * registered;
}

/** Why no node at all is requested at present, in the order in which plans check it; undefined: nothing is against it. Nodes are not removed then, see `clusterProblem`. */
export function reasonNotToAct(observation: Observation, state: LoopState, policy: Policy): string | undefined {
  const { cloud, cluster } = observation;
  const stale = cloud.scaleUpBlocked ?? stalenessProblem(cluster, policy.scaleUp.maxClusterStalenessMs);
  if (stale !== undefined) return stale;
  const problem = clusterProblem(observation, state, policy);
  return problem?.kind === 'sick' && isWellElsewhere({ observation, state, policy }) ? undefined : problem?.detail;
}
