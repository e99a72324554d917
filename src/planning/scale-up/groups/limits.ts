/**
 * How many nodes may be added by the limits of the cluster, of one plan, and of quotas. A limit of 0 means no limit. A node inside reserved
 * capacity needs no quota.
 */
import type { Node } from '../../../domain/node.ts';
import type { CloudView, ClusterView } from '../../../domain/observation.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import type { CloudQuota, ReservedCapacity } from '../../../domain/quotas-and-prices.ts';
import type { ClusterLimit, ExceededQuota, SkipReason } from '../../../domain/reasons.ts';
import { CPU, MEMORY } from '../../../domain/resources.ts';
import {
  exceededQuotas,
  isVirtual,
  nodesWithinQuotas,
  takeQuotaHeadroom,
  type QuotaHeadroom,
} from '../../capacity-objects/capacity-quotas.ts';
import { defined } from '../../../lib/defined.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';

/** What is left of each limit; `Infinity` if it is not set. */
export interface Headroom {
  readonly nodes: number;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly thisPlan: number;
  /** Cloud quotas by name. What this plan takes counts as used. */
  readonly quotas: ReadonlyMap<string, CloudQuota>;
  /** Reserved capacity by name. What this plan takes counts as used. */
  readonly reservations: ReadonlyMap<string, ReservedCapacity>;
  /** What is left of the cluster's CapacityQuotas. */
  readonly rooms: readonly QuotaHeadroom[];
}

type Sized = Pick<Node | NodeTemplate, 'capacity' | 'labels'> & Pick<NodeTemplate, 'draws' | 'reservations'>;

export function fullHeadroom(
  policy: ScaleUpPolicy,
  { quotas = [], reservations = [] }: Pick<CloudView, 'quotas' | 'reservations'> = {},
  rooms: readonly QuotaHeadroom[] = [],
): Headroom {
  return {
    nodes: orInfinity(policy.maxNodesTotal),
    cpuMillis: orInfinity(policy.maxCoresTotal) * 1000,
    memoryBytes: orInfinity(policy.maxMemoryTotalBytes),
    thisPlan: orInfinity(policy.maxNodesPerScaleUp),
    quotas: new Map(quotas.map((quota) => [quota.name, quota])),
    reservations: new Map(reservations.map((reservation) => [reservation.name, reservation])),
    rooms,
  };
}

/**
 * Counts present or upcoming nodes against the limits of the cluster. The plan's limit is for new nodes, and the cloud itself
 * counts its quotas. Virtual nodes count as nodes, but their resources do not count.
 */
export function countPresentNodes(room: Headroom, node: Sized, count: number): Headroom {
  const realNodes = isVirtual(node.labels) ? 0 : count;
  return {
    nodes: room.nodes - count,
    cpuMillis: room.cpuMillis - realNodes * (node.capacity[CPU] ?? 0),
    memoryBytes: room.memoryBytes - realNodes * (node.capacity[MEMORY] ?? 0),
    thisPlan: room.thisPlan,
    quotas: room.quotas,
    reservations: room.reservations,
    rooms: takeQuotaHeadroom(room.rooms, node, count),
  };
}

/** The same for all nodes of a view. Without CapacityQuotas only their sums count. */
export function countPresentCluster(room: Headroom, nodes: ClusterView['nodes']): Headroom {
  if (room.rooms.length === 0) {
    const { cpuMillis, memoryBytes } = sumsOf(nodes);
    return { ...room, nodes: room.nodes - nodes.size, cpuMillis: room.cpuMillis - cpuMillis, memoryBytes: room.memoryBytes - memoryBytes };
  }
  let left = room;
  for (const node of nodes.values()) left = countPresentNodes(left, node, 1);
  return left;
}

type Sums = Pick<Headroom, 'cpuMillis' | 'memoryBytes'>;

/** The view keeps its map while no node changed. */
const sums = new WeakMap<ClusterView['nodes'], Sums>();

function sumsOf(nodes: ClusterView['nodes']): Sums {
  const known = sums.get(nodes);
  if (known !== undefined) return known;
  let [cpuMillis, memoryBytes] = [0, 0];
  for (const { labels, capacity } of nodes.values()) {
    if (isVirtual(labels)) continue;
    cpuMillis += capacity[CPU] ?? 0;
    memoryBytes += capacity[MEMORY] ?? 0;
  }
  sums.set(nodes, { cpuMillis, memoryBytes });
  return { cpuMillis, memoryBytes };
}

/** Counts new nodes against every limit. Without a template their size is unknown, so only their number counts. */
export function countPlannedNodes(room: Headroom, node: Sized | undefined, count: number): Headroom {
  const occupied = node === undefined ? { ...room, nodes: room.nodes - count } : countPresentNodes(room, node, count);
  const inReservations = Math.min(count, reservedNodes(room, node));
  return {
    ...occupied,
    thisPlan: room.thisPlan - count,
    quotas: drawQuotas(room.quotas, node, count - inReservations),
    // guard: two pools do not both use the same reserved capacity
    reservations: takeReserved(room.reservations, node, inReservations),
  };
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
      node === undefined ? Infinity : nodesWithinQuotas(room.rooms, node),
      ...byQuota(room, node),
    ),
  );
}

