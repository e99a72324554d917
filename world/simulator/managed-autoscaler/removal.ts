/** Which nodes AKS's own autoscaler does not need, and why it keeps the others. Pure. */
import { selects } from '../cluster/store/selectors.ts';
import { controllerOf, type BudgetObject, type NodeObject, type PodObject } from '../cluster/store/objects.ts';
import { usageOf, type NodeUsage } from '../cluster/scheduler/node-filters.ts';
import { copyOf, isLeaving, isReady, placeAll, usagesOf, type ClusterContents, type PoolView } from './pool-view.ts';
import type { AutoscalerProfile } from './profile.ts';

export interface UnneededNode {
  readonly pool: PoolView;
  readonly node: NodeObject;
  /** Pods that must move. */
  readonly pods: readonly PodObject[];
}

interface RemovalInput {
  readonly contents: ClusterContents;
  readonly budgets: readonly BudgetObject[];
  readonly pools: readonly PoolView[];
  readonly profile: AutoscalerProfile;
}

/** Nodes that are little used and whose pods fit elsewhere, each beside the ones before it. */
export function unneededNodes(input: RemovalInput): readonly UnneededNode[] {
  const { contents, pools } = input;
  const gone = new Set(contents.nodes.filter((node) => isLeaving(node) || !isReady(node)).map(({ metadata }) => metadata.name));
  const usages = usagesOf(contents.nodes, contents.pods).map(copyOf);
  return pools.flatMap((pool) => {
    const removable = pool.nodes.filter(isReady).filter((node) => !isLeaving(node));
    let spare = Math.min(pool.target, pool.nodes.length) - pool.nodes.filter(isLeaving).length - pool.spec.min;
    return removable.flatMap((node): readonly UnneededNode[] => {
      if (spare <= 0) return [];
      const pods = movablePods(node, input);
      if (pods === undefined) return [];
      const others = usages.filter(({ node: { metadata } }) => metadata.name !== node.metadata.name && !gone.has(metadata.name));
      if (placeAll(pods, others.map(copyOf)).length > 0) return [];
      placeAll(pods, others);
      gone.add(node.metadata.name);
      spare -= 1;
      return [{ pool, node, pods }];
    });
  });
}

/** The pods that must move. undefined: the node is used too much, or one of its pods must not be moved. */
function movablePods(node: NodeObject, { contents, budgets, profile }: RemovalInput): readonly PodObject[] | undefined {
  const pods = contents.pods.filter(
    ({ spec, status }) => spec.nodeName === node.metadata.name && status.phase !== 'Succeeded' && status.phase !== 'Failed',
  );
  if (utilizationOf(usageOf(node, pods)) >= profile.utilizationThreshold) return undefined;
  const moving = pods.filter((pod) => controllerOf(pod)?.kind !== 'DaemonSet' && pod.metadata.deletionTimestamp === undefined);
  return moving.some((pod) => blockOf(pod, budgets, profile) !== undefined) ? undefined : moving;
}

/** Why a pod keeps its node (ca-core: drainability rules). undefined: it does not. */
function blockOf(pod: PodObject, budgets: readonly BudgetObject[], profile: AutoscalerProfile): string | undefined {
  const safe = pod.metadata.annotations?.['cluster-autoscaler.kubernetes.io/safe-to-evict'];
  const own = budgets.filter(
    ({ metadata, spec }) => metadata.namespace === pod.metadata.namespace && selects(spec.selector, pod.metadata.labels),
  );
  if (safe === 'false') return 'safe-to-evict is false';
  if (own.some(({ status }) => (status?.disruptionsAllowed ?? 0) < 1)) return 'not enough pod disruption budget';
  if (safe === 'true') return undefined;
  if (controllerOf(pod) === undefined) return 'not replicated';
  if (profile.keepsSystemPods && pod.metadata.namespace === 'kube-system' && own.length === 0) return 'unmovable kube-system pod';
  return profile.keepsLocalStorage && hasLocalStorage(pod) ? 'local storage' : undefined;
}

function hasLocalStorage({ spec }: PodObject): boolean {
  const volumes = Array.isArray(spec['volumes']) ? (spec['volumes'] as readonly Readonly<Record<string, unknown>>[]) : [];
  return volumes.some(
    (volume) =>
      'hostPath' in volume || ('emptyDir' in volume && (volume['emptyDir'] as { readonly medium?: string } | null)?.medium !== 'Memory'),
  );
}

/** The larger share of CPU and memory, with the pods of DaemonSets. */
function utilizationOf({ allocatable, used }: NodeUsage): number {
  return Math.max(...['cpu', 'memory'].map((name) => (used.get(name) ?? 0) / (allocatable.get(name) ?? Infinity)));
}
