/**
 * Nodes that are paid for whether they run or not: reservations and savings plans, as counts of a VM size in the configuration. A count is used
 * like a quota: the nodes of the cluster use it first, then new nodes, which cost nothing until it is used up. Spot nodes never use it. Pure.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { PaidNodes } from '../../domain/policy.ts';
import { compareBy } from '../../lib/comparison.ts';
import { factsOfGroups } from './group-facts.ts';

const SIZE_LABEL = 'node.kubernetes.io/instance-type';
const PRIORITY_LABEL = 'kubernetes.azure.com/scalesetpriority';

/** By VM size in lower case: how many more nodes cost nothing. Sizes that are not paid are absent. */
export type PaidLeft = ReadonlyMap<string, number>;

/** How the paid nodes of one size are used. */
export interface PaidUse<Id extends string = NodeGroupId> {
  /** As configured, in lower case. */
  readonly size: string;
  readonly count: number;
  /** Regular nodes of the size, with requested ones. May be above `count`. */
  readonly running: number;
  /** Paid, and used by no node. */
  readonly idle: number;
  /** Of the running nodes, those that cost nothing, by group. Nodes outside the groups use the count first, then groups by id. */
  readonly covered: ReadonlyMap<Id, number>;
}

export type Seen = Pick<Observation, 'cluster' | 'cloud'>;
type PaidGroup = Pick<NodeGroup, 'vmSize' | 'priority'>;

/** One entry for each configured size. */
export function paidUses(paid: readonly PaidNodes[] = [], observation: Seen): readonly PaidUse[] {
  if (paid.length === 0) return [];
  const outside = countOutside(observation);
  return paid.map(({ size, count }) => useOf({ size, count }, observation, outside.get(size) ?? 0));
}

export function paidLeft(paid: readonly PaidNodes[] | undefined, observation: Seen): PaidLeft {
  return new Map(paidUses(paid, observation).map(({ size, idle }) => [size, idle]));
}

/** How many of `nodes` new nodes of the group cost nothing. */
export function paidAmong(left: PaidLeft, group: PaidGroup, nodes: number): number {
  // guard: a Spot node uses no paid node
  if (group.priority === 'Spot') return 0;
  return Math.min(nodes, left.get(group.vmSize.toLowerCase()) ?? 0);
}

/** What is left after `nodes` new nodes of the group. */
export function takePaid(left: PaidLeft, group: PaidGroup, nodes: number): PaidLeft {
  const taken = paidAmong(left, group, nodes);
  const size = group.vmSize.toLowerCase();
  return taken === 0 ? left : new Map([...left, [size, (left.get(size) ?? 0) - taken]]);
}

/** What new nodes cost per hour if `free` of them cost nothing. undefined: one of them costs money, and its price is unknown. */
export function costOfNew(nodes: number, free: number, price: number | undefined): number | undefined {
  const bought = Math.max(0, nodes - free);
  if (bought === 0) return 0;
  return price === undefined ? undefined : bought * price;
}

function useOf(paid: PaidNodes, observation: Seen, outside: number): PaidUse {
  const facts = factsOfGroups(observation);
  const groups = observation.cloud.groups
    .filter(({ vmSize, priority }) => priority === 'Regular' && vmSize.toLowerCase() === paid.size)
    .map(({ id, target }) => ({ id, nodes: Math.max(facts.get(id)?.nodes ?? 0, target.known ? target.value : 0) }));
  return coveredByPaid(paid, groups, outside);
}

/** How regular nodes of one size use a count. `outside`: those that belong to none of the groups. */
export function coveredByPaid<Id extends string>(
  { size, count }: PaidNodes,
  groups: readonly { readonly id: Id; readonly nodes: number }[],
  outside: number,
): PaidUse<Id> {
  let running = outside;
  const covered = new Map<Id, number>();
  for (const { id, nodes } of groups.toSorted(compareBy((group) => group.id))) {
    covered.set(id, Math.max(0, Math.min(nodes, count - running)));
    running += nodes;
  }
  return { size, count, running, idle: Math.max(0, count - running), covered };
}

/** Regular nodes that belong to no group, by size in lower case: they run anyway, so that they use paid nodes first. */
function countOutside({ cluster, cloud }: Seen): ReadonlyMap<string, number> {
  const groups = new Set(cloud.groups.map(({ id }) => id));
  const counts = new Map<string, number>();
  for (const node of cluster.nodes.values()) {
    const group = cloud.groupOfNode.get(node.name);
    const size = regularSizeOf(node);
    if (size === undefined || (group !== undefined && groups.has(group))) continue;
    counts.set(size, (counts.get(size) ?? 0) + 1);
  }
  return counts;
}

function regularSizeOf({ labels }: Pick<Node, 'labels'>): string | undefined {
  return labels[PRIORITY_LABEL] === 'spot' ? undefined : labels[SIZE_LABEL]?.toLowerCase();
}
