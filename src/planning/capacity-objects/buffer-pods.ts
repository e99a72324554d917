/**
 * The pods that buffers stand for. They are placed after all other pods and yield their room to any real pod. They exist only in a plan:
 * they are never evicted, and their owners get no events about them. Upstream `processors/capacitybuffer`. Pure. Must not know plans or
 * node groups.
 */
import { NO_ANNOTATIONS, type PodAnnotations } from '../../domain/annotations.ts';
import { ORDINARY_POD, type Pod, type PodShape } from '../../domain/pod.ts';
import {
  type CapacityBuffer,
  type CapacityObjects,
  type QuotaUse,
  conditionOf,
  isTrue,
  workloadKey,
} from '../../domain/capacity-objects.ts';
import { MAX_CLUSTER_PODS, wholeNumberUpTo } from '../../domain/platform-limits.ts';
import type { ResourceNames } from '../../domain/resources.ts';

// How many pods a CapacityBuffer stands for, and their shape. Upstream `capacitybuffer/translators`: the larger of a number and a
// percentage, within limits. Limits alone mean as many pods as they allow.

/** The condition of a buffer whose size and template are known. */
export const READY = 'ReadyForProvisioning';

/** The strategy of buffers whose room is reserved on running nodes. */
export const ACTIVE_STRATEGY = 'buffer.x-k8s.io/active-capacity';

/** What the buffer's pods look like. The template of a workload has no generation: it is read from the workload. */
interface BufferTemplate {
  readonly shape: PodShape;
  readonly notAdmitted: string | undefined;
  readonly name: string | undefined;
  readonly generation: number | undefined;
  readonly quotaUse: QuotaUse | undefined;
}

type BufferSize = { readonly template: BufferTemplate; readonly replicas: number } | { readonly problem: string };

/** The size that the spec requests now, or why it has none. */
export function bufferSize(buffer: CapacityBuffer, objects: CapacityObjects, names: ResourceNames): BufferSize {
  if (buffer.problem !== undefined) return { problem: buffer.problem.message };
  const { namespace } = buffer.ref;
  const { podTemplate, scalable } = buffer;
  const workload = scalable === undefined ? undefined : findScalable(buffer, objects);
  if (scalable !== undefined && workload === undefined) return { problem: `${scalable.kind} ${namespace}/${scalable.name} was not found` };
  const template = podTemplate === undefined ? workload : findTemplate(namespace, podTemplate, objects);
  if (template === undefined) return { problem: `PodTemplate ${namespace}/${podTemplate ?? ''} was not found` };
  const wanted = wantedReplicas(buffer, workload?.replicas);
  const allowed = replicasWithinLimits(buffer.limits, template.shape, names);
  const replicas = Math.min(wanted ?? Number.POSITIVE_INFINITY, allowed);
  if (replicas > MAX_CLUSTER_PODS && Number.isFinite(replicas)) return { problem: tooManyPods(`spec asks for ${replicas} pods`) };
  if (!Number.isFinite(replicas)) return { problem: 'spec needs replicas, percentage or a limit on a resource that the pods request' };
  return { template, replicas };
}

function tooManyPods(what: string): string {
  return `${what}, and a cluster has at most ${MAX_CLUSTER_PODS}`;
}

/** The template that the buffer's status names, as it is now. */
function templateOf(buffer: CapacityBuffer, objects: CapacityObjects): BufferTemplate | undefined {
  const { podTemplate } = buffer.status;
  return podTemplate === undefined ? findScalable(buffer, objects) : findTemplate(buffer.ref.namespace, podTemplate, objects);
}

function findTemplate(namespace: string, name: string, { podTemplates }: CapacityObjects): BufferTemplate | undefined {
  return podTemplates?.get(`${namespace}/${name}`);
}

function findScalable({ ref, scalable }: CapacityBuffer, { scalables }: CapacityObjects) {
  if (scalable === undefined) return undefined;
  const found = scalables?.get(workloadKey({ ...scalable, namespace: ref.namespace }));
  return found && { ...found, name: undefined, generation: undefined };
}

function wantedReplicas({ replicas, percentage }: CapacityBuffer, of: number | undefined): number | undefined {
  const share = percentage === undefined || of === undefined ? undefined : Math.ceil((percentage * of) / 100);
  return replicas === undefined || share === undefined ? (replicas ?? share) : Math.max(replicas, share);
}

function replicasWithinLimits(limits: CapacityBuffer['limits'], { requests }: PodShape, names: ResourceNames): number {
  return Object.entries(limits ?? {}).reduce((least, [resource, limit]) => {
    const request = requests[names.indexOf(resource)] ?? 0;
    return request > 0 ? Math.min(least, Math.floor(limit / request)) : least;
  }, Number.POSITIVE_INFINITY);
}

