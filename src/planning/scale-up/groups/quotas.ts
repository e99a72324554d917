/**
 * How many nodes a plan may add: one list of quotas for the limits of the cluster, its CapacityQuotas, the cloud's quotas, pools that several
 * groups share, and the plan itself. A node inside reserved capacity needs no quota of the cloud.
 */
import { isWhole, startableInstances, type NodeGroup } from '../../../domain/node-group.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';
import type { CloudView, Observation } from '../../../domain/observation.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import type { ReservedCapacity } from '../../../domain/quotas-and-prices.ts';
import type { ClusterLimit, ExceededQuota, SkipReason } from '../../../domain/reasons.ts';
import { CPU, MEMORY, type ResourceNames } from '../../../domain/resources.ts';
import { defined } from '../../../lib/defined.ts';
import { quotasOfObjects } from '../../capacity-objects/capacity-quotas.ts';
import { paidAmong, type PaidLeft, paidLeft, takePaid } from '../../facts/paid-nodes.ts';
import { type CountedNode, type Quota, type UsedBy, isVirtual, usedByAll } from '../../capacity-objects/quota.ts';

/** What limits leave while a plan is made. */
export interface QuotaRoom {
  readonly quotas: readonly Quota[];
  /** By name. What this plan takes counts as used. */
  readonly reserved: ReadonlyMap<string, ReservedCapacity>;
  /** Stopped instances that are started before others are created: the cloud counts them as used already. */
  readonly startable: ReadonlyMap<NodeGroup['id'], number>;
  /** Further nodes that cost nothing. They limit nothing, and are used up in the same way. */
  readonly paid: PaidLeft;
}

/** A new node of a group. Without a template, its size and labels are unknown. */
interface NewNode {
  readonly group: NodeGroup;
  readonly template: NodeTemplate | undefined;
}

interface QuotaRoomInput {
  readonly observation: Pick<Observation, 'cluster' | 'cloud'>;
  readonly policy: ScaleUpPolicy;
  readonly names: ResourceNames;
}

/** What is left beside present nodes and nodes on their way. The cloud counts these itself, and they are no nodes of the plan. */
export function quotaRoomBeside(upcoming: Iterable<CountedNode>, { observation, policy, names }: QuotaRoomInput): QuotaRoom {
  const { cluster, cloud } = observation;
  const ofCluster = [...clusterLimits(policy), ...quotasOfObjects(cluster.capacity.quotas, names)];
  const coming = [...upcoming];
  const beside = ofCluster.map((quota) => {
    const used = usedByPresent(cluster.nodes, quota.usedBy) + usedByAll(coming, quota.usedBy);
    return { ...quota, left: quota.left - used };
  });
  return {
    quotas: [...planLimit(policy), ...poolLimits(cloud.groups), ...beside, ...cloudQuotas(cloud)],
    startable: new Map(cloud.groups.flatMap((group) => (startableInstances(group) === 0 ? [] : [[group.id, startableInstances(group)]]))),
    ...freeRoom(policy, { cluster, cloud }),
  };
}

/** Further nodes that cost nothing: those that are paid already, and those inside reserved capacity, which costs the same without them. */
export type FreeRoom = Pick<QuotaRoom, 'reserved' | 'paid'>;

export function freeRoom({ paidNodes }: Pick<ScaleUpPolicy, 'paidNodes'>, observation: Pick<Observation, 'cluster' | 'cloud'>): FreeRoom {
  return { reserved: byName(observation.cloud.reservations), paid: paidLeft(paidNodes, observation) };
}

/** Whether any node can cost nothing. */
export function hasFreeNodes({ reserved, paid }: FreeRoom): boolean {
  return reserved.size > 0 || paid.size > 0;
}

/** How many of `nodes` new nodes of the group cost nothing. A count that is paid may be that of the reserved capacity. */
export function freeAmong({ reserved, paid }: FreeRoom, { group, template }: NewNode, nodes: number): number {
  return Math.max(paidAmong(paid, group, nodes), Math.min(nodes, nodesInReserved(reserved, template)));
}

/** What is left after `nodes` new nodes of the group. */
export function takeFree({ reserved, paid }: FreeRoom, { group, template }: NewNode, nodes: number): FreeRoom {
  const inReserved = Math.min(nodes, nodesInReserved(reserved, template));
  return { reserved: takeReserved(reserved, template, inReserved), paid: takePaid(paid, group, nodes) };
}

// A limit of 0 means no limit.

const one: UsedBy = () => 1;
const cpuMillis: UsedBy = (node) => (node === undefined || isVirtual(node.labels) ? 0 : (node.capacity[CPU] ?? 0));
const memoryBytes: UsedBy = (node) => (node === undefined || isVirtual(node.labels) ? 0 : (node.capacity[MEMORY] ?? 0));

function planLimit({ maxNodesPerScaleUp: limit }: ScaleUpPolicy): readonly Quota[] {
  return limit > 0 ? [{ kind: 'plan', id: 'plan', resource: 'nodes', limit, left: limit, usedBy: one }] : [];
}

