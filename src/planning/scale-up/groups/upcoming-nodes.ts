/**
 * Nodes that Azure was asked for and that have not joined as ready nodes yet. Derived from what Azure and the cluster
 * say now, so that a restart in the middle of a scale-up does not ask twice.
 */
import type { InstanceKey, NodeGroupId, NodeName } from '../../../domain/ids.ts';
import type { LoopState } from '../../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { CloudView, ClusterView, Observation } from '../../../domain/observation.ts';
import type { Policy } from '../../../domain/policy.ts';
import { isStarting } from '../../state/node-counts.ts';
import { awaitsDevices } from '../../state/unpublished-devices.ts';
import { awaitedSinceMs, maxProvisionMsOf } from '../../state/unregistered.ts';
import { AZURE_DISK_ZONE } from '../../../domain/volumes.ts';
import { hasTaint, TO_BE_DELETED_TAINT } from '../../../domain/taints.ts';

export interface Upcoming {
  /** Instances, or a promised gap in the target size, without a registered node: the zone of each, where it is known. */
  readonly unregistered: readonly (string | undefined)[];
  /** Registered, not ready yet, and young enough to believe in; sorted. */
  readonly unready: readonly NodeName[];
}

interface Registration {
  readonly instances: ReadonlySet<InstanceKey>;
  readonly nodesByGroup: ReadonlyMap<NodeGroupId, readonly NodeName[]>;
}

/** One index per cloud view: it is asked once per group. */
const registrations = new WeakMap<CloudView, Registration>();

/** Number of nodes of the group that count as capacity to come. */
export function upcomingNodes(group: NodeGroup, observation: Observation, state: LoopState, policy: Policy): number {
  const upcoming = findUpcoming(group, observation, state, policy);
  return upcoming.unregistered.length + upcoming.unready.length;
}

/** The same, told apart: nodes yet to appear, and nodes that exist but are not ready. */
export function findUpcoming(group: NodeGroup, observation: Observation, state: LoopState, policy: Policy): Upcoming {
  const registration = registrationOf(observation.cloud);
  const nodes = registration.nodesByGroup.get(group.id) ?? [];
  const maxProvisionMs = maxProvisionMsOf(group, policy);
  const leaving = new Set([...state.deleting.values()].map((removal) => removal.instance));
  const { nowMs } = observation;
  // As long as the order is believed in, so are its machines: else they would be ordered again a moment before it fails.
  const isOrdered = (state.increases.get(group.id)?.expectedByMs ?? -Infinity) >= nowMs;
  const isInTime = (instance: Instance): boolean =>
    nowMs - instance.firstSeenMs < maxProvisionMs &&
    (isOrdered || nowMs - awaitedSinceMs(instance, instance.firstSeenMs, maxProvisionMs) < maxProvisionMs);
  const joining = (group.instances ?? []).filter(
    (instance) =>
      (instance.state === 'creating' || instance.state === 'running') &&
      !registration.instances.has(instance.key) &&
      !leaving.has(instance.key) &&
      isInTime(instance),
  );
  const claims = asksForVolumes(observation.cluster);
  const isFreshlyReady = ({ readiness }: Node): boolean => observation.nowMs - readiness.sinceMs < maxProvisionMs;
  const unready = nodes.filter((name) => {
    const node = observation.cluster.nodes.get(name);
    if (node === undefined || state.deleting.has(name)) return false;
    const starts =
      !node.readiness.ready ||
      carriesStartupTaint(node, group) ||
      awaitsDevices(node, group) ||
      (claims && isFreshlyReady(node) && awaitsDisks(node, group));
    return starts && mayBegin(node) && isStarting(node, group, { policy, nowMs: observation.nowMs });
  });
  const promised = Array.from({ length: promisedGap(group, observation, state) }, () => undefined);
  return { unregistered: [...joining.map((instance) => instance.zone), ...promised], unready: [...unready].sort() };
}

/** Target above everything known of the group, believed only while our own request for it is alive. */
function promisedGap(group: NodeGroup, observation: Observation, state: LoopState): number {
  const increase = state.increases.get(group.id);
  const backoff = state.backoffs.get(group.id);
  if (!group.target.known || increase === undefined || increase.expectedByMs <= observation.nowMs) return 0;
  if (backoff !== undefined && backoff.untilMs > observation.nowMs) return 0;
  return Math.max(0, group.target.value - knownMembers(group, observation.cloud));
}

/** Instances listed plus nodes registered since the list was made. An instance on its way out left the target already. */
function knownMembers(group: NodeGroup, cloud: CloudView): number {
  const staying = (group.instances ?? []).filter((instance: Instance) => instance.state !== 'deleting').length;
  const listed = new Set((group.instances ?? []).map((instance) => instance.key));
  const nodes = registrationOf(cloud).nodesByGroup.get(group.id) ?? [];
  const unlisted = nodes.filter((name) => {
    const key = cloud.instanceOfNode.get(name);
    return key === undefined || !listed.has(key);
  }).length;
  return staying + unlisted;
}

/** Ready, says the kubelet; but an agent has yet to take its taint off, as on the nodes before: another node would gain nothing. */
function carriesStartupTaint(node: Node, { template }: NodeGroup): boolean {
  return template?.startupTaints !== undefined && node.taints.some(({ key }) => template.startupTaints?.includes(key));
}

/** One answer per cluster view: it is asked once per group. */
const asking = new WeakMap<ClusterView, boolean>();

function asksForVolumes(cluster: ClusterView): boolean {
  const known = asking.get(cluster) ?? cluster.pendingPods.some(({ claims }) => claims !== undefined);
  asking.set(cluster, known);
  return known;
}

/**
 * The disk driver registers a moment after its node turned ready, and says only then which zone's disks the node reaches:
 * until then no disk fits the node, and another one would be ordered for nothing.
 */
function awaitsDisks(node: Node, { template }: NodeGroup): boolean {
  if (template === undefined || Object.hasOwn(node.labels, AZURE_DISK_ZONE)) return false;
  return template.zones.length > 1 || Object.hasOwn(template.labels, AZURE_DISK_ZONE);
}

function mayBegin(node: Node): boolean {
  return !node.unschedulable && node.deletionAtMs === undefined && !hasTaint(node.taints, TO_BE_DELETED_TAINT);
}

function registrationOf(cloud: CloudView): Registration {
  const known = registrations.get(cloud);
  if (known !== undefined) return known;
  const nodesByGroup = new Map<NodeGroupId, NodeName[]>();
  for (const [name, group] of cloud.groupOfNode) {
    const nodes = nodesByGroup.get(group);
    if (nodes === undefined) nodesByGroup.set(group, [name]);
    else nodes.push(name);
  }
  const made = { instances: new Set(cloud.instanceOfNode.values()), nodesByGroup };
  registrations.set(cloud, made);
  return made;
}
