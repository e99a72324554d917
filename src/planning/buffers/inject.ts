/**
 * The pods that buffers stand for. They ask for room after all others and yield it to any real pod; they exist nowhere but
 * in a plan, so they are never evicted and never spoken of to their owners. Upstream `processors/capacitybuffer`. Pure.
 */
import { conditionOf, isTrue, type CapacityBuffer, type CapacityObjectRef, type CapacityObjects } from '../../domain/capacity-objects.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import { ACTIVE_STRATEGY, templateOf } from './size.ts';

export type BufferReadiness =
  | { readonly shape: PodShape; readonly replicas: number }
  | { readonly reason: 'NotReadyForProvisioning' | 'BufferIsEmpty' | 'FailedToGetPodTemplate'; readonly message: string };

/** Whether the buffer's pods may be injected as its status says, or why not. */
export function bufferReadiness(buffer: CapacityBuffer, objects: CapacityObjects): BufferReadiness {
  const { status } = buffer;
  const isReady = isTrue(status, 'ReadyForProvisioning') || isTrue(status, 'Provisioning');
  if (!isReady || conditionOf(status, 'ReadyForProvisioning')?.status === 'False')
    return { reason: 'NotReadyForProvisioning', message: 'the buffer is not ready for provisioning' };
  if (status.replicas === undefined) return { reason: 'NotReadyForProvisioning', message: 'its number of replicas is not known' };
  const template = templateOf(buffer, objects);
  if (template === undefined) return { reason: 'FailedToGetPodTemplate', message: 'its pod template was not found' };
  if (template.generation !== status.podTemplateGeneration)
    return { reason: 'NotReadyForProvisioning', message: 'its pod template has changed and was not looked at again yet' };
  if (status.replicas < 1) return { reason: 'BufferIsEmpty', message: 'the buffer has no replicas' };
  return { shape: template.shape, replicas: status.replicas };
}

/** The pods of every buffer that is ready, in a stable order. */
export function bufferPods(objects: CapacityObjects, nowMs: number): readonly Pod[] {
  return (objects.buffers ?? []).flatMap((buffer) => {
    const ready = buffer.strategy === ACTIVE_STRATEGY ? bufferReadiness(buffer, objects) : undefined;
    if (ready === undefined || 'reason' in ready) return [];
    const { name, uid } = buffer.ref;
    return Array.from({ length: ready.replicas }, (_none, at) =>
      virtualPod(buffer.ref, { name: `capacity-buffer-${name}-${at}`, uid: `${uid}-${at}`, shape: ready.shape, holds: 'buffer', nowMs }),
    );
  });
}

export interface VirtualPodOptions {
  readonly name: string;
  readonly uid: string;
  readonly shape: PodShape;
  readonly holds: NonNullable<Pod['holds']>;
  readonly nowMs: number;
}

/** A pod that stands for an object's claim on room. */
export function virtualPod({ kind, namespace, name: owner, uid: ownerUid }: CapacityObjectRef, options: VirtualPodOptions): Pod {
  const { name, uid, shape, holds, nowMs } = options;
  return {
    uid,
    namespace,
    name,
    shape,
    nodeName: undefined,
    nominatedNodeName: undefined,
    phase: 'Pending',
    createdAtMs: nowMs,
    deletionAtMs: undefined,
    terminationGraceMs: 0,
    restartPolicy: 'Always',
    controller: { kind, name: owner, uid: ownerUid },
    unschedulable: { sinceMs: nowMs, message: '' },
    injected: true,
    holds,
    mirror: false,
    daemonSet: false,
    safeToEvict: 'true',
    safeToEvictVolumes: [],
    doNotDisrupt: false,
    localVolumes: [],
    scaleUpDelayMs: undefined,
    ready: false,
  };
}
