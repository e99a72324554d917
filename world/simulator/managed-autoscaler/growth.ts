/** Which pool AKS's own autoscaler increases for pending pods, by how much. Pure. */
import type { PodObject } from '../cluster/store/objects.ts';
import { nodeReasons, requestsOf, type NodeUsage } from '../cluster/scheduler/node-filters.ts';
import { conditionOf, controllerOf } from '../cluster/store/objects.ts';
import { copyOf, isLeaving, isReady, placeAll, usagesOf, type ClusterContents, type PoolView } from './pool-view.ts';

export interface GrowthOption {
  readonly pool: PoolView;
  readonly nodes: number;
  readonly pods: readonly PodObject[];
}

/** Pods that kube-scheduler refused, and that fit neither a present node nor one that is on its way. */
export function podsWithoutRoom(contents: ClusterContents, pools: readonly PoolView[]): readonly PodObject[] {
  const pending = contents.pods.filter(isRefused).sort(largestFirst);
  if (pending.length === 0) return [];
  const present = usagesOf(
    contents.nodes.filter((node) => isReady(node) && !isLeaving(node)),
    contents.pods,
  );
  const upcoming = pools.flatMap((pool) => {
    const ready = pool.nodes.filter(isReady).length;
    return Array.from({ length: Math.max(0, pool.target - pool.failed.length - ready) }, () => copyOf(pool.template));
  });
  return placeAll(pending, [...present, ...upcoming]);
}

/** One option per pool that can take some of the pods. */
export function growthOptions(pods: readonly PodObject[], pools: readonly PoolView[]): readonly GrowthOption[] {
  return pools.flatMap((pool) => {
    const most = pool.spec.max - pool.target;
    const opened: NodeUsage[] = [];
    const helped = pods.filter((pod) => placeOnNew(pod, { opened, template: pool.template, most }));
    return helped.length === 0 ? [] : [{ pool, nodes: opened.length, pods: helped }];
  });
}

function placeOnNew(
  pod: PodObject,
  { opened, template, most }: { readonly opened: NodeUsage[]; readonly template: NodeUsage; readonly most: number },
): boolean {
  if (placeAll([pod], opened).length === 0) return true;
  if (opened.length >= most || nodeReasons(pod, template).length > 0) return false;
  const next = copyOf(template);
  opened.push(next);
  return placeAll([pod], [next]).length === 0;
}

function isRefused(pod: PodObject): boolean {
  const { spec, metadata } = pod;
  if (spec.nodeName !== undefined || metadata.deletionTimestamp !== undefined || controllerOf(pod)?.kind === 'DaemonSet') return false;
  const scheduled = conditionOf(pod, 'PodScheduled');
  return scheduled?.status === 'False' && scheduled.reason === 'Unschedulable';
}

function largestFirst(left: PodObject, right: PodObject): number {
  const size = (pod: PodObject): number => (requestsOf(pod).get('cpu') ?? 0) + (requestsOf(pod).get('memory') ?? 0) / 2 ** 22;
  return size(right) - size(left) || left.metadata.name.localeCompare(right.metadata.name);
}
