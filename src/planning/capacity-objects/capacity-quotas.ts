/**
 * The limits of CapacityQuota objects, and their statuses. Upstream `resourcequotas`: limits apply to the capacity of nodes, not to the
 * requests of pods, and nodes that are present or upcoming count. Pure.
 */
import { type CapacityQuota, withCondition, type CapacityStatus } from '../../domain/capacity-objects.ts';
import { matchesSelector } from '../../domain/labels.ts';
import { CPU, type ResourceNames, type Resources } from '../../domain/resources.ts';
import { compareBy } from '../../lib/comparison.ts';
import { type CountedNode, type Quota, isVirtual, usedByAll } from './quota.ts';

/** The limits of all valid objects, in their order. */
export function quotasOfObjects(objects: readonly CapacityQuota[], names: ResourceNames): readonly Quota[] {
  return objects.flatMap((object) => (object.problem === undefined ? quotasOf(object, names) : []));
}

/** One for each limited resource, in whole units. Virtual nodes do not count. */
function quotasOf({ ref, selector, limits }: CapacityQuota, names: ResourceNames): readonly Quota[] {
  return Object.entries(limits).map(([resource, limit]) => {
    const index = resource === 'nodes' ? undefined : names.indexOf(resource);
    const counts = (node: CountedNode): boolean => !isVirtual(node.labels) && matchesSelector(selector, node.labels);
    return {
      kind: 'capacity-quota',
      id: `CapacityQuota/${ref.name}`,
      resource,
      limit,
      left: limit,
      usedBy: (node) => (node !== undefined && counts(node) ? amountOf(node.capacity, index) : 0),
    };
  });
}

/** Cores are rounded up to whole ones, as upstream does. Without an index, nodes are counted. */
function amountOf(capacity: Resources, index: number | undefined): number {
  if (index === undefined) return 1;
  return index === CPU ? Math.ceil((capacity[CPU] ?? 0) / 1000) : (capacity[index] ?? 0);
}

// The status that a quota should have, with the texts of upstream's quota controller.

const QUOTA_VALID = 'cluster-autoscaler.kubernetes.io/valid';
const RECONCILED = 'Reconciled';

/** Returns the present status itself if nothing changes. */
export function quotaStatus(quota: CapacityQuota, nodes: readonly CountedNode[], names: ResourceNames, nowMs: number): CapacityStatus {
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
  const limits = [...quotasOf(quota, names)].sort(compareBy(({ resource }) => resource));
  const used = Object.fromEntries(limits.map(({ resource, usedBy }) => [resource, usedByAll(nodes, usedBy)]));
  return sameAmounts(told.used, used) ? told : { ...told, used };
}

function sameAmounts(left: Readonly<Record<string, number>> = {}, right: Readonly<Record<string, number>>): boolean {
  const keys = Object.keys(right);
  return keys.length === Object.keys(left).length && keys.every((key) => left[key] === right[key]);
}