function clusterLimits({ maxNodesTotal, maxCoresTotal, maxMemoryTotalBytes }: ScaleUpPolicy): readonly Quota[] {
  return [
    { resource: 'nodes', limit: maxNodesTotal, usedBy: one },
    { resource: 'cpu', limit: maxCoresTotal * 1000, usedBy: cpuMillis },
    { resource: 'memory', limit: maxMemoryTotalBytes, usedBy: memoryBytes },
  ].flatMap((quota) => (quota.limit > 0 ? [{ kind: 'cluster', id: 'cluster-wide', left: quota.limit, ...quota }] : []));
}

/** If the groups of a pool see different room, the least counts: one of them knows of an increase that the others do not see yet. */
function poolLimits(groups: readonly NodeGroup[]): readonly Quota[] {
  const pools = new Map<string, Quota>();
  for (const { sharedPool } of groups) {
    if (sharedPool === undefined) continue;
    const { name: id, limit, room } = sharedPool;
    const left = Math.min(room, pools.get(id)?.left ?? Infinity);
    const usedBy: UsedBy = (_node, group) => (group?.sharedPool?.name === id ? 1 : 0);
    pools.set(id, { kind: 'pool', id, resource: 'nodes', limit, left, usedBy });
  }
  return [...pools.values()];
}

/** Of the quotas that any group draws on: a subscription has hundreds. */
function cloudQuotas({ quotas, groups }: Pick<CloudView, 'quotas' | 'groups'>): readonly Quota[] {
  const drawn = new Set(groups.flatMap(({ template }) => (template?.draws ?? []).map(({ quota }) => quota)));
  return quotas.flatMap(({ name, title, limit, used }) => {
    const usedBy: UsedBy = (node) => node?.draws?.find(({ quota }) => quota === name)?.cores ?? 0;
    return drawn.has(name) ? [{ kind: 'cloud', id: name, resource: title, limit, left: limit - used, usedBy }] : [];
  });
}

/** The view keeps its map while no node changed. */
const known = new WeakMap<Observation['cluster']['nodes'], WeakMap<UsedBy, number>>();

function usedByPresent(nodes: Observation['cluster']['nodes'], usedBy: UsedBy): number {
  const sums = known.get(nodes) ?? new WeakMap<UsedBy, number>();
  known.set(nodes, sums);
  const sum = sums.get(usedBy) ?? usedByAll(nodes.values(), usedBy);
  sums.set(usedBy, sum);
  return sum;
}

/** Counts new nodes against every limit. */
export function takeNodes(room: QuotaRoom, { group, template }: NewNode, count: number): QuotaRoom {
  const { quotas, reserved, paid } = room;
  const started = Math.min(count, room.startable.get(group.id) ?? 0);
  const startable =
    started === 0 ? room.startable : new Map([...room.startable, [group.id, (room.startable.get(group.id) ?? 0) - started]]);
  const inReserved = Math.min(count - started, nodesInReserved(reserved, template));
  const take = (quota: Quota): Quota => {
    const used = (quota.kind === 'cloud' ? count - started - inReserved : count) * quota.usedBy(template, group);
    return used === 0 ? quota : { ...quota, left: quota.left - used };
  };
  // guard: two pools do not both use the same reserved capacity
  const reservedLeft = takeReserved(reserved, template, inReserved);
  // guard: two pools do not both use the same paid nodes
  const left = takePaid(paid, group, count);
  return { quotas: quotas.map(take), reserved: reservedLeft, startable, paid: left };
}

/** How many such nodes all limits allow. Never negative. */
export function nodesAllowed({ quotas, reserved, startable }: QuotaRoom, { group, template }: NewNode): number {
  // guard: a stopped instance needs no quota a second time
  const counted = nodesInReserved(reserved, template) + (startable.get(group.id) ?? 0);
  let allowed = Infinity;
  for (const { kind, left, usedBy } of quotas) {
    const needs = usedBy(template, group);
    if (needs <= 0) continue;
    // guard: a quota that is exceeded takes nothing from reserved capacity
    const nodes = Math.max(0, Math.floor(left / needs));
    allowed = Math.min(allowed, kind === 'cloud' ? counted + nodes : nodes);
  }
  return allowed;
}

/** Whether the plan has as many new nodes as one plan may have. */
export function isPlanFull({ quotas }: QuotaRoom): boolean {
  return quotas.some(({ kind, left }) => kind === 'plan' && left < 1);
}

/**
 * Why a group of that size cannot grow at all: the limit of its pool, else all limits of the cluster that one more node would exceed, so
 * that users do not increase one in vain, else the cloud quota. A zero-or-max group needs room for all its nodes.
 */
export function limitReason(room: QuotaRoom, node: NewNode & { readonly template: NodeTemplate }, size: number): SkipReason | undefined {
  const { group } = node;
  const exceeded = exceededLimit(room, node);
  if (exceeded !== undefined || !isWhole(group)) return exceeded;
  const [needs, allowed] = [group.maxSize - size, nodesAllowed(room, node)];
  return allowed < needs ? { kind: 'atomic-limit', needs, allowed } : undefined;
}

type ShortQuota = Quota & { readonly needs: number };

