/** Which nodes one change may free together. In a large cluster, only they are planned: all others are taken to stay. */
import { podName, type NodeName } from '../../../domain/ids.ts';
import { isWhole } from '../../../domain/node-group.ts';
import type { ClusterView, Observation } from '../../../domain/observation.ts';
import type { UnremovableNode } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { workloadOf } from '../changes/workload.ts';
import type { RemovalInput } from './simulate-removals.ts';
import { selects } from '../changes/budget-changes.ts';

/** Up to so many nodes, all are planned. */
const ALL_UP_TO_NODES = 300;
const MOST_RELATED = 40;

/** The node and those that the same thing keeps, as far as `kept` says; undefined: all nodes. */
export function relatedNodes(name: NodeName, input: RemovalInput, kept: readonly UnremovableNode[]): ReadonlySet<NodeName> | undefined {
  const { cluster, cloud } = input.observation;
  if (cluster.nodes.size <= ALL_UP_TO_NODES) return undefined;
  const group = cloud.groups.find(({ id }) => id === cloud.groupOfNode.get(name));
  const siblings = [...cluster.nodes.keys()].filter(
    (node) => group !== undefined && isWhole(group) && cloud.groupOfNode.get(node) === group.id,
  );
  const own = kept.find(({ node }) => node === name);
  const key = own === undefined ? undefined : blockerKey(own, input.observation);
  const alike = kept.filter((entry) => key !== undefined && blockerKey(entry, input.observation) === key).slice(0, MOST_RELATED);
  return new Set([name, ...siblings, ...alike.map(({ node }) => node)].filter((node) => cluster.nodes.has(node)));
}

/** Equal for nodes that the same budget, workload or group keeps. */
export function blockerKey({ node, reason, blocker }: UnremovableNode, { cluster, cloud }: Observation): string {
  const pod = blocker === undefined ? undefined : (cluster.podsByNode.get(node) ?? []).find((each) => podName(each) === blocker.pod);
  if (blocker === undefined || pod === undefined) return JSON.stringify([reason, cloud.groupOfNode.get(node)]);
  return JSON.stringify([blocker.reason, blocker.reason === 'NotEnoughPdb' ? budgetsOf(pod, cluster) : workloadOf(pod)]);
}

function budgetsOf(pod: Pod, { disruptionBudgets }: ClusterView): readonly string[] {
  return disruptionBudgets.filter((budget) => selects(budget, pod)).map(podName);
}
