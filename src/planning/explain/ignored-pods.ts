/** Why a pending pod asks for nothing, in a sentence: no group was asked about it. */
import type { Pod } from '../../domain/pod.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import type { IgnoredPodReason } from '../../domain/reasons.ts';

/** The reason's name first. */
export function explainIgnored(reason: IgnoredPodReason, pod: Pod, policy: ScaleUpPolicy): string {
  return `${reason}: ${describeIgnored(reason, pod, policy)}`;
}

function describeIgnored(reason: IgnoredPodReason, pod: Pod, policy: ScaleUpPolicy): string {
  const { shape } = pod;
  switch (reason) {
    case 'not-unschedulable':
      return pod.deletionAtMs === undefined
        ? 'kube-scheduler has not refused it (a scheduling gate holds it, or it was not looked at yet)'
        : 'it is being deleted';
    case 'nominated':
      return `it waits for its place on node ${pod.nominatedNodeName ?? ''}, which kube-scheduler makes free`;
    case 'expendable':
      return `its priority ${shape.priority ?? 0} is below ${policy.expendablePriorityCutoff} (scaleUp.expendablePriorityCutoff)`;
    case 'daemon-set':
      return 'pods of DaemonSets come with nodes and ask for none';
    case 'too-young':
      return 'it is younger than the delay before pods cause a scale-up';
    case 'other-scheduler':
      return `its scheduler ${shape.schedulerName} is none of ${(policy.allowedSchedulers ?? []).join(', ')} (scaleUp.allowedSchedulers)`;
    case 'consumes-request':
      return `it takes the room of the ProvisioningRequest ${pod.consumes ?? ''}`;
  }
}
