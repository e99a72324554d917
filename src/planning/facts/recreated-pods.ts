/**
 * Pods as they will be once they are evicted and created again: their VerticalPodAutoscaler then gives them its present target. They count with the
 * larger of that and of what they request now, since its admission controller may be down. Without a recommendation nothing is guessed: they
 * count as they are. Pure.
 */
import type { ClusterView } from '../../domain/observation.ts';
import type { ContainerSize, ContainerSizes, Pod, PodShape, Size } from '../../domain/pod.ts';
import { CPU, MEMORY, largest, type Resources } from '../../domain/resources.ts';
import type { ContainerTarget, VerticalPodAutoscaler, VerticalPodAutoscalers } from '../../domain/workloads.ts';

type Cluster = Pick<ClusterView, 'verticalPodAutoscalers'>;

const AMOUNTS = [
  ['cpu', CPU],
  ['memory', MEMORY],
] as const;

/** Pods of one workload stay one class. */
const known = new WeakMap<VerticalPodAutoscaler, WeakMap<PodShape, PodShape>>();

/** The same list if all come back as they are. */
export function allRecreated(pods: readonly Pod[], cluster: Cluster): readonly Pod[] {
  return (cluster.verticalPodAutoscalers?.size ?? 0) === 0 ? pods : pods.map((pod) => asRecreated(pod, cluster));
}

/** The pod itself if it comes back as it is. */
export function asRecreated(pod: Pod, { verticalPodAutoscalers: all }: Cluster): Pod {
  const autoscaler = all === undefined ? undefined : autoscalerOf(pod, all);
  if (autoscaler === undefined) return pod;
  const shape = recreatedShape(pod.shape, autoscaler);
  return shape === pod.shape ? pod : { ...pod, shape };
}

/**
 * Whether the autoscaler of its workload gives the pod this size at least when it is created again. A container without a target counts as nothing:
 * it gets what its template says, which is not known of a pod that was resized.
 */
export function comesBackWith(pod: Pod, wanted: Resources, { verticalPodAutoscalers: all }: Cluster): boolean {
  const autoscaler = all === undefined ? undefined : autoscalerOf(pod, all);
  const { containers, requests } = pod.shape;
  if (autoscaler === undefined || containers === undefined) return false;
  return AMOUNTS.every(([name, index]) => {
    const now = containers.running.reduce((sum, each) => sum + each.requests[name], 0);
    const given = containers.running.reduce((sum, each) => sum + targetSize(each, autoscaler)[name], 0);
    return (requests[index] ?? 0) - containers.starting[name] - now + given >= (wanted[index] ?? 0);
  });
}

/** What the pod requests by then, as a part of a sentence. Empty for a pod that comes back as it is. */
export function recreatedSize({ shape: { sizedBy, requests } }: Pod): string {
  if (sizedBy === undefined) return '';
  const [cpu, mebibytes] = [(requests[CPU] ?? 0) / 1000, Math.ceil((requests[MEMORY] ?? 0) / 2 ** 20)];
  return ` with the ${cpu} CPU and ${mebibytes} MiB memory that ${sizedBy} gives it`;
}

/** A Deployment names its ReplicaSets after itself and the hash of their template, which is a label of each pod. */
function autoscalerOf({ namespace, controller, shape }: Pod, all: VerticalPodAutoscalers): VerticalPodAutoscaler | undefined {
  if (controller === undefined) return undefined;
  const suffix = `-${shape.labels['pod-template-hash'] ?? ''}`;
  const ofDeployment = controller.kind === 'ReplicaSet' && suffix.length > 1 && controller.name.endsWith(suffix);
  const [kind, name] = ofDeployment ? ['Deployment', controller.name.slice(0, -suffix.length)] : [controller.kind, controller.name];
  return all.get(`${namespace}/${kind}/${name}`);
}

function recreatedShape(shape: PodShape, autoscaler: VerticalPodAutoscaler): PodShape {
  const shapes = known.get(autoscaler) ?? new WeakMap<PodShape, PodShape>();
  known.set(autoscaler, shapes);
  const before = shapes.get(shape);
  if (before !== undefined) return before;
  const made = shape.containers === undefined ? shape : withTargets(shape, shape.containers, autoscaler);
  shapes.set(shape, made);
  return made;
}

function withTargets(shape: PodShape, { running, starting }: ContainerSizes, autoscaler: VerticalPodAutoscaler): PodShape {
  const sized = running.map((container) => withTarget(container, autoscaler));
  const wanted = Float64Array.from(shape.requests);
  const after: Record<keyof Size, number> = { ...starting };
  for (const [name, index] of AMOUNTS) {
    const more = sized.reduce((sum, { requests }, at) => sum + requests[name] - (running[at]?.requests[name] ?? 0), 0);
    // What init containers need before that is there anyway.
    wanted[index] = (wanted[index] ?? 0) - starting[name] + Math.max(starting[name], more);
    after[name] = Math.max(0, starting[name] - more);
  }
  const requests = largest(shape.requests, wanted);
  if (requests.every((amount, index) => amount === (shape.requests[index] ?? 0))) return shape;
  const sizedBy = `VerticalPodAutoscaler ${autoscaler.namespace}/${autoscaler.name}`;
  const containers = { running: sized, starting: after };
  const key = `${shape.key} created again: ${JSON.stringify([requests[CPU], requests[MEMORY]])}`;
  return { ...shape, key, requests, containers, sizedBy };
}

/** What the autoscaler gives the container. Zero: nothing. */
function targetSize({ name, limits }: ContainerSize, { containers }: VerticalPodAutoscaler): Size {
  const { cpu = 0, memory = 0, withinLimit }: ContainerTarget = containers[name] ?? {};
  return withinLimit === true ? { cpu: Math.min(cpu, limits.cpu), memory: Math.min(memory, limits.memory) } : { cpu, memory };
}

function withTarget(container: ContainerSize, autoscaler: VerticalPodAutoscaler): ContainerSize {
  const { cpu, memory } = targetSize(container, autoscaler);
  const { requests } = container;
  return { ...container, requests: { cpu: cpu === 0 ? requests.cpu : cpu, memory: memory === 0 ? requests.memory : memory } };
}
