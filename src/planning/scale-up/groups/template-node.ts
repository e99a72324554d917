/** The node that a group would add, for packing: with its daemon and static pods, in one variant per zone it may land in. */
import { NO_REQUIREMENTS, ORDINARY_POD, type Pod } from '../../../domain/pod.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import { type Node, UNREMARKABLE } from '../../../domain/node.ts';
import type { FitReason } from '../../../domain/reasons.ts';
import { largest, type ResourceNames } from '../../../domain/resources.ts';
import { AZURE_DISK_ZONE } from '../../../domain/volumes.ts';
import type { DaemonSet } from '../../../domain/workloads.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import { takenPort } from '../../../scheduling/predicates/node-gates.ts';
import { countFits, needOf } from '../../../scheduling/predicates/resources-fit.ts';
import { cannotAllocate } from '../../../scheduling/predicates/devices.ts';
import { CommonDevices } from '../../../scheduling/devices/common-devices.ts';
import { DeviceIndex } from '../../../scheduling/devices/device-list.ts';
import { claimsFor } from '../../../scheduling/devices/named-claims.ts';
import { requestsAlone } from '../../../scheduling/volumes/attachments.ts';
import { fitsStatically, staticRefusals } from '../../../scheduling/snapshot/node-only-fit.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { missingDevices, roomBeside, roomRefusals, type NodeRoom } from './node-room.ts';
import { isUnknown, markUnknown } from './template-unknowns.ts';
import { type CustomDaemon, type StaticPod, type NodeTemplate, zonePart } from '../../../domain/node-template.ts';

const HOSTNAME = 'kubernetes.io/hostname';
/** Every simulated node has it, and no real node: storage drivers publish capacity for it. The Cluster Autoscaler's name. */
const TEMPLATE_LABELS = { 'cluster-autoscaler.kubernetes.io/template-node': 'true' };
/** The zone labels of AKS nodes: two of the cloud controller and one of the disk driver. */
export const ZONE_LABELS = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone', AZURE_DISK_ZONE];

export interface GroupTemplate extends NodeRoom {
  readonly group: NodeGroup;
  readonly template: NodeTemplate;
  /** The same node in each zone that has stock; one variant if the group is regional. At most 31. */
  readonly variants: readonly Node[];
  /** DaemonSet pods, other daemon pods and static pods. */
  readonly daemonPods: readonly Pod[];
  /** Devices that several nodes reach, perhaps the new one, too. */
  readonly common: CommonDevices;
  /** What the claims of pods match in its devices, computed once per plan. */
  readonly deviceIndex: DeviceIndex;
}

/** `closedZones` are zones, by their last part, that are out of stock for this group. */
export function makeTemplate(
  group: NodeGroup,
  template: NodeTemplate,
  cluster: { readonly daemonSets: ClusterView['daemonSets']; readonly commonDevices?: ClusterView['commonDevices'] },
  closedZones: ReadonlySet<string>,
): GroupTemplate {
  const zones = template.zones.filter((zone) => !closedZones.has(zonePart(zone)));
  const name = simulatedNodeName(`template-${group.id}`);
  const variants = zones.length === 0 ? [templateNode(template, name)] : zones.map((zone) => templateNode(template, name, zone));
  const daemons = cluster.daemonSets
    .filter(({ shape }) => variants.some((node) => fitsStatically(shape, node)))
    .map((daemon) => daemonPod(daemon, template.daemonRequests));
  const daemonPods = [...daemons, ...template.customDaemons.map(customDaemonPod), ...template.staticPods.map(staticPod)];
  return {
    group,
    template,
    variants,
    ...roomBeside(daemonPods, template.allocatable),
    daemonPods,
    common: CommonDevices.of(cluster.commonDevices),
    deviceIndex: new DeviceIndex(),
  };
}

/** A name that no real node can have: a pod that is pinned to a node by name never means a simulated node. */
export function simulatedNodeName(what: string): string {
  return `:${what}`;
}

/** A copy with a name and host name of its own, so that rules per host distinguish the copies. */
export function newNodeFrom(variant: Node, name: string): Node {
  return { ...variant, name, uid: name, labels: { ...variant.labels, [HOSTNAME]: name } };
}

/** Bit n is set if the pods may run on variant n. 0 means that they cannot run in this group. */
export function variantsForPods(pods: EquivalenceGroup, template: GroupTemplate): number {
  const need = pods.shape.sharedVolumes.length === 0 ? pods.need : needOf(requestsAlone(pods.shape));
  if (countFits(need, template.free) < 1 || takenPort(pods.shape.hostPorts, template.ports) !== undefined) return 0;
  if (refusedByDevices(pods, template).length > 0) return 0;
  return template.variants.reduce((allowed, node, index) => (fitsStatically(pods.shape, node) ? allowed | (1 << index) : allowed), 0);
}

/** What variants a group of pods allows does not change while its pods find places. */
const VARIANTS = new WeakMap<GroupTemplate, Map<EquivalenceGroup, number>>();

