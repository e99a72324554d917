/** The status that a buffer should have, with the texts of upstream's buffer controller and pod injector. Pure. */
import {
  type CapacityBuffer,
  type CapacityObjects,
  type QuotaScope,
  type QuotaUse,
  type ResourceQuota,
  conditionOf,
  isTrue,
  withCondition,
  type CapacityStatus,
} from '../../domain/capacity-objects.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { ACTIVE_STRATEGY, bufferSize, bufferReadiness, READY } from './buffer-pods.ts';
import { compareText } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';

// How much the ResourceQuotas of a namespace allow its buffers: reserved room is useless for pods that a quota rejects. Upstream's
// `resource_quotas_allocator`: the oldest buffer first, then by name.

/** How many pods of a buffer its quotas admit. */
interface QuotaAllowance {
  readonly replicas: number;
  /** The quota that admits fewest pods, with its short resource. undefined: no quota limits the buffer. */
  readonly limitedBy: string | undefined;
}

/** By uid of the buffer. Buffers without a matching quota are absent. */
export function quotaAllowances(objects: CapacityObjects, names: ResourceNames): ReadonlyMap<string, QuotaAllowance> {
  const { buffers, resourceQuotas } = objects;
  const found = new Map<string, QuotaAllowance>();
  if (resourceQuotas.length === 0) return found;
  const granted = new Map<ResourceQuota, Record<string, number>>();
  for (const buffer of buffers.filter(({ strategy }) => strategy === ACTIVE_STRATEGY).toSorted(byAge)) {
    const size = bufferSize(buffer, objects, names);
    if ('problem' in size || size.template.quotaUse === undefined) continue;
    const { quotaUse } = size.template;
    const quotas = resourceQuotas.filter((quota) => quota.namespace === buffer.ref.namespace && appliesTo(quota, quotaUse));
    if (quotas.length === 0) continue;
    const allowance = replicasAllowedBy(quotas, { use: quotaUse, wanted: size.replicas }, granted);
    found.set(buffer.ref.uid, allowance);
    for (const quota of quotas) addGranted(granted, quota, quotaUse, allowance.replicas);
  }
  return found;
}

function byAge({ ref: left }: CapacityBuffer, { ref: right }: CapacityBuffer): number {
  return left.createdAtMs - right.createdAtMs || compareText(left.name, right.name);
}

function replicasAllowedBy(
  quotas: readonly ResourceQuota[],
  { use, wanted }: { readonly use: QuotaUse; readonly wanted: number },
  granted: ReadonlyMap<ResourceQuota, Readonly<Record<string, number>>>,
): QuotaAllowance {
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

function addGranted(granted: Map<ResourceQuota, Record<string, number>>, quota: ResourceQuota, use: QuotaUse, replicas: number): void {
  const sums = granted.get(quota) ?? {};
  granted.set(quota, sums);
  for (const resource of Object.keys(quota.hard)) sums[resource] = (sums[resource] ?? 0) + replicas * (use.amounts[resource] ?? 0);
}

function appliesTo({ scopes }: ResourceQuota, use: QuotaUse): boolean {
  return scopes.every((scope) => matchesScope(scope, use));
}

/** Room is reserved for pods without a deadline, so the scope of pods with one never matches. */
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

const PROVISIONING = 'Provisioning';
const LIMITED = 'LimitedByQuotas';

interface BufferStatusInput {
  readonly objects: CapacityObjects;
  readonly names: ResourceNames;
  readonly nowMs: number;
  /** What ResourceQuotas allow each buffer, by uid. Quotas do not apply to the others. */
  readonly allowances: ReadonlyMap<string, QuotaAllowance>;
  readonly controls: boolean;
  readonly injects: boolean;
}

/** Returns the present status itself if nothing changes. Buffers of other strategies are not ours to update. */
export function bufferStatus(buffer: CapacityBuffer, input: BufferStatusInput): CapacityStatus {
  if (buffer.strategy !== ACTIVE_STRATEGY) return buffer.status;
  const sized = input.controls ? withSize(buffer, input) : buffer.status;
  return input.injects ? withInjection(buffer, sized, input) : sized;
}

function withSize(buffer: CapacityBuffer, { objects, names, nowMs, allowances }: BufferStatusInput): CapacityStatus {
  const size = bufferSize(buffer, objects, names);
  if ('problem' in size)
    return withCondition(buffer.status, { type: READY, status: 'False', reason: 'error', message: size.problem }, nowMs);
  const { template } = size;
  const allowance = allowances.get(buffer.ref.uid);
  const replicas = Math.min(size.replicas, allowance?.replicas ?? Infinity);
  const limited = withQuotaLimit(buffer.status, allowance, { wanted: size.replicas, nowMs });
  const ready = withCondition(limited, { type: READY, status: 'True', reason: 'AttributesSetSuccessfully', message: 'ready' }, nowMs);
  const { podTemplate: _template, podTemplateGeneration: _generation, ...rest } = ready;
  const next: CapacityStatus = {
    ...rest,
    replicas,
    provisioningStrategy: buffer.strategy,
    ...defined({ podTemplate: template.name, podTemplateGeneration: template.generation }),
  };
  return ready === buffer.status && sameAttributes(ready, next) ? buffer.status : next;
}

/** Set while quotas match the buffer, and reset when they no longer do. */
function withQuotaLimit(
  status: CapacityStatus,
  allowance: QuotaAllowance | undefined,
  { wanted, nowMs }: { readonly wanted: number; readonly nowMs: number },
): CapacityStatus {
  if (allowance === undefined && !isTrue(status, LIMITED)) return status;
  const { limitedBy, replicas = wanted } = allowance ?? {};
  const condition =
    limitedBy === undefined
      ? ({ status: 'False', message: 'all replicas are within the resource quotas' } as const)
      : ({ status: 'True', message: `${replicas} of ${wanted} replicas are allowed by ${limitedBy}` } as const);
  return withCondition(status, { type: LIMITED, reason: 'ResourceQuotasAllocated', ...condition }, nowMs);
}

function sameAttributes(left: CapacityStatus, right: CapacityStatus): boolean {
  return (
    left.replicas === right.replicas &&
    left.podTemplate === right.podTemplate &&
    left.podTemplateGeneration === right.podTemplateGeneration &&
    left.provisioningStrategy === right.provisioningStrategy
  );
}

function asWritten(notAdmitted: string | undefined): string {
  return notAdmitted === undefined ? '' : `; the template counts as it is written, since a dry run failed: ${notAdmitted}`;
}

/** What this loop injected. It follows the status that was read, not the one about to be written. */
function withInjection(buffer: CapacityBuffer, status: CapacityStatus, { objects, nowMs }: BufferStatusInput): CapacityStatus {
  const ready = bufferReadiness(buffer, objects);
  // A new buffer has no status yet: that its pods are not injected is no failure.
  if ('reason' in ready && conditionOf(buffer.status, READY) === undefined) return status;
  const condition =
    'reason' in ready
      ? ({ status: 'False', ...ready } as const)
      : ({
          status: 'True',
          reason: 'FakePodsInjected',
          message: `plans keep room for ${ready.replicas} pods, and request it where a pool can grow${asWritten(ready.notAdmitted)}`,
        } as const);
  return withCondition(status, { type: PROVISIONING, ...condition }, nowMs);
}
