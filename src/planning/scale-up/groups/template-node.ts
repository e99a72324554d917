/** The node a group would add, as packing sees it: DaemonSet and static pods placed, one variant per zone that it may land in. */
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { HostPort, Pod } from '../../../domain/pod.ts';
import type { FitReason } from '../../../domain/reasons.ts';
import { largest, minus, type Resources, type ResourceNames } from '../../../domain/resources.ts';
import { AZURE_DISK_ZONE } from '../../../domain/volumes.ts';
import type { DaemonSet } from '../../../domain/workloads.ts';
import { refusedByPorts, takenPort } from '../../../scheduling/predicates/node-gates.ts';
import { countFits, insufficientResources, needOf } from '../../../scheduling/predicates/resources-fit.ts';
import { cannotAllocate } from '../../../scheduling/predicates/devices.ts';
import { allocate, shortfall, nothingInUse } from '../../../scheduling/devices/device-allocator.ts';
import { listOf } from '../../../scheduling/devices/device-list.ts';
import { requestsAlone } from '../../../scheduling/volumes/attachments.ts';
import { fitsStatically, staticRefusals } from '../../../scheduling/snapshot/node-only-fit.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { isUnknown, markUnknown } from './template-unknowns.ts';
import { type StaticPod, type NodeTemplate, zonePart } from '../../../domain/node-template.ts';
import { defined } from '../../../lib/defined.ts';

const HOSTNAME = 'kubernetes.io/hostname';
/** On every simulated node and on no real one: storage drivers publish capacity for it. The Cluster Autoscaler's name. */
const TEMPLATE_LABELS = { 'cluster-autoscaler.kubernetes.io/template-node': 'true' };
/** What AKS nodes say of their zone: the cloud controller's two labels and the disk driver's. */
const ZONES = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone', AZURE_DISK_ZONE];

export interface GroupTemplate {
  readonly group: NodeGroup;
  readonly template: NodeTemplate;
  /** The same node in each zone that can be had; one variant when the group is regional. At most 31. */
  readonly variants: readonly Node[];
  /** Allocatable less what DaemonSets and static pods take; may be negative when they alone are too big. */
  readonly free: Resources;
  readonly ports: readonly HostPort[];
  /** Of DaemonSets, and static ones. */
  readonly daemonPods: readonly Pod[];
}

/** `closedZones`: zones, by their last part, that are out of stock for this group. */
export function makeTemplate(
  group: NodeGroup,
  template: NodeTemplate,
  daemonSets: readonly DaemonSet[],
  closedZones: ReadonlySet<string>,
): GroupTemplate {
  const zones = template.zones.filter((zone) => !closedZones.has(zonePart(zone)));
  const name = simulatedNodeName(`template-${group.id}`);
  const variants = zones.length === 0 ? [templateNode(template, name)] : zones.map((zone) => templateNode(template, name, zone));
  const daemons = daemonSets
    .filter(({ shape }) => variants.some((node) => fitsStatically(shape, node)))
    .map((daemon) => daemonPod(daemon, template.daemonRequests));
  const daemonPods = [...daemons, ...(template.staticPods ?? []).map(staticPod)];
  return {
    group,
    template,
    variants,
    free: daemonPods.reduce((left, pod) => minus(left, requestsAlone(pod.shape)), template.allocatable),
    ports: daemonPods.flatMap((pod) => pod.shape.hostPorts),
    daemonPods,
  };
}

/** A name that no node of a cluster can have: who pins a pod to a node by name never means one of ours. */
export function simulatedNodeName(what: string): string {
  return `:${what}`;
}

/** A copy with a name and host name of its own, so that rules per host tell the copies apart. */
export function newNodeFrom(variant: Node, name: string): Node {
  return { ...variant, name, uid: name, labels: { ...variant.labels, [HOSTNAME]: name } };
}

/** Bit n is set when the pods may go to variant n. 0: not to this group at all. */
export function variantsForPods(pods: EquivalenceGroup, template: GroupTemplate): number {
  const need = pods.shape.sharedVolumes === undefined ? pods.need : needOf(requestsAlone(pods.shape));
  if (countFits(need, template.free) < 1 || takenPort(pods.shape.hostPorts, template.ports) !== undefined) return 0;
  if (refusedByDevices(pods, template).length > 0) return 0;
  return template.variants.reduce((mask, node, index) => (fitsStatically(pods.shape, node) ? mask | (1 << index) : mask), 0);
}

