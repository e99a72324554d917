/** Pods that kube-scheduler gives up wherever they could go, since it cannot judge their claims on a node that is there. */
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import type { FitReason, PodVerdict } from '../../../domain/reasons.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';

/** Those that are left; the others get their verdict: no node would help, nor is there a place for them. */
export function withoutUnallocatableClaims(
  pods: readonly Pod[],
  groups: readonly NodeGroup[],
  snapshot: ClusterSnapshot,
  verdicts: Map<Pod, PodVerdict>,
): readonly Pod[] {
  const byShape = new Map<PodShape, PodVerdict | undefined>();
  return pods.filter((pod) => {
    if (pod.shape.devices === undefined) return true;
    if (!byShape.has(pod.shape)) byShape.set(pod.shape, verdictOnClaims(pod, groups, snapshot));
    const verdict = byShape.get(pod.shape);
    if (verdict !== undefined) verdicts.set(pod, verdict);
    return verdict === undefined;
  });
}

function verdictOnClaims(pod: Pod, groups: readonly NodeGroup[], snapshot: ClusterSnapshot): PodVerdict | undefined {
  const found = snapshot.deviceFault(pod);
  if (found === undefined) return undefined;
  const fit: FitReason = {
    kind: 'device',
    message: `kube-scheduler fails on node ${found.node}: ${found.fault}`,
    detail: 'the pod runs nowhere for as long as that is so',
  };
  return { kind: 'helpless', byGroup: groups.map(({ id }) => ({ group: id, fit: [fit] })) };
}
