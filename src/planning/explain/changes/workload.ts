/** What a person edits to change pods, and whose pods they are. */
import type { Pod } from '../../../domain/pod.ts';

/** What a person edits to change pods: a Deployment rather than its ReplicaSet; the pod itself if it has no controller. */
export interface Workload {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The controller that its pods name. Absent for a pod without a controller. */
  readonly controller?: string;
}

/** What a person edits to change the pod. A ReplicaSet of a Deployment has the Deployment's name and the hash of the pod template. */
export function workloadOf({ namespace, name, controller, shape }: Pod): Workload {
  if (controller === undefined) return { kind: 'Pod', namespace, name };
  const suffix = `-${shape.labels['pod-template-hash'] ?? ''}`;
  const isDeployment = controller.kind === 'ReplicaSet' && suffix !== '-' && controller.name.endsWith(suffix);
  const owner = isDeployment
    ? { kind: 'Deployment', name: controller.name.slice(0, -suffix.length) }
    : { kind: controller.kind, name: controller.name };
  return { ...owner, namespace, controller: `${controller.kind} ${controller.name}` };
}

export function isOf(pod: Pod, { namespace, name, controller }: Workload): boolean {
  if (pod.namespace !== namespace) return false;
  if (controller === undefined) return pod.controller === undefined && pod.name === name;
  return pod.controller !== undefined && `${pod.controller.kind} ${pod.controller.name}` === controller;
}

/** Where the template of such pods is. */
export function templateOf({ kind, namespace, name, controller }: Workload): string {
  return controller === undefined ? `pod ${namespace}/${name}` : `the pod template of ${kind} ${namespace}/${name}`;
}

/** Of pods that no longer have to be apart. */
export const SHARED_FATE = 'the pods may run side by side from then on, and fail together';

export function counted(pods: number): string {
  return `${pods} ${pods === 1 ? 'pod' : 'pods'}`;
}
