/**
 * How many pods a CapacityBuffer stands for, and of which shape. Upstream `capacitybuffer/translators`: the larger of a
 * number and a percentage, within limits; limits alone say as many as fit. Pure.
 */
import type { CapacityBuffer, CapacityObjects, QuotaUse } from '../../domain/capacity-objects.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';

/** The strategy of buffers whose room is kept by nodes that run. */
export const ACTIVE_STRATEGY = 'buffer.x-k8s.io/active-capacity';

/** What the buffer is cut after. A workload's own template has no generation: it is read where it stands. */
export interface BufferTemplate {
  readonly shape: PodShape;
  readonly name?: string;
  readonly generation?: number;
  readonly quotaUse?: QuotaUse;
}

export type BufferSize = { readonly template: BufferTemplate; readonly replicas: number } | { readonly problem: string };

/** The size that the spec asks for now, or why there is none. */
export function bufferSize(buffer: CapacityBuffer, objects: CapacityObjects, names: ResourceNames): BufferSize {
  if (buffer.problem !== undefined) return { problem: buffer.problem.message };
  const { namespace } = buffer.ref;
  const { podTemplate, scalable } = buffer;
  const workload = scalable === undefined ? undefined : findScalable(buffer, objects);
  if (scalable !== undefined && workload === undefined) return { problem: `${scalable.kind} ${namespace}/${scalable.name} was not found` };
  const template = podTemplate === undefined ? workload : findTemplate(namespace, podTemplate, objects);
  if (template === undefined) return { problem: `PodTemplate ${namespace}/${podTemplate ?? ''} was not found` };
  const wanted = wantedReplicas(buffer, workload?.replicas);
  const allowed = allowedBy(buffer.limits, template.shape, names);
  const replicas = Math.min(wanted ?? Number.POSITIVE_INFINITY, allowed);
  if (!Number.isFinite(replicas))
    return { problem: 'neither replicas nor percentage is given, and the limits limit nothing that such a pod asks for' };
  return { template, replicas };
}

/** The template that a status speaks of, as it is now. */
export function templateOf(buffer: CapacityBuffer, objects: CapacityObjects): BufferTemplate | undefined {
  const { podTemplate } = buffer.status;
  return podTemplate === undefined ? findScalable(buffer, objects) : findTemplate(buffer.ref.namespace, podTemplate, objects);
}

function findTemplate(namespace: string, name: string, { podTemplates }: CapacityObjects): BufferTemplate | undefined {
  const found = podTemplates?.get(`${namespace}/${name}`);
  return found === undefined ? undefined : { shape: found.shape, name: found.name, generation: found.generation, ...useOf(found) };
}

function findScalable({ ref, scalable }: CapacityBuffer, { scalables }: CapacityObjects) {
  if (scalable === undefined) return undefined;
  const found = scalables?.get(`${scalable.kind}.${scalable.apiGroup}/${ref.namespace}/${scalable.name}`);
  return found === undefined ? undefined : { shape: found.shape, replicas: found.replicas, ...useOf(found) };
}

function useOf({ quotaUse }: { readonly quotaUse?: QuotaUse }): Pick<BufferTemplate, 'quotaUse'> {
  return quotaUse === undefined ? {} : { quotaUse };
}

function wantedReplicas({ replicas, percentage }: CapacityBuffer, of: number | undefined): number | undefined {
  const share = percentage === undefined || of === undefined ? undefined : Math.ceil((percentage * of) / 100);
  return replicas === undefined || share === undefined ? (replicas ?? share) : Math.max(replicas, share);
}

function allowedBy(limits: CapacityBuffer['limits'], { requests }: PodShape, names: ResourceNames): number {
  return Object.entries(limits ?? {}).reduce((least, [resource, limit]) => {
    const request = requests[names.indexOf(resource)] ?? 0;
    return request > 0 ? Math.min(least, Math.floor(limit / request)) : least;
  }, Number.POSITIVE_INFINITY);
}
