/** How many nodes may be added: limits of the whole cluster and of one plan. A limit of 0 is no limit. */
import type { Node } from '../../../domain/node.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import type { CloudQuota } from '../../../domain/quotas-and-prices.ts';
import type { ClusterLimit, ExceededQuota, SkipReason } from '../../../domain/reasons.ts';
import { CPU, MEMORY } from '../../../domain/resources.ts';
import { exceededBy, isVirtual, nodesByRooms, occupyRooms, type QuotaRoom } from '../../capacity-objects/capacity-quotas.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';

/** What is left of each limit; Infinity where there is none. */
export interface Headroom {
  readonly nodes: number;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly thisPlan: number;
  /** By name; what this plan takes counts as used. */
  readonly quotas: ReadonlyMap<string, CloudQuota>;
  /** What the cluster's own quotas have left. */
  readonly rooms: readonly QuotaRoom[];
}

type Sized = Pick<Node | NodeTemplate, 'capacity' | 'labels'> & Pick<NodeTemplate, 'draws'>;

export function fullHeadroom(policy: ScaleUpPolicy, quotas: readonly CloudQuota[] = [], rooms: readonly QuotaRoom[] = []): Headroom {
  return {
    nodes: orInfinity(policy.maxNodesTotal),
    cpuMillis: orInfinity(policy.maxCoresTotal) * 1000,
    memoryBytes: orInfinity(policy.maxMemoryTotalBytes),
    thisPlan: orInfinity(policy.maxNodesPerScaleUp),
    quotas: new Map(quotas.map((quota) => [quota.name, quota])),
    rooms,
  };
}

/**
 * Counts nodes that are there or on their way against the cluster's limits: the plan's are its own, and the cloud counts its quotas.
 * Virtual nodes count as nodes, and what they claim to have as nothing.
 */
export function countPresentNodes(room: Headroom, node: Sized, count: number): Headroom {
  const machines = isVirtual(node.labels) ? 0 : count;
  return {
    nodes: room.nodes - count,
    cpuMillis: room.cpuMillis - machines * (node.capacity[CPU] ?? 0),
    memoryBytes: room.memoryBytes - machines * (node.capacity[MEMORY] ?? 0),
    thisPlan: room.thisPlan,
    quotas: room.quotas,
    rooms: occupyRooms(room.rooms, node, count),
  };
}

/** Counts newly planned nodes against every limit. Without a template their size is not known and only they are counted. */
export function countPlannedNodes(room: Headroom, node: Sized | undefined, count: number): Headroom {
  const occupied = node === undefined ? { ...room, nodes: room.nodes - count } : countPresentNodes(room, node, count);
  return { ...occupied, thisPlan: room.thisPlan - count, quotas: drawQuotas(room.quotas, node, count) };
}

/** Never negative. */
export function nodesAllowed(room: Headroom, node: Sized | undefined): number {
  const cpu = node?.capacity[CPU] ?? 0;
  const memory = node?.capacity[MEMORY] ?? 0;
  const byCpu = cpu > 0 ? Math.floor(room.cpuMillis / cpu) : Number.POSITIVE_INFINITY;
  const byMemory = memory > 0 ? Math.floor(room.memoryBytes / memory) : Number.POSITIVE_INFINITY;
  return Math.max(
    0,
    Math.min(
      room.nodes,
      room.thisPlan,
      byCpu,
      byMemory,
      node === undefined ? Infinity : nodesByRooms(room.rooms, node),
      ...byQuota(room, node),
    ),
  );
}

function byQuota({ quotas }: Headroom, node: Sized | undefined): readonly number[] {
  return (node?.draws ?? []).flatMap(({ quota, cores }) => {
    const known = quotas.get(quota);
    return known === undefined || cores <= 0 ? [] : [Math.floor((known.limit - known.used) / cores)];
  });
}

function drawQuotas(quotas: Headroom['quotas'], node: Sized | undefined, count: number): Headroom['quotas'] {
  const draws = node?.draws ?? [];
  if (draws.length === 0 || quotas.size === 0) return quotas;
  const after = new Map(quotas);
  for (const { quota, cores } of draws) {
    const known = after.get(quota);
    if (known !== undefined) after.set(quota, { ...known, used: known.used + count * cores });
  }
  return after;
}

/**
 * The limits of the cluster that not one more such node keeps (all of them, so that none is raised in vain), or else the
 * quota of the cloud that it would not fit, if any.
 */
export function exceededLimit(room: Headroom, node: Sized, policy: ScaleUpPolicy): SkipReason | undefined {
  const limits = [
    limitOn('nodes', { value: policy.maxNodesTotal, left: room.nodes, needs: 1 }),
    limitOn('cores', { value: policy.maxCoresTotal, left: room.cpuMillis / 1000, needs: (node.capacity[CPU] ?? 0) / 1000 }),
    limitOn('memory', { value: policy.maxMemoryTotalBytes, left: room.memoryBytes, needs: node.capacity[MEMORY] ?? 0 }),
  ];
  const [first, ...also] = limits.filter(({ value, used, needs }) => value > 0 && used + needs > value);
  const exceeded = exceededBy(room.rooms, node);
  // With quotas of the cluster in play the limits of all of it are one more of them, so that all are told together.
  if (exceeded.length > 0 && first !== undefined) return { kind: 'capacity-quota', exceeded: [asQuota([first, ...also]), ...exceeded] };
  if (exceeded.length > 0) return { kind: 'capacity-quota', exceeded };
  if (first !== undefined) return { kind: 'cluster-limit', ...first, ...(also.length === 0 ? {} : { also }) };
  for (const { quota, cores } of node.draws ?? []) {
    const known = room.quotas.get(quota);
    if (known === undefined || known.used + cores <= known.limit) continue;
    return { kind: 'quota', quota: known.title, used: known.used, limit: known.limit, needs: cores };
  }
  return undefined;
}

/** Without a limit nothing is used of it. */
function limitOn(
  limit: ClusterLimit['limit'],
  { value, left, needs }: { readonly value: number; readonly left: number; readonly needs: number },
): ClusterLimit {
  return { limit, value, used: value > 0 ? value - left : 0, needs };
}

function asQuota(limits: readonly ClusterLimit[]): ExceededQuota {
  return {
    quota: 'cluster-wide',
    resources: limits.map(({ limit }) => (limit === 'cores' ? 'cpu' : limit)),
    short: limits.map(({ value, used, needs }) => ({ left: value - used, needs })),
  };
}

/** Why a group that grows to its maximum or not at all cannot: not all the nodes that it `needs` are allowed. */
export function atomicLimitReason(room: Headroom, node: Sized, needs: number): SkipReason | undefined {
  const allowed = nodesAllowed(room, node);
  return allowed < needs ? { kind: 'atomic-limit', needs, allowed } : undefined;
}

function orInfinity(limit: number): number {
  return limit > 0 ? limit : Number.POSITIVE_INFINITY;
}
