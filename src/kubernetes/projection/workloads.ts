/** DaemonSets, disruption budgets, namespaces and the desired pods of controllers: API JSON to domain values. */
import type { DaemonSet, DisruptionBudget, ReplicatedWorkload } from '../../domain/workloads.ts';
import type { DaemonSetJson, DisruptionBudgetJson, PodSpecJson, TolerationJson, ConditionJson, ObjectJson } from '../api/core-json.ts';
import { MAX_REPLICAS, wholeNumberUpTo } from '../../domain/platform-limits.ts';
import type { Shapes } from './pod-shape.ts';
import { labelSelector } from './selectors.ts';
import { defined } from '../../lib/defined.ts';

/** The DaemonSet controller adds these to each pod, so the template alone would seem to tolerate less. */
const DAEMON_TOLERATIONS: readonly TolerationJson[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];
const HOST_NETWORK_TOLERATION: TolerationJson = { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' };

export function projectDaemonSet(json: DaemonSetJson, shapes: Shapes): DaemonSet {
  const { metadata = {}, spec = {} } = json;
  const namespace = metadata.namespace ?? 'default';
  const template = spec.template ?? {};
  const shape = shapes.of({
    metadata: { namespace, ...defined({ labels: template.metadata?.labels }) },
    spec: withDaemonTolerations(template.spec ?? {}),
  });
  return { namespace, name: metadata.name ?? '', uid: metadata.uid ?? '', shape };
}

function withDaemonTolerations(spec: PodSpecJson): PodSpecJson {
  const added = spec.hostNetwork === true ? [...DAEMON_TOLERATIONS, HOST_NETWORK_TOLERATION] : DAEMON_TOLERATIONS;
  return { ...spec, tolerations: [...(spec.tolerations ?? []), ...added] };
}

/** A budget whose status lags behind its spec allows nothing: the API server would refuse the eviction too. */
export function projectBudget(json: DisruptionBudgetJson): DisruptionBudget {
  const { metadata = {}, spec = {}, status = {} } = json;
  const lags = metadata.generation !== undefined && (status.observedGeneration ?? metadata.generation) < metadata.generation;
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name ?? '',
    selector: labelSelector(spec.selector),
    // A value that is not a number allows nothing.
    disruptionsAllowed: lags ? 0 : countOf(status.disruptionsAllowed),
    expectedPods: countOf(status.expectedPods),
    currentHealthy: countOf(status.currentHealthy),
    desiredHealthy: countOf(status.desiredHealthy),
    neverAllows: neverAllows(json),
    demand: demandOf(spec),
  };
}

function demandOf({ minAvailable, maxUnavailable }: NonNullable<DisruptionBudgetJson['spec']>): DisruptionBudget['demand'] {
  if (isDemand(minAvailable)) return { kind: 'minAvailable', value: minAvailable };
  return isDemand(maxUnavailable) ? { kind: 'maxUnavailable', value: maxUnavailable } : undefined;
}

function isDemand(value: unknown): value is number | string {
  return typeof value === 'number' || (typeof value === 'string' && /^\d+%?$/.test(value));
}

function countOf(value: unknown): number {
  return wholeNumberUpTo(value, MAX_REPLICAS) ?? 0;
}

/**
 * Why the budget can never allow an eviction, or why its pods cannot be counted. The controller reports the latter if
 * the pods have no scale subresource in common.
 */
function neverAllows({ spec = {}, status = {} }: DisruptionBudgetJson): string | undefined {
  const { maxUnavailable, minAvailable } = spec;
  if (maxUnavailable === 0 || maxUnavailable === '0' || maxUnavailable === '0%') return `maxUnavailable is ${maxUnavailable}`;
  if (minAvailable === '100%') return 'minAvailable is 100%';
  const failure = status.conditions?.find(({ type, reason }) => type === 'DisruptionAllowed' && reason === 'SyncFailed');
  return failure === undefined ? undefined : `its pods cannot be counted: ${failure.message ?? ''}`;
}

export interface WorkloadJson extends ObjectJson {
  readonly spec?: {
    readonly replicas?: number;
    readonly podManagementPolicy?: string;
    readonly parallelism?: number;
    readonly completions?: number | null;
    readonly suspend?: boolean;
  };
  readonly status?: { readonly succeeded?: number; readonly conditions?: readonly ConditionJson[] };
}

export function projectWorkload(kind: ReplicatedWorkload['kind'], json: WorkloadJson): ReplicatedWorkload {
  const { metadata = {} } = json;
  const wanted = metadata.deletionTimestamp === undefined ? desiredOf(kind, json) : 0;
  const desired = wholeNumberUpTo(wanted, MAX_REPLICAS) ?? 0;
  return { kind, namespace: metadata.namespace ?? 'default', name: metadata.name ?? '', uid: metadata.uid ?? '', desired };
}

function desiredOf(kind: ReplicatedWorkload['kind'], json: WorkloadJson): number {
  const { spec = {}, status = {} } = json;
  switch (kind) {
    case 'ReplicaSet':
      // Its pods are refused (by a quota or a webhook), so nodes would not help.
      return status.conditions?.some(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True') === true
        ? 0
        : (spec.replicas ?? 1);
    case 'StatefulSet':
      // Ordered StatefulSets create one pod at a time, so the number of missing pods is unknown.
      return spec.podManagementPolicy === 'Parallel' ? (spec.replicas ?? 1) : 0;
    case 'Job':
      return spec.suspend === true ? 0 : desiredOfJob(json);
  }
}

/** A Job without completions is a work queue: it starts all its pods, and none after one has succeeded. */
function desiredOfJob({ spec = {}, status = {} }: WorkloadJson): number {
  const { parallelism = 1, completions } = spec;
  const { succeeded = 0 } = status;
  if (completions === undefined || completions === null) return succeeded === 0 ? parallelism : 0;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}
