/**
 * What the ResourceQuotas of a namespace leave to its buffers. Room that is kept for pods which a quota would never let in helps
 * nobody. Upstream's `resource_quotas_allocator`: the oldest buffer first, then by name. Pure.
 */
import type { CapacityBuffer, CapacityObjects, QuotaScope, QuotaUse, ResourceQuota } from '../../domain/capacity-objects.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { ACTIVE_STRATEGY, bufferSize } from './size.ts';

/** How many pods of a buffer the quotas about them admit. */
export interface Allowance {
  readonly replicas: number;
  /** The quota that admits fewest and the resource that is short; undefined: none is. */
  readonly limitedBy: string | undefined;
}

/** By uid of the buffer; buffers that no quota is about are absent. */
export function allowances(objects: CapacityObjects, names: ResourceNames): ReadonlyMap<string, Allowance> {
  const { buffers = [], resourceQuotas = [] } = objects;
  const found = new Map<string, Allowance>();
  if (resourceQuotas.length === 0) return found;
  const granted = new Map<ResourceQuota, Record<string, number>>();
  for (const buffer of buffers.filter(({ strategy }) => strategy === ACTIVE_STRATEGY).toSorted(inTurn)) {
    const size = bufferSize(buffer, objects, names);
    if ('problem' in size || size.template.quotaUse === undefined) continue;
    const { quotaUse } = size.template;
    const quotas = resourceQuotas.filter((quota) => quota.namespace === buffer.ref.namespace && isAbout(quota, quotaUse));
    if (quotas.length === 0) continue;
    const allowance = allowedBy(quotas, { use: quotaUse, wanted: size.replicas }, granted);
    found.set(buffer.ref.uid, allowance);
    for (const quota of quotas) grant(granted, quota, quotaUse, allowance.replicas);
  }
  return found;
}

function inTurn({ ref: left }: CapacityBuffer, { ref: right }: CapacityBuffer): number {
  return left.createdAtMs - right.createdAtMs || (left.name < right.name ? -1 : 1);
}

function allowedBy(
  quotas: readonly ResourceQuota[],
  { use, wanted }: { readonly use: QuotaUse; readonly wanted: number },
  granted: ReadonlyMap<ResourceQuota, Readonly<Record<string, number>>>,
): Allowance {
  let replicas = wanted;
  let limitedBy: string | undefined;
  for (const quota of quotas) {
    for (const [resource, hard] of Object.entries(quota.hard)) {
      const each = use.amounts[resource] ?? 0;
      if (each <= 0) continue;
      const left = hard - (quota.used[resource] ?? 0) - (granted.get(quota)?.[resource] ?? 0);
      const allowed = Math.max(0, Math.floor(left / each));
      if (allowed >= replicas) continue;
      replicas = allowed;
      limitedBy = `${resource} of ResourceQuota ${quota.name}`;
    }
  }
  return { replicas, limitedBy };
}

function grant(granted: Map<ResourceQuota, Record<string, number>>, quota: ResourceQuota, use: QuotaUse, replicas: number): void {
  const sums = granted.get(quota) ?? {};
  granted.set(quota, sums);
  for (const resource of Object.keys(quota.hard)) sums[resource] = (sums[resource] ?? 0) + replicas * (use.amounts[resource] ?? 0);
}

function isAbout({ scopes }: ResourceQuota, use: QuotaUse): boolean {
  return scopes.every((scope) => matchesScope(scope, use));
}

/** Room is kept for pods that stay: the scope of pods with a deadline is never theirs. */
function matchesScope({ scope, operator, values }: QuotaScope, use: QuotaUse): boolean {
  if (scope === 'NotTerminating') return true;
  if (scope === 'BestEffort') return use.bestEffort;
  if (scope === 'NotBestEffort') return !use.bestEffort;
  if (scope === 'CrossNamespacePodAffinity') return use.reachesNamespaces;
  if (scope !== 'PriorityClass') return false;
  if (operator === 'Exists') return use.priorityClass !== '';
  if (operator === 'DoesNotExist') return use.priorityClass === '';
  return values.includes(use.priorityClass) === (operator === 'In');
}
