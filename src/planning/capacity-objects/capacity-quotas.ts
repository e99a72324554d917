/**
 * What each capacity quota of the cluster has left while a plan is made. Upstream `resourcequotas`: limits apply to the capacity of nodes,
 * not to the requests of pods. Nodes that are there or upcoming count. Pure.
 */
import { type CapacityQuota, withCondition, type CapacityStatus } from '../../domain/capacity-objects.ts';
import { matchesSelector, type Labels, type LabelSelector } from '../../domain/labels.ts';
import type { ExceededQuota } from '../../domain/reasons.ts';
import { CPU, type ResourceNames, type Resources } from '../../domain/resources.ts';

/** What is left of one limit, in whole units. `index` is the place in the resource vector; undefined means that nodes are counted. */
interface ResourceHeadroom {
  readonly resource: string;
  readonly index: number | undefined;
  readonly left: number;
}

export interface QuotaHeadroom {
  readonly quota: string;
  readonly selector: LabelSelector;
  readonly parts: readonly ResourceHeadroom[];
}

interface MeasuredNode {
  readonly labels: Labels;
  readonly capacity: Resources;
}

/** The valid quotas with their whole limits. */
export function fullQuotaHeadroom(quotas: readonly CapacityQuota[], names: ResourceNames): readonly QuotaHeadroom[] {
  return quotas.flatMap((quota) =>
    quota.problem === undefined
      ? [
          {
            quota: `CapacityQuota/${quota.ref.name}`,
            selector: quota.selector,
            parts: Object.entries(quota.limits).map(([resource, left]) => ({ resource, index: indexOf(resource, names), left })),
          },
        ]
      : [],
  );
}

/** Counts so many equal nodes against the quotas. Returns the same list if no quota matches them. */
export function takeQuotaHeadroom(rooms: readonly QuotaHeadroom[], node: MeasuredNode, count: number): readonly QuotaHeadroom[] {
  if (rooms.length === 0 || count === 0 || isVirtual(node.labels)) return rooms;
  return rooms.map((room) => {
    if (!matchesSelector(room.selector, node.labels)) return room;
    return { ...room, parts: room.parts.map((part) => ({ ...part, left: part.left - count * amountOf(node.capacity, part.index) })) };
  });
}

/** How many such nodes all matching quotas allow. Infinity if none matches, never negative. */
export function nodesWithinQuotas(rooms: readonly QuotaHeadroom[], node: MeasuredNode): number {
  return headroomFor(rooms, node).reduce(
    (least, { parts }) => parts.reduce((fewest, part) => Math.min(fewest, nodesWithin(part, node)), least),
    Infinity,
  );
}

/** The quotas that do not allow one more such node, each with every short resource. */
export function exceededQuotas(rooms: readonly QuotaHeadroom[], node: MeasuredNode): readonly ExceededQuota[] {
  return headroomFor(rooms, node).flatMap(({ quota, parts }) => {
    const exceeded = parts.filter((part) => nodesWithin(part, node) < 1);
    const short = exceeded.map(({ left, index }) => ({ left, needs: amountOf(node.capacity, index) }));
    return exceeded.length === 0 ? [] : [{ quota, resources: exceeded.map(({ resource }) => resource), short }];
  });
}

/** What these nodes have of the resources that the quota limits, in whole units. */
function quotaUsage(quota: CapacityQuota, nodes: Iterable<MeasuredNode>, names: ResourceNames): Readonly<Record<string, number>> {
  const resources = Object.keys(quota.limits).sort();
  const indexes = resources.map((resource) => indexOf(resource, names));
  const sums = resources.map(() => 0);
  for (const { labels, capacity } of nodes) {
    if (isVirtual(labels) || !matchesSelector(quota.selector, labels)) continue;
    indexes.forEach((index, at) => (sums[at] = (sums[at] ?? 0) + amountOf(capacity, index)));
  }
  return Object.fromEntries(resources.map((resource, at) => [resource, sums[at] ?? 0]));
}

function headroomFor(rooms: readonly QuotaHeadroom[], node: MeasuredNode): readonly QuotaHeadroom[] {
  return rooms.filter(({ selector }) => matchesSelector(selector, node.labels));
}

function nodesWithin(part: ResourceHeadroom, { capacity }: MeasuredNode): number {
  const amount = amountOf(capacity, part.index);
  return amount > 0 ? Math.max(0, Math.floor(part.left / amount)) : Infinity;
}

function indexOf(resource: string, names: ResourceNames): number | undefined {
  return resource === 'nodes' ? undefined : names.indexOf(resource);
}

/** Cores are rounded up to whole ones, as upstream does. */
function amountOf(capacity: Resources, index: number | undefined): number {
  if (index === undefined) return 1;
  return index === CPU ? Math.ceil((capacity[CPU] ?? 0) / 1000) : (capacity[index] ?? 0);
}

/** Nodes without an instance of their own. */
export function isVirtual(labels: Labels): boolean {
  return labels['type'] === 'virtual-kubelet';
}

// The status that a quota should have, with the texts of upstream's quota controller.

const QUOTA_VALID = 'cluster-autoscaler.kubernetes.io/valid';
const RECONCILED = 'Reconciled';

/** Returns the present status itself if nothing changes. */
export function quotaStatus(quota: CapacityQuota, nodes: Iterable<MeasuredNode>, names: ResourceNames, nowMs: number): CapacityStatus {
  const { problem, ref } = quota;
  const observedGeneration = ref.generation;
  const valid = withCondition(
    quota.status,
    problem === undefined
      ? { type: QUOTA_VALID, status: 'True', reason: 'ValidationSucceeded', message: 'The quota is valid.', observedGeneration }
      : { type: QUOTA_VALID, status: 'False', reason: 'ValidationFailed', message: problem.message, observedGeneration },
    nowMs,
  );
  if (problem !== undefined) return valid;
  const reconciled = { type: RECONCILED, status: 'True', reason: 'ReconciliationSucceeded', message: 'The usage is current.' } as const;
  const told = withCondition(valid, { ...reconciled, observedGeneration }, nowMs);
  const used = quotaUsage(quota, nodes, names);
  return sameAmounts(told.used, used) ? told : { ...told, used };
}

function sameAmounts(left: Readonly<Record<string, number>> = {}, right: Readonly<Record<string, number>>): boolean {
  const keys = Object.keys(right);
  return keys.length === Object.keys(left).length && keys.every((key) => left[key] === right[key]);
}
