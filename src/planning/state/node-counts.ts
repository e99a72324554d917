/** Nodes by state, in the words of the Cluster Autoscaler; what decisions, the status and the metrics go by. Pure. */
import { nodeGroupId, type InstanceKey, type NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { RESOURCE_NOT_READY, type Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import { hasTaint, TO_BE_DELETED_TAINT } from '../../domain/taints.ts';
import { isPreempted } from './preempted-nodes.ts';
import { maxProvisionMsOf } from './unregistered.ts';

/** The Cluster Autoscaler's `--max-node-startup-time`. */
const STARTUP_MS = 900_000;

/** A machine that is seen so long before it is first found to be no node was one in between. */
const WAS_NODE_MS = 60_000;

/** The five of `registered` exclude each other. */
export interface NodeCounts {
  readonly registered: number;
  readonly ready: number;
  readonly unready: number;
  /** Of the unready: those that only lack a device that they promise. */
  readonly resourceUnready: number;
  /** Not ready, and young enough that this is no fault. */
  readonly notStarted: number;
  /** Registered, and its machine is deallocated. */
  readonly suspended: number;
  /** On the way out, or without a machine although the node object is still there. */
  readonly beingDeleted: number;
  /** Machines that exist or come and are no nodes yet. */
  readonly unregistered: number;
  /** Of those: machines that were nodes, as far as this process saw. */
  readonly lost: number;
  /** Machines that are no nodes for longer than a node may take to join. */
  readonly longUnregistered: number;
}

export interface CountedNodes {
  readonly total: NodeCounts;
  readonly byGroup: ReadonlyMap<NodeGroupId, NodeCounts>;
}

export interface CountInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
}

type Tally = { -readonly [Key in keyof NodeCounts]: NodeCounts[Key] };
type NodeKind = 'ready' | 'unready' | 'notStarted' | 'suspended' | 'beingDeleted';

/** Every node of the cluster counts in the total, of our groups or not. */
export function countNodes(input: CountInput): CountedNodes {
  const { observation } = input;
  const total = emptyTally();
  const byGroup = new Map<NodeGroupId, Tally>(observation.cloud.groups.map((group) => [group.id, emptyTally()]));
  const lookup = lookupOf(observation);
  for (const [name, node] of observation.cluster.nodes) {
    const kind = kindOf(node, input, lookup);
    const group = observation.cloud.groupOfNode.get(name);
    const tally = group === undefined ? undefined : byGroup.get(group);
    for (const counts of tally === undefined ? [total] : [total, tally]) {
      counts.registered += 1;
      counts[kind] += 1;
      if (kind === 'unready' && node.readiness.reason === RESOURCE_NOT_READY) counts.resourceUnready += 1;
    }
  }
  const known = new Set(observation.cloud.instanceOfNode.values());
  for (const group of observation.cloud.groups) {
    const tally = byGroup.get(group.id) ?? emptyTally();
    countUnregistered(group, tally, { ...input, known });
    total.unregistered += tally.unregistered;
    total.lost += tally.lost;
    total.longUnregistered += tally.longUnregistered;
  }
  return { total, byGroup };
}

/** What the nodes are judged by, indexed once. */
interface Lookup {
  readonly groups: ReadonlyMap<NodeGroupId, NodeGroup>;
  readonly deallocated: ReadonlySet<InstanceKey>;
}

function lookupOf({ cloud }: Observation): Lookup {
  const deallocated = cloud.groups.flatMap(({ instances = [] }) =>
    instances.flatMap(({ key, state }) => (state === 'deallocated' ? [key] : [])),
  );
  return { groups: new Map(cloud.groups.map((group) => [group.id, group])), deallocated: new Set(deallocated) };
}

/** In the order of the Cluster Autoscaler: what is gone is not unready, whatever its kubelet last said. */
function kindOf(node: Node, { observation, state, policy }: CountInput, { groups, deallocated }: Lookup): NodeKind {
  const { cloud, nowMs } = observation;
  const group = groups.get(cloud.groupOfNode.get(node.name) ?? nodeGroupId(''));
  const instance = cloud.instanceOfNode.get(node.name);
  if (node.deletionAtMs !== undefined || state.deleting.has(node.name) || hasTaint(node.taints, TO_BE_DELETED_TAINT)) return 'beingDeleted';
  if (instance === undefined && hasLostInstance(node, group)) return 'beingDeleted';
  if (node.suspended === true) return 'suspended';
  if (node.readiness.ready) return 'ready';
  // Azure said that it takes the machine and has begun to: a wave over a Spot pool is no sickness of the cluster.
  if (isPreempted(node, nowMs)) return 'beingDeleted';
  if (instance !== undefined && deallocated.has(instance)) return 'suspended';
  return isStarting(node, group, { policy, nowMs }) ? 'notStarted' : 'unready';
}

/** A complete list that began after the node had joined does not show its machine; asked of a node that is known to no machine. */
export function hasLostInstance(node: Node, group: NodeGroup | undefined): boolean {
  return group?.instances !== undefined && group.instancesObservedAtMs !== undefined && node.createdAtMs < group.instancesObservedAtMs;
}

/** Not ready, and so young that this is no fault. Asked of a node that is not ready. */
export function isStarting(
  node: Pick<Node, 'createdAtMs'>,
  group: NodeGroup | undefined,
  { policy, nowMs }: { readonly policy: Policy; readonly nowMs: number },
): boolean {
  return nowMs - node.createdAtMs < startupMsOf(group, policy);
}

/** For how long a new node of the group that is not ready counts as starting, milliseconds. */
export function startupMsOf(group: NodeGroup | undefined, policy: Policy): number {
  return group?.options.maxStartupMs ?? policy.cluster?.maxStartupMs ?? STARTUP_MS;
}

/** Machines that are leaving, failed or stopped are not on their way to become nodes. */
function countUnregistered(group: NodeGroup, tally: Tally, input: CountInput & { readonly known: ReadonlySet<InstanceKey> }): void {
  const { known, state, observation, policy } = input;
  const oldestMs = observation.nowMs - maxProvisionMsOf(group, policy);
  for (const { key, state: doing, firstSeenMs } of group.instances ?? []) {
    if (known.has(key) || (doing !== 'creating' && doing !== 'running' && doing !== 'unknown')) continue;
    const sinceMs = state.unregisteredSince?.get(key) ?? firstSeenMs;
    if (sinceMs < oldestMs) {
      tally.longUnregistered += 1;
      continue;
    }
    tally.unregistered += 1;
    if (sinceMs - firstSeenMs > WAS_NODE_MS) tally.lost += 1;
  }
}

function emptyTally(): Tally {
  return {
    registered: 0,
    ready: 0,
    unready: 0,
    resourceUnready: 0,
    notStarted: 0,
    suspended: 0,
    beingDeleted: 0,
    unregistered: 0,
    lost: 0,
    longUnregistered: 0,
  };
}

/** Azure may still change its mind, and lists may lag: so long after it came to be of no use an evicted machine is left alone. */
const EVICTED_UNREADY_MS = 60_000;

/**
 * How long a node that is not ready is kept, milliseconds. A machine that Azure said it would take back and then deallocated
 * is no node that may recover: nobody starts it again, and it holds a place of its group.
 */
export function unreadyForMsOf(
  node: Pick<Node, 'name' | 'preemption'>,
  group: NodeGroup,
  { cloud, nowMs }: Pick<Observation, 'cloud' | 'nowMs'>,
  policy: Policy,
): number {
  const usualMs = group.options.unreadyForMs ?? policy.scaleDown.unreadyForMs;
  if (node.preemption === undefined || nowMs < node.preemption.deadlineMs) return usualMs;
  const key = cloud.instanceOfNode.get(node.name);
  const instance = group.instances?.find((candidate) => candidate.key === key);
  return instance?.state === 'deallocated' ? Math.min(EVICTED_UNREADY_MS, usualMs) : usualMs;
}

// Nodes that have not been ready for longer than an unready node is kept. A minimum is meant of nodes that work: in a group
// at its minimum they are replaced first and removed then, and ready nodes do not go in their stead.

/** How many by group; nodes on their way out and those that scale-down may not touch are left out, as are those still starting and groups without any. */
export function brokenNodes(observation: Observation, state: LoopState, policy: Policy): ReadonlyMap<NodeGroupId, number> {
  const { cluster, cloud, nowMs } = observation;
  const broken = new Map<NodeGroupId, number>();
  if (!policy.scaleDown.enabled || policy.scaleDown.unreadyEnabled === false) return broken;
  for (const [name, node] of cluster.nodes) {
    // Our own timer: conditions and taints do not say reliably since when a node is of no use. It runs only for nodes that could go.
    const sinceMs = state.unneededSince.get(name);
    if (sinceMs === undefined || node.readiness.ready || node.scaleDownDisabled) continue;
    if (node.deletionAtMs !== undefined || state.deleting.has(name) || hasTaint(node.taints, TO_BE_DELETED_TAINT)) continue;
    const id = cloud.groupOfNode.get(name);
    const group = cloud.groups.find((candidate) => candidate.id === id);
    if (group === undefined || isStarting(node, group, { policy, nowMs })) continue;
    if (nowMs - sinceMs > unreadyForMsOf(node, group, observation, policy)) broken.set(group.id, (broken.get(group.id) ?? 0) + 1);
  }
  return broken;
}
