/**
 * Nodes by state, with the Cluster Autoscaler's names. Decisions, the status and the metrics use these counts. Pure.
 * Idea: health.
 */
import { nodeGroupId, type InstanceKey, type NodeGroupId, type NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { isQuarantined, isScaleDownDisabled, RESOURCE_NOT_READY, type Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import { hasTaint, TO_BE_DELETED_TAINT } from '../../domain/taints.ts';
import { factsOfGroups } from '../facts/group-facts.ts';
import { absentInstances, instanceListFacts, membershipFacts } from '../facts/instance-facts.ts';
import { nodeListFacts } from '../facts/node-list-facts.ts';

/** If an instance was seen this long before it first lacked a node, it had a node in between. */
const WAS_NODE_MS = 60_000;

/** The five states of registered nodes exclude each other. */
export interface NodeCounts {
  readonly registered: number;
  readonly ready: number;
  readonly unready: number;
  /** Unready nodes that only lack a device that their labels promise. */
  readonly resourceUnready: number;
  /** Not ready, and young enough that this is normal. */
  readonly notStarted: number;
  /** Registered, and the instance is deallocated. */
  readonly suspended: number;
  /** Being removed, or the node object exists without an instance. */
  readonly beingDeleted: number;
  /** Instances that exist or are being created and have no node yet. */
  readonly unregistered: number;
  /** Unregistered instances that had a node before, as far as this process saw. */
  readonly lost: number;
  /** Instances without a node for longer than a node may take to join. */
  readonly longUnregistered: number;
}

export interface CountedNodes {
  readonly total: NodeCounts;
  readonly byGroup: ReadonlyMap<NodeGroupId, NodeCounts>;
}

interface CountInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
}

type Tally = { -readonly [Key in keyof NodeCounts]: NodeCounts[Key] };
type NodeKind = 'ready' | 'unready' | 'notStarted' | 'suspended' | 'beingDeleted';

/** The last counts of an observation: decisions, the status and the metrics of one loop ask for the same. */
const counted = new WeakMap<Observation, { readonly input: CountInput; readonly counts: CountedNodes }>();

/** Every node of the cluster counts in the total, whether its group is managed or not. */
export function countNodes(input: CountInput): CountedNodes {
  const known = counted.get(input.observation);
  if (known?.input.state === input.state && known.input.policy === input.policy) return known.counts;
  const counts = countEachNode(input);
  counted.set(input.observation, { input, counts });
  return counts;
}

function countEachNode(input: CountInput): CountedNodes {
  const { observation } = input;
  const { cluster, cloud } = observation;
  const total = tallyOf(cluster.nodes.size);
  const members = factsOfGroups(observation);
  const byGroup = new Map<NodeGroupId, Tally>(cloud.groups.map(({ id }) => [id, tallyOf(members.get(id)?.nodes ?? 0)]));
  const lookup = lookupOf(observation);
  for (const node of exceptionalNodes(input)) {
    const kind = kindOf(node, input, lookup);
    const group = cloud.groupOfNode.get(node.name);
    const tally = group === undefined ? undefined : byGroup.get(group);
    for (const counts of tally === undefined ? [total] : [total, tally]) {
      counts.ready -= 1;
      counts[kind] += 1;
      if (kind === 'unready' && node.readiness.reason === RESOURCE_NOT_READY) counts.resourceUnready += 1;
    }
  }
  for (const group of cloud.groups) {
    const tally = byGroup.get(group.id) ?? tallyOf(0);
    countUnregistered(group, tally, input);
    total.unregistered += tally.unregistered;
    total.lost += tally.lost;
    total.longUnregistered += tally.longUnregistered;
  }
  return { total, byGroup };
}

/** Nodes that count as unready: not those that start, stop or are leaving. */
export function unreadyNodes(input: CountInput): readonly Node[] {
  const { unready } = nodeListFacts(input.observation.cluster.nodes);
  if (unready.length === 0) return unready;
  const lookup = lookupOf(input.observation);
  return unready.filter((node) => kindOf(node, input, lookup) === 'unready');
}

/** Every other node is ready, see {@link kindOf}. In a large cluster that is most of them. */
function exceptionalNodes({ observation: { cluster, cloud }, state }: CountInput): ReadonlySet<Node> {
  const { unready, departing, suspended } = nodeListFacts(cluster.nodes);
  const named = [...state.deleting.keys(), ...membershipFacts(cloud).unlisted].flatMap((name) => cluster.nodes.get(name) ?? []);
  return new Set([...unready, ...departing, ...suspended, ...named]);
}

/** Indexes for the classification of nodes, built once per count. */
interface Lookup {
  readonly groups: ReadonlyMap<NodeGroupId, NodeGroup>;
  readonly deallocated: ReadonlySet<InstanceKey>;
}

function lookupOf({ cloud }: Observation): Lookup {
  const deallocated = cloud.groups.flatMap((group) => instanceListFacts(group).deallocated.map(({ key }) => key));
  return { groups: new Map(cloud.groups.map((group) => [group.id, group])), deallocated: new Set(deallocated) };
}

/** In the Cluster Autoscaler's order: a node without an instance is not unready, whatever its kubelet last reported. */
function kindOf(node: Node, { observation, state, policy }: CountInput, { groups, deallocated }: Lookup): NodeKind {
  const { cloud, nowMs } = observation;
  const group = groups.get(cloud.groupOfNode.get(node.name) ?? nodeGroupId(''));
  const instance = cloud.instanceOfNode.get(node.name);
  if (node.deletionAtMs !== undefined || state.deleting.has(node.name) || hasTaint(node.taints, TO_BE_DELETED_TAINT)) return 'beingDeleted';
  if (instance === undefined && hasLostInstance(node, group)) return 'beingDeleted';
  if (node.suspended) return 'suspended';
  if (node.readiness.ready) return 'ready';
  // Azure announced that it takes the instance back: a wave of evictions over a Spot pool is not an unhealthy cluster.
  if (isPreempted(node, nowMs)) return 'beingDeleted';
  if (instance !== undefined && deallocated.has(instance)) return 'suspended';
  return isStarting(node, group, { policy, nowMs }) ? 'notStarted' : 'unready';
}

/** Whether a complete instance list, begun after the node joined, lacks its instance. Call it for nodes without a known instance. */
export function hasLostInstance(node: Node, group: NodeGroup | undefined): boolean {
  return group?.instances !== undefined && group.instancesObservedAtMs !== undefined && node.createdAtMs < group.instancesObservedAtMs;
}

/** Whether a node that is not ready is young enough that this is normal. Call it for nodes that are not ready. */
export function isStarting(
  node: Pick<Node, 'createdAtMs'>,
  group: NodeGroup | undefined,
  { policy, nowMs }: { readonly policy: Policy; readonly nowMs: number },
): boolean {
  return nowMs - node.createdAtMs < optionsOf(group, policy).maxStartupMs;
}

/** Instances that are being deleted, failed or stopped never become nodes. */
function countUnregistered(group: NodeGroup, tally: Tally, { state, observation, policy }: CountInput): void {
  const oldestMs = observation.nowMs - optionsOf(group, policy).maxProvisionMs;
  for (const { key, state: doing, firstSeenMs } of absentInstances(group, observation.cloud)) {
    if (doing !== 'creating' && doing !== 'running' && doing !== 'unknown') continue;
    const sinceMs = state.unregisteredSince?.get(key) ?? firstSeenMs;
    if (sinceMs < oldestMs) {
      tally.longUnregistered += 1;
      continue;
    }
    tally.unregistered += 1;
    if (sinceMs - firstSeenMs > WAS_NODE_MS) tally.lost += 1;
  }
}

/** Of so many nodes that are all ready. */
function tallyOf(ready: number): Tally {
  return {
    registered: ready,
    ready,
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

/** Azure may reverse an eviction, and lists may lag: an evicted instance is frozen for this long after it stopped working. */
const EVICTED_UNREADY_MS = 60_000;

/**
 * How long an unready node is kept, milliseconds. An instance that Azure evicted and deallocated does not recover: it is not restarted,
 * and it occupies a place of its group.
 */
export function unreadyForMsOf(
  node: Pick<Node, 'name' | 'preemption'>,
  group: NodeGroup,
  { cloud, nowMs }: Pick<Observation, 'cloud' | 'nowMs'>,
  policy: Policy,
): number {
  const usualMs = optionsOf(group, policy).unreadyForMs;
  if (node.preemption === undefined || nowMs < node.preemption.deadlineMs) return usualMs;
  const key = cloud.instanceOfNode.get(node.name);
  const instance = group.instances?.find((candidate) => candidate.key === key);
  return instance?.state === 'deallocated' ? Math.min(EVICTED_UNREADY_MS, usualMs) : usualMs;
}

// Nodes that are unready for longer than an unready node is kept, and those that AKS left aside at an upgrade. The minimum size means working
// nodes: a group at its minimum first replaces such nodes and then removes them, and no working node is removed in their place.

/**
 * The number of broken nodes by group. Nodes being removed, starting, or unready and protected from scale-down do not count. Groups without
 * broken nodes are absent.
 */
export function brokenNodes(observation: Observation, state: LoopState, policy: Policy): ReadonlyMap<NodeGroupId, number> {
  const { cluster, cloud, nowMs } = observation;
  const broken = quarantinedByGroup(observation, state);
  if (!policy.scaleDown.enabled || !policy.scaleDown.unreadyEnabled) return broken;
  for (const node of nodeListFacts(cluster.nodes).unready) {
    const { name } = node;
    // Our own timer, since conditions and taints do not show reliably when a node stopped working. It runs only for nodes that could be
    // removed.
    const sinceMs = state.unneededSince.get(name);
    if (sinceMs === undefined || isScaleDownDisabled(node, nowMs)) continue;
    if (node.deletionAtMs !== undefined || state.deleting.has(name) || hasTaint(node.taints, TO_BE_DELETED_TAINT)) continue;
    const id = cloud.groupOfNode.get(name);
    const group = cloud.groups.find((candidate) => candidate.id === id);
    if (group === undefined || isStarting(node, group, { policy, nowMs })) continue;
    if (nowMs - sinceMs > unreadyForMsOf(node, group, observation, policy)) broken.set(group.id, (broken.get(group.id) ?? 0) + 1);
  }
  return broken;
}

function quarantinedByGroup({ cluster, cloud }: Observation, state: LoopState): Map<NodeGroupId, number> {
  const counts = new Map<NodeGroupId, number>();
  for (const node of nodeListFacts(cluster.nodes).quarantined) {
    const group = cloud.groupOfNode.get(node.name);
    // guard: a node that AKS quarantined is no working node of its group
    if (group !== undefined && isLeftAside(node, state)) counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return counts;
}

/** An unready one counts by its readiness, like any other. */
function isLeftAside({ name, readiness, deletionAtMs, taints }: Node, { deleting }: LoopState): boolean {
  return readiness.ready && deletionAtMs === undefined && !deleting.has(name) && !hasTaint(taints, TO_BE_DELETED_TAINT);
}

/** Whether it counts for the minimum size of its group. */
export function isWorking(node: Node): boolean {
  return node.readiness.ready && !isQuarantined(node);
}

/**
 * An instance is gone within seconds of its deadline. A node that outlives the deadline by this much was spared, or is
 * deallocated and kept its last conditions. In both cases the announcement no longer counts.
 */
const OUTLIVED_AFTER_MS = 300_000;

export function isPreempted({ preemption }: Pick<Node, 'preemption'>, nowMs: number): boolean {
  return preemption !== undefined && nowMs < preemption.deadlineMs + OUTLIVED_AFTER_MS;
}

/** Announced nodes of managed groups, in the order of the view. Other nodes are not ours to replace. */
export function preemptedNodes({ cluster, cloud, nowMs }: Pick<Observation, 'cluster' | 'cloud' | 'nowMs'>): readonly NodeName[] {
  const names: NodeName[] = [];
  for (const node of nodeListFacts(cluster.nodes).preempted)
    if (isPreempted(node, nowMs) && cloud.groupOfNode.has(node.name)) names.push(node.name);
  return names;
}
