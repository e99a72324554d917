/** Why a pending pod was left out of scale-up, in one sentence. No group was evaluated for it. */
import type { Pod } from '../../domain/pod.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import type { IgnoredPodReason, PodVerdict } from '../../domain/reasons.ts';

type Ignored = Extract<PodVerdict, { readonly kind: 'ignored' }>;

/** The sentence begins with the reason's name. */
export function explainIgnored({ reason, detail }: Ignored, pod: Pod, policy: ScaleUpPolicy): string {
  return `${reason}: ${detail ?? describeIgnored(reason, pod, policy)}`;
}

function describeIgnored(reason: IgnoredPodReason, pod: Pod, policy: ScaleUpPolicy): string {
  const { shape } = pod;
  switch (reason) {
    case 'not-unschedulable':
      if (pod.deletionAtMs !== undefined) return 'it is being deleted';
      return pod.status.unseen
        ? 'kube-scheduler has not tried it yet, or a scheduling gate holds it (spec.schedulingGates)'
        : 'kube-scheduler does not try it: a scheduling gate holds it (spec.schedulingGates) until its controller removes the gate';
    case 'nominated':
      return `kube-scheduler is making room for it on node ${pod.nominatedNodeName ?? ''}`;
    case 'expendable':
      return `its priority ${shape.priority ?? 0} is below ${policy.expendablePriorityCutoff} (scaleUp.expendablePriorityCutoff)`;
    case 'daemon-set':
      return 'DaemonSet pods run on nodes that are there and never cause a scale-up';
    case 'too-young':
      return 'it is younger than the delay before pods cause a scale-up';
    case 'other-scheduler':
      return `its scheduler ${shape.schedulerName} is not in scaleUp.allowedSchedulers (${policy.allowedSchedulers.join(', ')})`;
    case 'gang-incomplete':
      return `fewer pods of its ${shape.gang ?? 'group'} exist than must start together`;
    case 'consumes-request':
      return `it uses the capacity of ProvisioningRequest ${pod.annotations.consumes ?? ''}`;
  }
}
