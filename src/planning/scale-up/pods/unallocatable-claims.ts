/** Pods that kube-scheduler rejects on all nodes, because it fails to evaluate their device claims on one present node. */
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import type { FitReason, PodVerdict } from '../../../domain/reasons.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';

/** Returns the other pods. The rejected ones get their verdict: neither a present nor a new node helps them. */
export function withoutUnallocatableClaims(
  pods: readonly Pod[],
  groups: readonly NodeGroup[],
  snapshot: ClusterSnapshot,
  verdicts: Map<Pod, PodVerdict>,
): readonly Pod[] {
  const byShape = new Map<PodShape, PodVerdict | undefined>();
  return pods.filter((pod) => {
    if (pod.shape.devices.claims.length === 0) return true;
    if (!byShape.has(pod.shape)) byShape.set(pod.shape, verdictOnClaims(pod, groups, snapshot));
    const verdict = byShape.get(pod.shape);
    if (verdict !== undefined) verdicts.set(pod, verdict);
    return verdict === undefined;
  });
}

function verdictOnClaims(pod: Pod, groups: readonly NodeGroup[], snapshot: ClusterSnapshot): PodVerdict | undefined {
  const found = snapshot.deviceAllocationFailure(pod);
  if (found === undefined) return undefined;
  const fit: FitReason = {
    kind: 'device',
    message: `kube-scheduler fails on node ${found.node}: ${found.fault}`,
    detail: 'until that is fixed, the pod cannot run on any node',
  };
  return { kind: 'helpless', byGroup: groups.map(({ id }) => ({ group: id, fit: [fit] })) };
}