/** The same as {@link variantsForPods}, found once. */
export function knownVariants(group: EquivalenceGroup, template: GroupTemplate): number {
  const ofTemplate = VARIANTS.get(template) ?? new Map<EquivalenceGroup, number>();
  VARIANTS.set(template, ofTemplate);
  const allowed = ofTemplate.get(group) ?? variantsForPods(group, template);
  ofTemplate.set(group, allowed);
  return allowed;
}

/** Every reason why the pods do not fit an empty new node, in the zone that suits them best. Certain reasons come before possible ones. */
export function templateRefusals(pods: EquivalenceGroup, template: GroupTemplate, names: ResourceNames): readonly FitReason[] {
  const node = nearestVariant(pods, template);
  if (node === undefined) return [];
  const all = [...staticRefusals(pods.shape, node), ...roomRefusals(pods.shape, template, names), ...refusedByDevices(pods, template)].map(
    (reason) => markUnknown(reason, pods.shape, node, template.template),
  );
  const unknown = all.filter(isUnknown);
  return unknown.length === 0 ? all : [...all.filter((reason) => !isUnknown(reason)), ...unknown];
}

/** The variant with the fewest reasons of the node itself against the pods. */
function nearestVariant({ shape }: EquivalenceGroup, { variants }: GroupTemplate): Node | undefined {
  const fitting = variants.find((variant) => fitsStatically(shape, variant));
  if (fitting !== undefined || variants.length < 2) return fitting ?? variants[0];
  const counts = variants.map((variant) => staticRefusals(shape, variant).length);
  return variants[counts.indexOf(Math.min(...counts))];
}

/** Whether a new node has devices for the claims of one pod. The snapshot decides what its DaemonSet pods take of them. */
function refusedByDevices({ shape }: EquivalenceGroup, { template, variants, common, deviceIndex }: GroupTemplate): readonly FitReason[] {
  const claims = claimsFor(shape.devices.claims, () => template);
  if (claims.length === 0) return [];
  const { devicePools: own, devicesDoubted, source } = template;
  const unseen = 'no node of the group has published devices yet, so the devices of a new node are unknown';
  const unknown = devicesDoubted || (source === 'live-node' ? 'the nodes of the group publish no devices' : unseen);
  const offers = [...new Set(variants.map((node) => common.poolsOf(node, own)))];
  if (offers.every((pools) => pools.length === 0)) return [cannotAllocate(unknown)];
  const taken = common.all.flatMap(({ allocated }) => allocated);
  const missing = offers.map((pools) => missingDevices(claims, pools, deviceIndex, taken));
  if (missing.includes(undefined)) return [];
  return [cannotAllocate(`on a new node: ${missing[0]}${own.length === 0 ? `; ${unknown}` : ''}`)];
}

function templateNode(template: NodeTemplate, name: string, zone?: string): Node {
  return {
    ...UNREMARKABLE,
    name,
    uid: name,
    providerId: '',
    labels: {
      ...template.labels,
      ...TEMPLATE_LABELS,
      [HOSTNAME]: name,
      ...(zone === undefined ? {} : Object.fromEntries(ZONE_LABELS.map((label) => [label, zone]))),
    },
    taints: template.taints,
    unschedulable: template.unschedulable,
    createdAtMs: 0,
    deletionAtMs: undefined,
    capacity: template.capacity,
    allocatable: template.allocatable,
    attachLimits: template.attachLimits,
    missingDrivers: template.missingDrivers,
    devices: { ...UNREMARKABLE.devices, pools: template.devicePools },
    declaredFeatures: template.declaredFeatures,
    readiness: { ready: true, sinceMs: 0, reason: '' },
    scaleDownDisabled: false,
  };
}

/** On a real node a DaemonSet pod may request more than its DaemonSet: a sidecar was injected, or a request increased. */
function daemonPod(daemon: DaemonSet, learned: NodeTemplate['daemonRequests']): Pod {
  const { namespace, name, uid } = daemon;
  const seen = learned.get(`${namespace}/${name}`);
  const shape =
    seen === undefined
      ? daemon.shape
      : { ...daemon.shape, key: `${daemon.shape.key}|learned`, requests: largest(daemon.shape.requests, seen) };
  return {
    ...NODE_POD,
    uid: `template-${uid}`,
    namespace,
    name,
    shape,
    controller: { kind: 'DaemonSet', apiVersion: '', name, uid },
    daemonSet: true,
  };
}

function staticPod({ namespace, name, requests, hostPorts }: StaticPod): Pod {
  const id = `static-${namespace}/${name}`;
  const shape = { ...NO_REQUIREMENTS, key: `${id}|${requests.join()}`, namespace, requests, hostPorts };
  return { ...NODE_POD, uid: `template-${id}`, namespace, name, shape, controller: undefined, mirror: true };
}

/** A pod of a daemon that is known from nodes of the group only. */
function customDaemonPod(daemon: CustomDaemon): Pod {
  const pod = staticPod(daemon);
  return { ...pod, uid: `${pod.uid} ${daemon.owner}`, mirror: false, daemonSet: true };
}

/** What the plan reads of a pod that comes with its node. */
const NODE_POD = {
  ...ORDINARY_POD,
  phase: 'Running',
  createdAtMs: 0,
  terminationGraceMs: 0,
  unschedulable: undefined,
  ready: true,
} as const;