function byQuota(room: Headroom, node: Sized | undefined): readonly number[] {
  const inReservations = reservedNodes(room, node);
  return (node?.draws ?? []).flatMap(({ quota, cores }) => {
    const known = room.quotas.get(quota);
    // guard: a quota that is exceeded takes nothing from reserved capacity
    return known === undefined || cores <= 0 ? [] : [inReservations + Math.max(0, Math.floor((known.limit - known.used) / cores))];
  });
}

/**
 * How many such nodes fit into reserved capacity, wherever they come. A node may come in any zone of its group, so the zone with the least
 * unused capacity decides; a zone without a reservation has none.
 */
function reservedNodes({ reservations }: Pick<Headroom, 'reservations'>, node: Pick<NodeTemplate, 'reservations'> | undefined): number {
  const names = node?.reservations ?? [];
  if (names.length === 0) return 0;
  // guard: a node that may come in several zones fits into reserved capacity only if each of them has some
  return Math.min(...names.map((name) => unusedOf(reservations.get(name))));
}

function unusedOf(reservation: ReservedCapacity | undefined): number {
  return reservation === undefined ? 0 : Math.max(0, reservation.reserved - reservation.used);
}

/** The zones of the nodes are unknown, so they count in each. */
function takeReserved(reservations: Headroom['reservations'], node: Sized | undefined, count: number): Headroom['reservations'] {
  if (count === 0) return reservations;
  const after = new Map(reservations);
  for (const name of node?.reservations ?? []) {
    const known = after.get(name);
    if (known !== undefined) after.set(name, { ...known, used: known.used + count });
  }
  return after;
}

/** The reserved capacity that has the least left. undefined: the node can use none. */
function scarcestReservation(
  { reservations }: Pick<Headroom, 'reservations'>,
  names: readonly string[] = [],
): QuotaReservation | undefined {
  const known = names.flatMap((name) => reservations.get(name) ?? []);
  const [scarcest] = known.sort((left, right) => unusedOf(left) - unusedOf(right));
  if (scarcest === undefined) return undefined;
  const { name: _name, ...reservation } = scarcest;
  return reservation;
}

type QuotaReservation = Omit<ReservedCapacity, 'name'>;

/** What is reserved for the next nodes of a template, and how many of them fit into it. undefined: nothing is. */
export function reservedRoom(
  reserved: readonly ReservedCapacity[],
  template: Pick<NodeTemplate, 'reservations'> | undefined,
): (QuotaReservation & { readonly room: number }) | undefined {
  const room = { reservations: new Map(reserved.map((reservation) => [reservation.name, reservation])) };
  const scarcest = scarcestReservation(room, template?.reservations);
  return scarcest === undefined ? undefined : { ...scarcest, room: reservedNodes(room, template) };
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
 * All limits of the cluster that one more such node would exceed, so that users do not increase one in vain; else the cloud quota
 * that it would exceed.
 */
export function exceededLimit(room: Headroom, node: Sized, policy: ScaleUpPolicy): SkipReason | undefined {
  const limits = [
    limitOn('nodes', { value: policy.maxNodesTotal, left: room.nodes, needs: 1 }),
    limitOn('cores', { value: policy.maxCoresTotal, left: room.cpuMillis / 1000, needs: (node.capacity[CPU] ?? 0) / 1000 }),
    limitOn('memory', { value: policy.maxMemoryTotalBytes, left: room.memoryBytes, needs: node.capacity[MEMORY] ?? 0 }),
  ];
  const [first, ...also] = limits.filter(({ value, used, needs }) => value > 0 && used + needs > value);
  const exceeded = exceededQuotas(room.rooms, node);
  // Beside CapacityQuotas the cluster's limits count as one more quota, so that all are reported together.
  if (exceeded.length > 0 && first !== undefined) return { kind: 'capacity-quota', exceeded: [asQuota([first, ...also]), ...exceeded] };
  if (exceeded.length > 0) return { kind: 'capacity-quota', exceeded };
  if (first !== undefined) return { kind: 'cluster-limit', ...first, ...(also.length === 0 ? {} : { also }) };
  if (reservedNodes(room, node) > 0) return undefined;
  const reservation = scarcestReservation(room, node.reservations);
  for (const { quota, cores } of node.draws ?? []) {
    const known = room.quotas.get(quota);
    if (known === undefined || known.used + cores <= known.limit) continue;
    return { kind: 'quota', quota: known.title, used: known.used, limit: known.limit, needs: cores, ...defined({ reservation }) };
  }
  return undefined;
}

/** If there is no limit, nothing of it is used. */
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

/** Why a zero-or-max group cannot grow: the limits do not allow all `needs` nodes. */
export function atomicLimitReason(room: Headroom, node: Sized, needs: number): SkipReason | undefined {
  const allowed = nodesAllowed(room, node);
  return allowed < needs ? { kind: 'atomic-limit', needs, allowed } : undefined;
}

function orInfinity(limit: number): number {
  return limit > 0 ? limit : Number.POSITIVE_INFINITY;
}