/** Why the pods do not fit an empty new node: the reasons of the first predicate that refuses, as the scheduler gives them. */
export function templateRefusals(pods: EquivalenceGroup, template: GroupTemplate, names: ResourceNames): readonly FitReason[] {
  const node = template.variants.find((variant) => fitsStatically(pods.shape, variant)) ?? template.variants[0];
  if (node === undefined) return [];
  const all = [
    ...staticRefusals(pods.shape, node),
    ...refusedByPorts(pods.shape, template.ports),
    ...insufficientResources(requestsAlone(pods.shape), template.free, names),
    ...refusedByDevices(pods, template),
  ].map((reason) => markUnknown(reason, pods.shape, node, template.template));
  // What is known to keep the pods away is told before what may do so.
  const known = all.filter((reason) => !isUnknown(reason));
  const told = known.length > 0 ? known : all;
  return told.filter((reason) => reason.kind === told[0]?.kind);
}

/** Whether a new node has devices at all for the claims of one pod; what its daemons take of them is the snapshot's to say. */
function refusedByDevices({ shape }: EquivalenceGroup, { template }: GroupTemplate): readonly FitReason[] {
  const claims = shape.devices?.claims ?? [];
  if (claims.length === 0) return [];
  const { devicePools: pools, devicesDoubted, source } = template;
  if (pools === undefined || pools.length === 0) {
    const unseen = 'no node of the group has been seen with devices, so which ones a new node has is not known';
    return [cannotAllocate(devicesDoubted ?? (source === 'live-node' ? 'the nodes of the group publish no devices' : unseen))];
  }
  const list = listOf(pools);
  const asked = { claims, list, inUse: nothingInUse(list) };
  return allocate(asked) === undefined ? [cannotAllocate(`on a new node: ${shortfall(asked)}`)] : [];
}

function templateNode(template: NodeTemplate, name: string, zone?: string): Node {
  return {
    name,
    uid: name,
    providerId: '',
    labels: {
      ...template.labels,
      ...TEMPLATE_LABELS,
      [HOSTNAME]: name,
      ...(zone === undefined ? {} : Object.fromEntries(ZONES.map((label) => [label, zone]))),
    },
    taints: template.taints,
    unschedulable: template.unschedulable === true,
    createdAtMs: 0,
    deletionAtMs: undefined,
    capacity: template.capacity,
    allocatable: template.allocatable,
    ...defined({ attachLimits: template.attachLimits }),
    ...(template.devicePools === undefined ? {} : { devices: { pools: template.devicePools, incomplete: [], held: [] } }),
    ...defined({ declaredFeatures: template.declaredFeatures }),
    readiness: { ready: true, sinceMs: 0, reason: '' },
    scaleDownDisabled: false,
  };
}

/** A real node has shown that a daemon may ask for more than its DaemonSet says: a sidecar was injected, a request raised. */
function daemonPod(daemon: DaemonSet, learned: NodeTemplate['daemonRequests']): Pod {
  const { namespace, name, uid } = daemon;
  const seen = learned?.get(`${namespace}/${name}`);
  const shape =
    seen === undefined
      ? daemon.shape
      : { ...daemon.shape, key: `${daemon.shape.key}|learned`, requests: largest(daemon.shape.requests, seen) };
  return { ...RESIDENT, uid: `template-${uid}`, namespace, name, shape, controller: { kind: 'DaemonSet', name, uid }, daemonSet: true };
}

function staticPod({ namespace, name, requests, hostPorts }: StaticPod): Pod {
  const id = `static-${namespace}/${name}`;
  const shape = { ...ASKS_NOTHING, key: `${id}|${requests.join()}`, namespace, requests, hostPorts };
  return { ...RESIDENT, uid: `template-${id}`, namespace, name, shape, controller: undefined, mirror: true };
}

/** What the plan reads of a pod that comes with its node. */
const RESIDENT = {
  nodeName: undefined,
  nominatedNodeName: undefined,
  phase: 'Running',
  createdAtMs: 0,
  deletionAtMs: undefined,
  terminationGraceMs: 0,
  restartPolicy: 'Always',
  unschedulable: undefined,
  mirror: false,
  daemonSet: false,
  safeToEvict: undefined,
  safeToEvictVolumes: [],
  doNotDisrupt: false,
  localVolumes: [],
  scaleUpDelayMs: undefined,
  ready: true,
} as const;

const ASKS_NOTHING = {
  labels: {},
  nodeSelector: {},
  nodeAffinity: undefined,
  tolerations: [],
  topologySpread: [],
  podAffinity: [],
  podAntiAffinity: [],
  priority: undefined,
  schedulerName: '',
  unsupported: [],
} as const;
