/**
 * Pods that nodes on their way were requested for, with the group of the nodes. The loop remembers its own increases. Nodes that it does
 * not remember, such as those of an earlier process, are explained by a plan as if they had not been requested: if that plan requests no
 * more than is on its way, they are for its pods. Must not know how pods are packed.
 */
import { isReal, type Pod } from '../../domain/pod.ts';
import type { NodeGroupId, NodeName, PodUid } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ClusterView, CloudView } from '../../domain/observation.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import { awaitedPods } from '../state/accepted-increases.ts';
import { ownIncreases, withoutAwaited } from '../state/increases/increase-records.ts';
import type { UpcomingGroupNodes } from './groups/existing-capacity.ts';
import { variantsForPods } from './groups/template-node.ts';
import { groupPods } from './pods/equivalence-groups.ts';
import { repeatedRefusals } from './pods/repeated-refusals.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import type { ScaleUpInput } from './plan-input.ts';

export type AwaitedPods = ReadonlyMap<PodUid, NodeGroupId>;

/**
 * By the loop's memory; and before its first increase by the age of the pods' verdicts. Pods that kube-scheduler has refused with every
 * node of the cluster wait no longer for nodes that are ready.
 */
export function findAwaitedPods(input: ScaleUpInput, upcoming: readonly UpcomingGroupNodes[], pods: readonly Pod[]): AwaitedPods {
  const { state, observation } = input;
  const isRefusedAgain = repeatedRefusals(observation.cluster);
  if (!state.knowsAccepted)
    return podsToLookAt(
      upcoming,
      pods.filter((pod) => !isRefusedAgain(pod)),
      observation.cluster,
    );
  return awaitedPods(state, observation.nowMs, new Set(pods.filter(isRefusedAgain).map(({ uid }) => uid)));
}

/**
 * Pods that kube-scheduler refused before a node became ready that would serve them, and that it may not have looked at since. And pods
 * that exist only in plans: whether nodes were requested for them before is unknown, and they can wait.
 */
function podsToLookAt(upcoming: readonly UpcomingGroupNodes[], pods: readonly Pod[], { nodes }: ClusterView): AwaitedPods {
  const awaited = new Map<PodUid, NodeGroupId>();
  for (const {
    template,
    upcoming: { fresh },
  } of upcoming) {
    if (fresh.length === 0) continue;
    const readyMs = fresh.reduce((latest, name) => Math.max(latest, nodes.get(name)?.readiness.sinceMs ?? 0), 0);
    const earlier = pods.filter((pod) => !awaited.has(pod.uid) && (!isReal(pod) || (pod.unschedulable?.sinceMs ?? Infinity) < readyMs));
    for (const group of groupPods(earlier, new Map())) {
      if (variantsForPods(group, template) === 0) continue;
      for (const { uid } of group.pods) awaited.set(uid, template.group.id);
    }
  }
  return awaited;
}

/** Groups with nodes on their way that no remembered increase explains. */
export function unexplainedNodes({ state }: ScaleUpInput, upcoming: readonly UpcomingGroupNodes[]): readonly UpcomingGroupNodes[] {
  return upcoming.filter(({ template }) => ownIncreases(state, template.group.id).length === 0);
}

/**
 * The pods that these nodes are for, by a plan as if the nodes had not been requested. Only of groups that it grows by no more nodes. Removes
 * the nodes from the snapshot.
 */
export function* explainNodes(
  input: ScaleUpInput & { readonly snapshot: ClusterSnapshot },
  unexplained: readonly UpcomingGroupNodes[],
  plan: (input: ScaleUpInput) => SlicedWork<ScaleUpPlan>,
): SlicedWork<AwaitedPods> {
  const removed = new Map(unexplained.map((nodes) => [nodes.template.group.id, removable(nodes, input)]));
  for (const { names } of removed.values()) for (const name of names) input.snapshot.removeNode(name);
  const { increases } = yield* plan(withoutNodes(input, removed));
  const explained = increases.filter(({ group, from, to }) => to - from <= (removed.get(group)?.count ?? 0));
  return new Map(explained.flatMap(({ group, pods }) => pods.map(({ uid }) => [uid, group] as const)));
}

interface RemovedNodes {
  /** Includes those that have not registered. */
  readonly count: number;
  readonly names: readonly NodeName[];
}

/** Upcoming nodes, and fresh nodes on which only daemon pods run. */
function removable({ upcoming }: UpcomingGroupNodes, { observation }: ScaleUpInput): RemovedNodes {
  const { podsByNode } = observation.cluster;
  const isEmpty = (name: NodeName): boolean => (podsByNode.get(name) ?? []).every((pod) => pod.daemonSet || pod.mirror);
  const names = [...upcoming.unready, ...upcoming.fresh].filter(isEmpty);
  return { count: upcoming.unregistered.length + names.length, names };
}

function withoutNodes(input: ScaleUpInput, removed: ReadonlyMap<NodeGroupId, RemovedNodes>): ScaleUpInput {
  const { observation, state } = input;
  const { cluster, cloud } = observation;
  const names = new Set([...removed.values()].flatMap((nodes) => nodes.names));
  const nodes = new Map([...cluster.nodes].filter(([name]) => !names.has(name)));
  const groupOfNode = new Map([...cloud.groupOfNode].filter(([name]) => !names.has(name)));
  const instanceOfNode = new Map([...cloud.instanceOfNode].filter(([name]) => !names.has(name)));
  const groups = cloud.groups.map((group) => withoutUpcoming(group, removed.get(group.id)?.count, instanceOfNode));
  return {
    ...input,
    observation: { ...observation, cluster: { ...cluster, nodes }, cloud: { ...cloud, groups, groupOfNode, instanceOfNode } },
    state: { ...state, increases: withoutAwaited(state.increases, removed.keys()), knowsAccepted: true },
  };
}

function withoutUpcoming(group: NodeGroup, count: number | undefined, instanceOfNode: CloudView['instanceOfNode']): NodeGroup {
  const { target, instances } = group;
  if (count === undefined || !target.known) return group;
  const registered = new Set(instanceOfNode.values());
  return {
    ...group,
    target: { ...target, value: target.value - count },
    ...(instances === undefined ? {} : { instances: instances.filter(({ key }) => registered.has(key)) }),
  };
}
