/** Which pending pods ask for room at all, and in which order they get it. */
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import type { IgnoredPodReason } from '../../domain/reasons.ts';

/** Why a pending pod causes no scale-up, or undefined when it may. The first that applies wins. */
export function reasonToIgnore(pod: Pod, nowMs: number, policy: ScaleUpPolicy): IgnoredPodReason | undefined {
  if (pod.deletionAtMs !== undefined) return 'not-unschedulable';
  if (pod.nominatedNodeName !== undefined) return 'nominated';
  if (pod.unschedulable === undefined) return 'not-unschedulable';
  if (isExpendable(pod, policy)) return 'expendable';
  if (pod.daemonSet) return 'daemon-set';
  const delayMs = Math.max(policy.newPodDelayMs, pod.scaleUpDelayMs ?? 0);
  return delayMs > 0 && nowMs - pod.createdAtMs <= delayMs ? 'too-young' : undefined;
}

/** Only an explicit priority makes a pod expendable. */
export function isExpendable(pod: Pod, policy: ScaleUpPolicy): boolean {
  return pod.shape.priority !== undefined && pod.shape.priority < policy.expendablePriorityCutoff;
}

/** Higher priority first, then the longer waiting, then by name: the same whatever order the watch delivered. */
export function byPrecedence(left: Pod, right: Pod): number {
  return (
    (right.shape.priority ?? 0) - (left.shape.priority ?? 0) ||
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

export function compareText(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}
