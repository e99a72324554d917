/**
 * Pods that controllers are about to create get room before they exist, so that a rollout finds its nodes on the way.
 * Upstream `pod_injection`, with one difference: a controller that reports that it cannot create pods gets no room.
 */
import type { ClusterView, Observation } from '../../../domain/observation.ts';
import { MAX_CLUSTER_PODS } from '../../../domain/platform-limits.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import { isNewer } from './newest-pods.ts';

export interface ExpectedPods {
  /** Copies of the newest pod of each controller. They exist only in the plan and must not appear in events. */
  readonly pods: readonly Pod[];
  /** Copies that the limit left out. */
  readonly skipped: number;
}

const NONE: ExpectedPods = { pods: [], skipped: 0 };

/**
 * One pod for each that a controller still lacks, if it has created one before. `others` is the number of pods that need room
 * already: together there may be up to `podInjectionLimit`, and only copies are left out.
 */
export function expectedPods(
  { cluster, nowMs }: Pick<Observation, 'cluster' | 'nowMs'>,
  policy: ScaleUpPolicy,
  others: number,
): ExpectedPods {
  const { workloads } = cluster;
  if (!policy.proactive || workloads.length === 0) return NONE;
  const known = podsByController(cluster);
  const allowed = Math.min(MAX_CLUSTER_PODS, Math.max(0, policy.podInjectionLimit - others));
  const pods: Pod[] = [];
  let skipped = 0;
  for (const { uid, desired } of workloads) {
    const own = known.get(uid);
    // A number that no cluster can have is a mistake, not a demand.
    if (own === undefined || desired > MAX_CLUSTER_PODS) continue;
    const missing = Math.max(0, desired - own.count);
    const count = Math.min(missing, allowed - pods.length);
    for (const copy of copiesOf(own.newest, { uid, count, nowMs })) pods.push(copy);
    skipped += missing - count;
  }
  return { pods, skipped };
}

interface Known {
  count: number;
  newest: Pod;
}

/** Without pods that are being deleted: their controller replaces them. */
function podsByController({ podsByNode, pendingPods }: ClusterView): ReadonlyMap<string, Known> {
  const known = new Map<string, Known>();
  for (const pods of [...podsByNode.values(), pendingPods]) {
    for (const pod of pods) {
      if (pod.controller === undefined || pod.deletionAtMs !== undefined) continue;
      const own = known.get(pod.controller.uid);
      if (own === undefined) known.set(pod.controller.uid, { count: 1, newest: pod });
      else {
        own.count += 1;
        if (isNewer(pod, own.newest)) own.newest = pod;
      }
    }
  }
  return known;
}

function copiesOf(sample: Pod, by: { readonly uid: string; readonly count: number; readonly nowMs: number }): readonly Pod[] {
  const status = { ...sample.status, unseen: false };
  return Array.from({ length: by.count }, (_none, at) => ({
    ...sample,
    uid: `${by.uid}-${at + 1}`,
    name: `${sample.name}-copy-${at + 1}`,
    nodeName: undefined,
    nominatedNodeName: undefined,
    phase: 'Pending',
    createdAtMs: by.nowMs,
    unschedulable: { sinceMs: by.nowMs, message: '' },
    ready: false,
    origin: 'expected',
    status,
  }));
}
