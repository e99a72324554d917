/** Reads one pod of a file: what the API server and the scheduler would have set in a manifest is set here. */
import type { PodAnnotations } from '../../domain/annotations.ts';
import { podName } from '../../domain/ids.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodJson, PodSpecJson } from '../../kubernetes/api/core-json.ts';
import { projectPod, type PodProjection } from '../../kubernetes/projection/pod.ts';
import { defined } from '../../lib/defined.ts';
import { withRuntimeClass, type RuntimeClassJson } from './daemon-pods.ts';

export interface PodReader {
  readonly pods: PodProjection;
  /** Values of PriorityClasses by name; '' is the default. A manifest has the name only: the API server sets the value. */
  readonly priorities: ReadonlyMap<string, number>;
  /** RuntimeClasses by name. */
  readonly runtimes: ReadonlyMap<string, RuntimeClassJson>;
}

/** Whether nothing that the pod refers to changes how it is read: an API server has set all its fields. */
export function isComplete({ spec = {} }: PodJson): boolean {
  const { priority, runtimeClassName, overhead, nodeName }: ManifestSpec = spec;
  return priority !== undefined && (runtimeClassName === undefined || overhead !== undefined || nodeName !== undefined);
}

/** Whether the pod names a PriorityClass that is unknown. */
export function isUnranked({ spec = {} }: PodJson, { priorities }: Pick<PodReader, 'priorities'>): boolean {
  const { priority, priorityClassName }: ManifestSpec = spec;
  return priority === undefined && priorityClassName !== undefined && !priorities.has(priorityClassName);
}

function withoutDelay(annotations: PodAnnotations): PodAnnotations {
  return annotations.scaleUpDelayMs === 0 ? annotations : { ...annotations, scaleUpDelayMs: 0 };
}

/**
 * Reads one pod. A file has no history: a pod without a scheduler's verdict counts as unschedulable (if it fits, the plan
 * shows where), and a pod's own scale-up delay counts as over.
 */
export function readPod(json: PodJson, reader: PodReader): Pod {
  const projected = projectPod(withServerDefaults(json, reader), reader.pods);
  const pod = {
    ...projected,
    uid: projected.uid === '' ? podName(projected) : projected.uid,
    annotations: withoutDelay(projected.annotations),
  };
  if (pod.nodeName !== undefined) return pod;
  if (isGated(json)) return { ...pod, unschedulable: undefined };
  if (hasSchedulerVerdict(json)) return pod;
  return { ...pod, phase: 'Pending', unschedulable: { sinceMs: pod.createdAtMs, message: '' } };
}

/** Sets the fields that the API server would set in a pod from a manifest. */
function withServerDefaults(json: PodJson, { priorities, runtimes }: PodReader): PodJson {
  const spec: ManifestSpec = json.spec ?? {};
  const priority = spec.priority ?? priorities.get(spec.priorityClassName ?? '');
  const { namespace = '' } = json.metadata ?? {};
  return {
    ...json,
    metadata: { ...json.metadata, namespace: namespace === '' ? 'default' : namespace },
    spec: { ...withRuntimeClass(spec, runtimes.get(spec.runtimeClassName ?? '')), ...defined({ priority }) },
  };
}

type ManifestSpec = PodSpecJson & {
  readonly priorityClassName?: string;
  readonly runtimeClassName?: string;
  readonly schedulingGates?: readonly unknown[];
};

/** A gated pod is not scheduled, whatever its conditions are. */
function isGated({ spec = {} }: PodJson): boolean {
  const { schedulingGates = [] }: ManifestSpec = spec;
  return schedulingGates.length > 0;
}

/** The scheduler has set its condition, or the pod has ended. */
function hasSchedulerVerdict({ status = {} }: PodJson): boolean {
  const hasCondition = status.conditions?.some(({ type }) => type === 'PodScheduled') === true;
  return hasCondition || (status.phase !== undefined && status.phase !== 'Pending');
}
