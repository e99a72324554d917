/**
 * The newest pod of a workload, as the API server admitted it: with side-cars and defaults that the workload's template lacks. Pure. Must not know
 * what a copy of it is for.
 */
import { restrictsNodes } from '../../../domain/volumes.ts';
import type { ScalableWorkload } from '../../../domain/capacity-objects.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';

type WorkloadName = Pick<ScalableWorkload, 'kind' | 'namespace' | 'name'>;
type Pods = Pick<ClusterView, 'podsByNode' | 'pendingPods'>;

const known = new WeakMap<Pods, Map<string, Pod | undefined>>();

/** undefined: it has no pod, or only pods with claims and devices of their own, which no copy has. Remembered for the view. */
export function newestPodOf(workload: WorkloadName, cluster: Pods): Pod | undefined {
  const found = known.get(cluster) ?? new Map<string, Pod | undefined>();
  known.set(cluster, found);
  const key = `${workload.kind}/${workload.namespace}/${workload.name}`;
  if (!found.has(key)) found.set(key, findNewest(workload, cluster));
  return found.get(key);
}

function findNewest(workload: WorkloadName, { podsByNode, pendingPods }: Pods): Pod | undefined {
  let newest: Pod | undefined;
  for (const pods of [...podsByNode.values(), pendingPods]) {
    for (const pod of pods) if (isOf(pod, workload) && mayBeCopied(pod) && (newest === undefined || isNewer(pod, newest))) newest = pod;
  }
  return newest;
}

/** A Deployment names its ReplicaSets after itself and the hash of their template, which is a label of each pod. */
function isOf({ namespace, controller, shape }: Pod, workload: WorkloadName): boolean {
  if (namespace !== workload.namespace || controller === undefined) return false;
  if (workload.kind !== 'Deployment') return controller.kind === workload.kind && controller.name === workload.name;
  const hash = shape.labels['pod-template-hash'];
  return hash !== undefined && controller.kind === 'ReplicaSet' && controller.name === `${workload.name}-${hash}`;
}

/** A claim, a device or a place in a group belongs to the one pod. */
function mayBeCopied({ deletionAtMs, shape }: Pod): boolean {
  const { volumes, sharedVolumes, loneDisks, deviceClaims, gang, unsupported } = shape;
  // guard: a copy of a pod does not stand on the volumes and devices of that pod
  if (restrictsNodes(volumes) || [sharedVolumes, loneDisks, deviceClaims, unsupported].some((own) => own.length > 0)) return false;
  return gang === undefined && deletionAtMs === undefined;
}

/** Of two pods of one time, the one with the greater uid. */
export function isNewer(pod: Pod, than: Pod): boolean {
  return pod.createdAtMs > than.createdAtMs || (pod.createdAtMs === than.createdAtMs && pod.uid > than.uid);
}
