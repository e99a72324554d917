/**
 * Nodes that were requested from Azure and have not joined as ready nodes yet. Derived from what Azure and the cluster
 * report now, so that a restart in the middle of a scale-up does not request them twice.
 */
import type { InstanceKey, NodeGroupId, NodeName } from '../../../domain/ids.ts';
import type { LoopState } from '../../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../../domain/node-group.ts';
import { isBeingRemoved, type Node } from '../../../domain/node.ts';
import type { Observation } from '../../../domain/observation.ts';
import { optionsOf, type Policy } from '../../../domain/policy.ts';
import { factsOfGroups } from '../../facts/group-facts.ts';
import { absentInstances, instanceListFacts, membershipFacts } from '../../facts/instance-facts.ts';
import { schedulerWaitMs } from '../../state/accepted-increases.ts';
import { mayBeUnlisted } from '../../state/in-flight-increases.ts';
import { isStarting } from '../../state/node-counts.ts';
import { awaitsDevices, awaitsDrivers, driversNeededBy } from './unpublished-devices.ts';
import { awaitedSinceMs } from '../../state/unregistered.ts';
import { AZURE_DISK_ZONE } from '../../../domain/volumes.ts';
import { inFlight } from '../../state/increases/increase-records.ts';

export interface UpcomingNodes {
  /** One entry for each instance, or unlisted part of the target size, without a registered node: its zone, if known. */
  readonly unregistered: readonly (string | undefined)[];
  /** Registered nodes that are not ready yet and may still become ready; sorted. */
  readonly unready: readonly NodeName[];
  /** Registered nodes that became ready so recently that kube-scheduler may not have filled them yet; sorted. */
  readonly fresh: readonly NodeName[];
}

/** What the upcoming nodes of every group are found from. Made once per plan. */
export interface UpcomingNodesIndex {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly nodesByGroup: ReadonlyMap<NodeGroupId, readonly NodeName[]>;
  /** Instances that have a node. */
  readonly registered: ReadonlySet<InstanceKey>;
  /** Instances that we are removing. */
  readonly leaving: ReadonlySet<InstanceKey>;
  /** Whether a pending pod claims a volume. */
  readonly volumesClaimed: boolean;
  /** CSI drivers that pending pods need on their node. */
  readonly driversNeeded: ReadonlySet<string>;
}

export function indexUpcomingNodes(input: Pick<UpcomingNodesIndex, 'observation' | 'state' | 'policy'>): UpcomingNodesIndex {
  const { observation, state, policy } = input;
  const { cloud, cluster } = observation;
  const { nodesByGroup, joined } = membershipFacts(cloud);
  return {
    observation,
    state,
    policy,
    nodesByGroup,
    registered: joined,
    leaving: new Set([...state.deleting.values()].map((removal) => removal.instance)),
    volumesClaimed: cluster.pendingPods.some(({ mounts }) => mounts.claims.length > 0),
    driversNeeded: driversNeededBy(cluster.pendingPods),
  };
}

/** The nodes of the group that count as capacity to come: those that have not registered, and those that are not ready. */
export function findUpcomingNodes(group: NodeGroup, index: UpcomingNodesIndex): UpcomingNodes {
  const absent = absentInstances(group, index.observation.cloud);
  const joining = absent.filter((instance) => isJoining(instance, group, index));
  const promised = Array.from({ length: unlistedPromise(group, index) }, () => undefined);
  const recent = mayHaveRecentNodes(group, index) ? nodesOf(group, index) : [];
  const unready = new Set(recent.filter((name) => isBecomingReady(name, group, index)));
  const fresh = recent.filter((name) => isFreshlyReady(name, index) && !unready.has(name));
  return { unregistered: [...joining.map((instance) => instance.zone), ...promised], unready: [...unready].sort(), fresh: fresh.sort() };
}

/** Old nodes neither become ready nor did so a moment ago. */
function mayHaveRecentNodes(group: NodeGroup, { observation, policy }: UpcomingNodesIndex): boolean {
  const newestMs = factsOfGroups(observation).get(group.id)?.newestMs ?? Number.NEGATIVE_INFINITY;
  const recentMs = Math.max(optionsOf(group, policy).maxStartupMs, schedulerWaitMs(observation.cluster.pendingPods.length));
  return observation.nowMs - newestMs < recentMs;
}

function isFreshlyReady(name: NodeName, { observation, state }: UpcomingNodesIndex): boolean {
  const node = observation.cluster.nodes.get(name);
  if (node === undefined || !node.readiness.ready || state.deleting.has(name)) return false;
  const readyForMs = observation.nowMs - node.readiness.sinceMs;
  return readyForMs < schedulerWaitMs(observation.cluster.pendingPods.length) && mayTakePods(node);
}