/** What a number of pods may be. */
export const WHOLE_PODS = `it must be a whole number from 0 to ${MAX_CLUSTER_PODS}`;

type BufferReadiness =
  | { readonly shape: PodShape; readonly replicas: number; readonly notAdmitted: string | undefined }
  | { readonly reason: 'NotReadyForProvisioning' | 'BufferIsEmpty' | 'FailedToGetPodTemplate'; readonly message: string };

/** Whether the buffer's pods may be injected according to its status, or why not. */
export function bufferReadiness(buffer: CapacityBuffer, objects: CapacityObjects): BufferReadiness {
  const { status } = buffer;
  const isReady = isTrue(status, READY) || isTrue(status, 'Provisioning');
  if (!isReady || conditionOf(status, READY)?.status === 'False')
    return { reason: 'NotReadyForProvisioning', message: 'the buffer is not ready for provisioning' };
  if (status.replicas === undefined) return { reason: 'NotReadyForProvisioning', message: 'status.replicas is not set' };
  // guard: a buffer of more pods than a cluster has gets none
  const replicas = wholeNumberUpTo(status.replicas, MAX_CLUSTER_PODS);
  if (replicas === undefined) return { reason: 'NotReadyForProvisioning', message: `status.replicas is ${status.replicas}; ${WHOLE_PODS}` };
  const template = templateOf(buffer, objects);
  if (template === undefined) return { reason: 'FailedToGetPodTemplate', message: 'its pod template was not found' };
  if (template.generation !== status.podTemplateGeneration)
    return { reason: 'NotReadyForProvisioning', message: 'its pod template has changed and was not processed yet' };
  if (replicas < 1) return { reason: 'BufferIsEmpty', message: 'the buffer has no replicas' };
  return { shape: template.shape, replicas, notAdmitted: template.notAdmitted };
}

/** What a buffer is for people: a CapacityBuffer object, or a setting. */
type BufferOwner = Readonly<Record<'kind' | 'namespace' | 'name' | 'uid', string>>;

/** A buffer whose pods may be injected. */
export interface ReadyBuffer {
  readonly ref: BufferOwner;
  /** What its pods are called, without their numbers. */
  readonly podName: string;
  readonly shape: PodShape;
  readonly replicas: number;
  /** The workload whose copies they are, by {@link workloadKey}. If undefined, of none. */
  readonly workload: string | undefined;
}

/** In a stable order. Makes no pods. */
export function readyBuffers(objects: CapacityObjects): readonly ReadyBuffer[] {
  return objects.buffers.flatMap((buffer) => {
    const ready = buffer.strategy === ACTIVE_STRATEGY ? bufferReadiness(buffer, objects) : undefined;
    if (ready === undefined || 'reason' in ready) return [];
    const { ref, scalable } = buffer;
    const { shape, replicas } = ready;
    const workload = scalable && workloadKey({ ...scalable, namespace: ref.namespace });
    return [{ ref, podName: `capacity-buffer-${ref.name}`, shape, replicas, workload }];
  });
}

/** The pods of these buffers, in their order, at most `most`. */
export function bufferPods(buffers: readonly ReadyBuffer[], nowMs: number, most = MAX_CLUSTER_PODS): readonly Pod[] {
  const pods: Pod[] = [];
  for (const { ref, podName, shape, replicas } of buffers) {
    // guard: no more pods are made for buffers than may be planned
    const count = Math.min(replicas, most - pods.length);
    for (let at = 0; at < count; at++)
      pods.push(virtualPod(ref, { name: `${podName}-${at}`, uid: `${ref.uid}-${at}`, shape, origin: 'buffer', nowMs }));
  }
  return pods;
}

interface VirtualPodOptions {
  readonly name: string;
  readonly uid: string;
  readonly shape: PodShape;
  readonly origin: Exclude<Pod['origin'], 'cluster' | 'expected'>;
  readonly nowMs: number;
}

const MOVABLE: PodAnnotations = { ...NO_ANNOTATIONS, safeToEvict: 'true' };

/** A pod that stands for room of a capacity object. */
export function virtualPod({ kind, namespace, name: owner, uid: ownerUid }: BufferOwner, options: VirtualPodOptions): Pod {
  const { name, uid, shape, origin, nowMs } = options;
  return {
    ...ORDINARY_POD,
    uid,
    namespace,
    name,
    shape,
    phase: 'Pending',
    createdAtMs: nowMs,
    terminationGraceMs: 0,
    controller: { kind, apiVersion: '', name: owner, uid: ownerUid },
    unschedulable: { sinceMs: nowMs, message: '' },
    origin,
    annotations: MOVABLE,
    ready: false,
  };
}