function exceededLimit({ quotas, reserved, startable }: QuotaRoom, { group, template }: NewNode): SkipReason | undefined {
  const short = quotas
    .map((quota): ShortQuota => ({ ...quota, needs: quota.usedBy(template, group) }))
    .filter(({ needs, left }) => needs > 0 && needs > left);
  const shortOf = (kind: Quota['kind']): readonly ShortQuota[] => short.filter((quota) => quota.kind === kind);
  const [pool] = shortOf('pool');
  if (pool !== undefined) return { kind: 'pool-limit', limit: pool.limit, max: group.maxSize };
  const ofCluster = shortOf('cluster').map(inWholeCores);
  const objects = shortOf('capacity-quota');
  // Beside CapacityQuotas the cluster's limits count as one more quota, so that all are reported together.
  if (objects.length > 0) return { kind: 'capacity-quota', exceeded: exceededQuotas([...ofCluster, ...objects]) };
  const [first, ...also] = ofCluster.map(asClusterLimit);
  if (first !== undefined) return { kind: 'cluster-limit', ...first, ...(also.length === 0 ? {} : { also }) };
  if (nodesInReserved(reserved, template) > 0 || (startable.get(group.id) ?? 0) > 0) return undefined;
  const ofCloud = shortOf('cloud');
  const drawn = template?.draws.find(({ quota }) => ofCloud.some(({ id }) => id === quota));
  const cloud = ofCloud.find(({ id }) => id === drawn?.quota);
  if (cloud === undefined) return undefined;
  const { resource: quota, limit, left, needs } = cloud;
  return { kind: 'quota', quota, used: limit - left, limit, needs, ...defined({ reservation: scarcestReserved(reserved, template) }) };
}

function inWholeCores(short: ShortQuota): ShortQuota {
  const { resource, limit, left, needs } = short;
  return resource === 'cpu' ? { ...short, limit: limit / 1000, left: left / 1000, needs: needs / 1000 } : short;
}

const LIMIT_NAMES: Readonly<Record<string, ClusterLimit['limit']>> = { cpu: 'cores', memory: 'memory' };

function asClusterLimit({ resource, limit: value, left, needs }: ShortQuota): ClusterLimit {
  return { limit: LIMIT_NAMES[resource] ?? 'nodes', value, used: value - left, needs };
}

/** One entry for each id, with all its short resources. */
function exceededQuotas(short: readonly ShortQuota[]): readonly ExceededQuota[] {
  return [...Map.groupBy(short, ({ id }) => id)].map(([quota, parts]) => ({
    quota,
    resources: parts.map(({ resource }) => resource),
    short: parts.map(({ left, needs }) => ({ left, needs })),
  }));
}

// Capacity that is reserved in Azure.

type ReservedByName = QuotaRoom['reserved'];
type WithReserved = Pick<NodeTemplate, 'reservations'> | undefined;
type UnnamedReserved = Omit<ReservedCapacity, 'name'>;

function byName(reserved: readonly ReservedCapacity[]): ReservedByName {
  return new Map(reserved.map((each) => [each.name, each]));
}

/**
 * How many such nodes fit into reserved capacity, wherever they come. A node may come in any zone of its group, so the zone with the least
 * unused capacity decides; a zone without a reservation has none.
 */
function nodesInReserved(reserved: ReservedByName, template: WithReserved): number {
  const names = template?.reservations ?? [];
  // guard: a node that may come in several zones fits into reserved capacity only if each of them has some
  return names.length === 0 ? 0 : Math.min(...names.map((name) => unusedOf(reserved.get(name))));
}

function unusedOf(reserved: ReservedCapacity | undefined): number {
  return reserved === undefined ? 0 : Math.max(0, reserved.reserved - reserved.used);
}

/** The zones of the nodes are unknown, so they count in each. */
function takeReserved(reserved: ReservedByName, template: WithReserved, count: number): ReservedByName {
  if (count === 0) return reserved;
  const taken = (template?.reservations ?? []).flatMap((name) => reserved.get(name) ?? []);
  return new Map([...reserved, ...byName(taken.map((each) => ({ ...each, used: each.used + count })))]);
}

/** The reserved capacity that has the least left. undefined: the node can use none. */
function scarcestReserved(reserved: ReservedByName, template: WithReserved): UnnamedReserved | undefined {
  const usable = (template?.reservations ?? []).flatMap((name) => reserved.get(name) ?? []);
  const [scarcest] = usable.sort((left, right) => unusedOf(left) - unusedOf(right));
  if (scarcest === undefined) return undefined;
  const { name: _name, ...unnamed } = scarcest;
  return unnamed;
}

/** What is reserved for the next nodes of a template, and how many of them fit into it. undefined: nothing is. */
export function reservedFor(
  capacity: readonly ReservedCapacity[],
  template: WithReserved,
): (UnnamedReserved & { readonly room: number }) | undefined {
  const reserved = byName(capacity);
  const scarcest = scarcestReserved(reserved, template);
  return scarcest === undefined ? undefined : { ...scarcest, room: nodesInReserved(reserved, template) };
}
