/**
 * How a further pool like one that is there is added. The command makes no node: the autoscaler adds as many as pods need, and AKS would make three. The
 * other flags give the pool what its model has, and what AKS demands of every pool of the cluster.
 */
import { type NodeGroup, withTags } from '../../../domain/node-group.ts';
import { zonePart } from '../../../domain/node-template.ts';
import { taintText } from '../../../domain/taints.ts';
import { shell } from '../../../lib/shown-text.ts';
import type { FixStep } from './change.ts';
import { clusterFlags, flagOf, listOf, type PoolOfCommand } from './pool-commands.ts';

interface WantedPool extends PoolOfCommand {
  /** If absent, the zones are those of the group. */
  readonly zone: string | undefined;
  /** Pods of one node. If absent, the default of the cluster. */
  readonly maxPods: number | undefined;
  /** How many nodes it gets for the pods. */
  readonly nodes: number;
}

/** The pool that `group` is the model of, and the setting that makes it a node group if its tags do not. */
export function newPoolSteps({ group, cluster, zone, maxPods, nodes }: WantedPool): readonly FixStep[] {
  const max = Math.max(group?.maxSize ?? 0, nodes);
  const zones = zone === undefined ? (group?.zones ?? []) : [zone];
  const flags = [
    ...scalingFlags(group, max),
    ...flagOf('--zones', zones.map(zonePart)),
    ...(maxPods === undefined ? [] : [`--max-pods ${Math.ceil(maxPods)}`]),
    ...kindFlags(group),
    ...nameFlags(group, max),
  ];
  const command = ['az aks nodepool add', clusterFlags(cluster), '-n NEW_POOL --node-vm-size SIZE --node-count 0', ...flags].join(' ');
  const added: FixStep = { where: 'a new agent pool', command };
  if (group?.maxFrom !== 'settings') return [added];
  const patch = `nodeGroups: [{name: NEW_POOL, min: 0, max: ${max}}]`;
  return [added, { where: 'nodeGroups of the configuration, or the flag --nodes', patch }];
}

/** By what pods and the autoscaler find the pool. A tag is the maximum where tags are. */
function nameFlags(group: NodeGroup | undefined, max: number): readonly string[] {
  const { labels = {}, tags = {} } = group?.agentPool ?? {};
  const taints = (group?.template?.taints ?? []).map(taintText).join(',');
  return [
    ...flagOf('--node-taints', taints),
    ...flagOf('--labels', listOf(labels)),
    ...flagOf('--tags', listOf(group?.maxFrom === 'tag' ? withTags(tags, { max: String(max) }) : tags)),
  ];
}

/** A pool of AKS's own autoscaler is the model of another one. */
function scalingFlags(group: NodeGroup | undefined, max: number): readonly string[] {
  return group?.maxFrom === 'agent-pool' ? [`--enable-cluster-autoscaler --min-count 0 --max-count ${max}`] : [];
}

function kindFlags(group: NodeGroup | undefined): readonly string[] {
  const { subnetId } = group?.agentPool ?? {};
  return [
    ...(group?.priority === 'Spot' ? ['--priority Spot'] : []),
    ...(group?.template?.labels['kubernetes.io/os'] === 'windows' ? ['--os-type Windows'] : []),
    // AKS takes all pools of a cluster with a subnet of their own, or none.
    ...(subnetId === undefined ? [] : [shell`--vnet-subnet-id ${subnetId}`]),
  ];
}
