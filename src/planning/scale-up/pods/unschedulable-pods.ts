/**
 * Pods: which pending pods may cause an increase, which pods are interchangeable, and in which order they get room. Must not
 * know node groups, packing or expanders.
 */
import type { LoopState } from '../../../domain/loop-state.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { Policy, ScaleUpPolicy } from '../../../domain/policy.ts';
import type { IgnoredPodReason } from '../../../domain/reasons.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import { compareText } from '../../../lib/comparison.ts';
import { nominatedNode } from '../../state/assumed-pods.ts';

/** What decides about a pending pod besides the pod. */
export interface PendingPodsInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
}

/** Resources by which a pod requests GPUs, as the Cluster Autoscaler lists them. */
const GPUS: ReadonlySet<string> = new Set([
  'nvidia.com/gpu',
  'amd.com/gpu',
  'habana.ai/gaudi',
  'gpu.intel.com/xe',
  'microsoft.com/directx',
]);

/** Indexes of GPUs in a resource vector; only GPUs that some node or pod of the cluster names. */
export function gpuIndexes(names: ResourceNames): readonly number[] {
  return Array.from({ length: names.count }, (_, index) => index).filter((index) => GPUS.has(names.nameOf(index)));
}

/**
 * Why a pending pod causes no scale-up; undefined if it may cause one. The first reason that applies wins. Upstream `listers.go`
 * and its filter of young pods, with one difference: pods of other schedulers keep the room they have.
 */
export function reasonToIgnore(pod: Pod, input: PendingPodsInput, gpus: readonly number[]): IgnoredPodReason | undefined {
  const { nowMs } = input.observation;
  const policy = input.policy.scaleUp;
  const state = schedulingStateOf(pod, policy, nominatedNode(pod, input) !== undefined);
  if (state !== 'refused' && state !== 'unseen') return state;
  if (isExpendable(pod, policy)) return 'expendable';
  if (pod.daemonSet) return 'daemon-set';
  const delayMs = isBypassed(pod, policy) ? 0 : newPodDelayMs(pod, policy, gpus);
  return delayMs > 0 && nowMs - pod.createdAtMs <= delayMs ? 'too-young' : undefined;
}

/**
 * What a pending pod's scheduler has decided; upstream `listers.go`. `unseen`: a bypassed scheduler has not tried it yet. `isNominated`: it
 * has named a node that can take the pod.
 */
export function schedulingStateOf(
  pod: Pod,
  policy: Pick<ScaleUpPolicy, 'allowedSchedulers' | 'bypassedSchedulers'>,
  isNominated: boolean,
): 'refused' | 'unseen' | 'other-scheduler' | 'not-unschedulable' | 'nominated' {
  const allowed = policy.allowedSchedulers;
  if (allowed.length > 0 && !allowed.includes(pod.shape.schedulerName)) return 'other-scheduler';
  if (pod.deletionAtMs !== undefined) return 'not-unschedulable';
  if (isNominated) return 'nominated';
  if (pod.unschedulable !== undefined) return 'refused';
  return isBypassed(pod, policy) ? 'unseen' : 'not-unschedulable';
}

function isBypassed({ shape, status }: Pod, { bypassedSchedulers }: Pick<ScaleUpPolicy, 'bypassedSchedulers'>): boolean {
  return status.unseen && bypassedSchedulers.includes(shape.schedulerName);
}

/** A pod's own delay may only lengthen the delay of the policy. */
function newPodDelayMs({ shape, annotations }: Pod, policy: ScaleUpPolicy, gpus: readonly number[]): number {
  const wantsGpu = gpus.some((index) => (shape.requests[index] ?? 0) > 0);
  return Math.max(policy.newPodDelayMs, annotations.scaleUpDelayMs, wantsGpu ? policy.newGpuPodDelayMs : 0);
}

/** Only an explicit priority makes a pod expendable. */
export function isExpendable(pod: Pick<Pod, 'shape'>, policy: ScaleUpPolicy): boolean {
  return pod.shape.priority !== undefined && pod.shape.priority < policy.expendablePriorityCutoff;
}

/** 0 for a pod without a priority. */
export function priorityOf({ shape }: Pod): number {
  return shape.priority ?? 0;
}

/**
 * Buffers come last, since any pod may have their room. Then higher priority first, then the longer waiting, then by name: the
 * result does not depend on the order of the watch.
 */
export function byPrecedence(left: Pod, right: Pod): number {
  return (
    Number(left.origin === 'buffer') - Number(right.origin === 'buffer') ||
    priorityOf(right) - priorityOf(left) ||
    left.createdAtMs - right.createdAtMs ||
    compareText(left.namespace, right.namespace) ||
    compareText(left.name, right.name)
  );
}
