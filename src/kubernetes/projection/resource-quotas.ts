/** ResourceQuotas, and how much of them a pod would use, in the names that quotas use. */
import type { QuotaUse, ResourceQuota } from '../../domain/capacity-objects.ts';
import { cpuMillis, wholeUnits } from '../../domain/quantity.ts';
import { isAttachResource, type ResourceNames } from '../../domain/resources.ts';
import type { ContainerJson, ObjectJson, PodSpecJson, Quantities, ResourcesJson } from '../api/core-json.ts';
import { effectiveRequest } from './pod-requests.ts';

export interface ResourceQuotaJson extends ObjectJson {
  readonly spec?: {
    readonly hard?: Quantities;
    readonly scopes?: readonly string[];
    readonly scopeSelector?: {
      readonly matchExpressions?: readonly {
        readonly scopeName?: string;
        readonly operator?: string;
        readonly values?: readonly string[];
      }[];
    };
  };
  readonly status?: { readonly hard?: Quantities; readonly used?: Quantities };
}

/** The status has the enforced limits; a new quota has none yet. */
export function projectResourceQuota({ metadata = {}, spec = {}, status = {} }: ResourceQuotaJson): ResourceQuota {
  const selected = (spec.scopeSelector?.matchExpressions ?? []).map(({ scopeName = '', operator = 'Exists', values = [] }) => ({
    scope: scopeName,
    operator,
    values,
  }));
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name ?? '',
    hard: amountsOf(status.hard ?? spec.hard ?? {}),
    used: amountsOf(status.used ?? {}),
    scopes: [...(spec.scopes ?? []).map((scope) => ({ scope, operator: 'Exists', values: [] })), ...selected],
  };
}

/** CPU in millicores, everything else in whole units, under the quota's own names. */
function amountsOf(quantities: Quantities): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(quantities).map(([name, text]) => [name, name.endsWith('cpu') ? cpuMillis(text) : wholeUnits(text)]),
  );
}

/** Undefined if a quantity cannot be read. */
export function quotaUseOf(spec: PodSpecJson, names: ResourceNames): QuotaUse | undefined {
  try {
    const requests = names.toRecord(effectiveRequest({ spec }, names));
    const limits = names.toRecord(effectiveRequest({ spec: limitsAsRequests(spec) }, names));
    const asking = [spec.resources, ...[...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ resources }) => resources)];
    return {
      amounts: { pods: 1, 'count/pods': 1, ...named(requests, 'requests.'), ...plain(requests), ...named(limits, 'limits.') },
      priorityClass: spec.priorityClassName ?? '',
      bestEffort: asking.every(asksForNothing),
      reachesNamespaces: affinityTermsOf(spec).some(
        ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || (namespaceSelector ?? undefined) !== undefined,
      ),
    };
  } catch {
    return undefined;
  }
}

function limitsAsRequests(spec: PodSpecJson): PodSpecJson {
  const swap = (container: ContainerJson): ContainerJson => ({ ...container, resources: { requests: container.resources?.limits ?? {} } });
  return {
    ...spec,
    containers: (spec.containers ?? []).map(swap),
    initContainers: (spec.initContainers ?? []).map(swap),
    resources: { requests: spec.resources?.limits ?? {} },
  };
}

function named(amounts: Readonly<Record<string, number>>, prefix: string): Readonly<Record<string, number>> {
  const counted = Object.entries(amounts).filter(([name]) => name !== 'pods' && !isAttachResource(name));
  return Object.fromEntries(counted.map(([name, amount]) => [`${prefix}${name}`, amount]));
}

/** Quotas may name requests of these resources without a prefix. */
function plain(requests: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const bare = Object.entries(requests).filter(([name]) => BARE.has(name) || name.startsWith('hugepages-'));
  return Object.fromEntries(bare);
}

const BARE: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

function asksForNothing(resources: ResourcesJson | undefined): boolean {
  const { requests = {}, limits = {} } = resources ?? {};
  return !['cpu', 'memory'].some((name) => String(requests[name] ?? limits[name] ?? '0') !== '0');
}

function affinityTermsOf({ affinity = {} }: PodSpecJson) {
  const { podAffinity = {}, podAntiAffinity = {} } = affinity;
  return [
    ...(podAffinity.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution ?? []),
  ];
}
