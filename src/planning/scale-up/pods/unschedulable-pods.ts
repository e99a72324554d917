/** Which pending pods ask for room at all, and in which order they get it. */
import type { Observation } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import type { IgnoredPodReason } from '../../../domain/reasons.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import { compareText } from '../../../lib/comparison.ts';

/** Resources that make a pod one that asks for GPUs, as the Cluster Autoscaler lists them. */
const GPUS: ReadonlySet<string> = new Set([
  'nvidia.com/gpu',
  'amd.com/gpu',
  'habana.ai/gaudi',
  'gpu.intel.com/xe',
  'microsoft.com/directx',
]);

/** The places of GPUs in a resource vector, of those that anything in the cluster has been seen to have or want. */
export function gpuIndexes(names: ResourceNames): readonly number[] {
  return Array.from({ length: names.count }, (_, index) => index).filter((index) => GPUS.has(names.nameOf(index)));
}

/**
 * Why a pending pod causes no scale-up, or undefined when it may. The first that applies wins; upstream `listers.go` and
 * its filter of young pods, with one difference: pods of schedulers that are not ours keep the room they have.
 */
export function reasonToIgnore(pod: Pod, nowMs: number, policy: ScaleUpPolicy, gpus: readonly number[]): IgnoredPodReason | undefined {
  const standing = schedulingStateOf(pod, policy);
  if (standing !== 'refused' && standing !== 'unseen') return standing;
  if (isExpendable(pod, policy)) return 'expendable';
  if (pod.daemonSet) return 'daemon-set';
  const delayMs = isBypassed(pod, policy) ? 0 : newPodDelayMs(pod, policy, gpus);
  return delayMs > 0 && nowMs - pod.createdAtMs <= delayMs ? 'too-young' : undefined;
}

/** How a pending pod stands with its scheduler; upstream `listers.go`. `unseen`: not looked at, by one that need not have looked. */
export function schedulingStateOf(
  pod: Pod,
  policy: Pick<ScaleUpPolicy, 'allowedSchedulers' | 'bypassedSchedulers'>,
): 'refused' | 'unseen' | 'other-scheduler' | 'not-unschedulable' | 'nominated' {
  const allowed = policy.allowedSchedulers ?? [];
  if (allowed.length > 0 && !allowed.includes(pod.shape.schedulerName)) return 'other-scheduler';
  if (pod.deletionAtMs !== undefined) return 'not-unschedulable';
  if (pod.nominatedNodeName !== undefined) return 'nominated';
  if (pod.unschedulable !== undefined) return 'refused';
  return isBypassed(pod, policy) ? 'unseen' : 'not-unschedulable';
}

function isBypassed({ shape, unseen }: Pod, { bypassedSchedulers }: Pick<ScaleUpPolicy, 'bypassedSchedulers'>): boolean {
  return unseen === true && bypassedSchedulers?.includes(shape.schedulerName) === true;
}

/** A pod's own wish may only lengthen what holds for all. */
function newPodDelayMs({ shape, scaleUpDelayMs = 0 }: Pod, policy: ScaleUpPolicy, gpus: readonly number[]): number {
  const wantsGpu = gpus.some((index) => (shape.requests[index] ?? 0) > 0);
  return Math.max(policy.newPodDelayMs, scaleUpDelayMs, wantsGpu ? (policy.newGpuPodDelayMs ?? 0) : 0);
}

/** Only an explicit priority makes a pod expendable. */
export function isExpendable(pod: Pod, policy: ScaleUpPolicy): boolean {
  return pod.shape.priority !== undefined && pod.shape.priority < policy.expendablePriorityCutoff;
}

/** A pod that states none has 0. */
export function priorityOf({ shape }: Pod): number {
  return shape.priority ?? 0;
}

/** Buffers last, whatever they are a buffer for: any pod may have their room. Higher priority first, then the longer waiting, then by name: the same whatever order the watch delivered. */
export function byPrecedence(left: Pod, right: Pod): number {
  return (
    Number(left.holds === 'buffer') - Number(right.holds === 'buffer') ||
    priorityOf(right) - priorityOf(left) ||
    left.createdAtMs - right.createdAtMs ||
    compareText(left.namespace, right.namespace) ||
    compareText(left.name, right.name)
  );
}

/**
 * Pods of nodes that are being drained and that something will create again: they need a place before they turn pending.
 * Bound still, so they are no events' subject; what is on its way out already has its successor among the pending.
 */
export function displacedPods(observation: Observation, draining: Iterable<string>): readonly Pod[] {
  return [...draining].flatMap((node) =>
    (observation.cluster.podsByNode.get(node) ?? []).filter(
      (pod) => pod.controller !== undefined && !pod.mirror && !pod.daemonSet && pod.deletionAtMs === undefined,
    ),
  );
}