function nodesOf(group: NodeGroup, { nodesByGroup }: UpcomingNodesIndex): readonly NodeName[] {
  return nodesByGroup.get(group.id) ?? [];
}

/** Whether the instance has no node yet and still has time to get one. */
function isJoining(instance: Instance, group: NodeGroup, { observation, state, policy, registered, leaving }: UpcomingNodesIndex): boolean {
  if (instance.state !== 'creating' && instance.state !== 'running') return false;
  if (registered.has(instance.key) || leaving.has(instance.key)) return false;
  const { nowMs } = observation;
  const { maxProvisionMs } = optionsOf(group, policy);
  if (nowMs - instance.firstSeenMs >= maxProvisionMs) return false;
  if (nowMs - awaitedSinceMs(instance, instance.firstSeenMs, maxProvisionMs) < maxProvisionMs) return true;
  // As long as the increase is in flight, its instances count: else they would be requested again a moment before it fails.
  return (inFlight(state, group.id)?.expectedByMs ?? -Infinity) >= nowMs;
}

/** Whether a registered node starts and takes pods soon. */
function isBecomingReady(name: NodeName, group: NodeGroup, index: UpcomingNodesIndex): boolean {
  const { observation, state, policy, volumesClaimed, driversNeeded } = index;
  const node = observation.cluster.nodes.get(name);
  if (node === undefined || state.deleting.has(name)) return false;
  const { nowMs } = observation;
  const isFreshlyReady = nowMs - node.readiness.sinceMs < optionsOf(group, policy).maxProvisionMs;
  const starts =
    !node.readiness.ready ||
    carriesStartupTaint(node, group) ||
    awaitsDevices(node, group) ||
    (volumesClaimed && isFreshlyReady && awaitsDisks(node, group)) ||
    awaitsDrivers(node, group, driversNeeded);
  if (!starts) return false;
  // guard: a young node whose instance was stopped is no node to come
  if (isStopped(node, group, observation)) return false;
  return mayTakePods(node) && isStarting(node, group, { policy, nowMs });
}

/** Whether no VM runs behind the node, so that it cannot become ready until its instance is started. */
function isStopped({ name, suspended }: Node, group: NodeGroup, { cloud }: Observation): boolean {
  if (suspended) return true;
  const key = cloud.instanceOfNode.get(name);
  return instanceListFacts(group).deallocated.some((instance) => instance.key === key);
}

/** How far the target size is above everything known of the group. It counts only while our own increase is in flight. */
function unlistedPromise(group: NodeGroup, index: UpcomingNodesIndex): number {
  const { observation, state } = index;
  const increase = inFlight(state, group.id);
  const backoff = state.backoffs.get(group.id);
  if (!group.target.known || increase === undefined || increase.expectedByMs <= observation.nowMs) return 0;
  const hasFailed = backoff !== undefined && !backoff.refused && backoff.untilMs > observation.nowMs;
  if (hasFailed && !mayBeUnlisted(increase, group)) return 0;
  return Math.max(0, group.target.value - countKnownMembers(group, index));
}

/** Listed instances plus nodes that registered since the list was made. The target size no longer counts a deleting instance. */
function countKnownMembers(group: NodeGroup, index: UpcomingNodesIndex): number {
  const { instances = [] } = group;
  const staying = instances.filter((instance) => instance.state !== 'deleting').length;
  const listed = new Set(instances.map((instance) => instance.key));
  const unlisted = nodesOf(group, index).filter((name) => {
    const key = index.observation.cloud.instanceOfNode.get(name);
    return key === undefined || !listed.has(key);
  }).length;
  return staying + unlisted;
}

/** The kubelet reports ready, but an agent has yet to remove its taint, as on earlier nodes. Another node would gain nothing. */
function carriesStartupTaint(node: Node, { template }: NodeGroup): boolean {
  return node.taints.some(({ key }) => template?.startupTaints.includes(key));
}

/**
 * The disk driver registers a moment after its node turned ready. Only then it reports which zone's disks the node reaches:
 * until then no disk fits the node, and another node would be requested for nothing.
 */
function awaitsDisks(node: Node, { template }: NodeGroup): boolean {
  if (template === undefined || Object.hasOwn(node.labels, AZURE_DISK_ZONE)) return false;
  return template.zones.length > 1 || Object.hasOwn(template.labels, AZURE_DISK_ZONE);
}

function mayTakePods(node: Node): boolean {
  return !node.unschedulable && !isBeingRemoved(node);
}
