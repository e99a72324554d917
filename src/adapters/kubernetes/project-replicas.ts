/** Controllers that make equal pods: API JSON to the number of pods that they want. */
import type { ReplicatedWorkload } from '../../domain/workload.ts';
import type { ConditionJson, ObjectJson } from './api-json.ts';

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
  const desired = metadata.deletionTimestamp === undefined ? desiredOf(kind, json) : 0;
  return { kind, namespace: metadata.namespace ?? 'default', name: metadata.name ?? '', uid: metadata.uid ?? '', desired };
}

function desiredOf(kind: ReplicatedWorkload['kind'], json: WorkloadJson): number {
  const { spec = {}, status = {} } = json;
  switch (kind) {
    case 'ReplicaSet':
      // It says itself that its pods are refused (a quota, a webhook): nodes would not help.
      return status.conditions?.some(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True') === true
        ? 0
        : (spec.replicas ?? 1);
    case 'StatefulSet':
      // Ordered ones make one pod after the other: how many at a time is not known.
      return spec.podManagementPolicy === 'Parallel' ? (spec.replicas ?? 1) : 0;
    case 'Job':
      return spec.suspend === true ? 0 : desiredOfJob(json);
  }
}

/** A Job without completions is a work queue: it starts all its pods, and none once one has succeeded. */
function desiredOfJob({ spec = {}, status = {} }: WorkloadJson): number {
  const { parallelism = 1, completions } = spec;
  const { succeeded = 0 } = status;
  if (completions === undefined || completions === null) return succeeded === 0 ? parallelism : 0;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}
