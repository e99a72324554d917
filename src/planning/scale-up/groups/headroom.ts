/**
 * Headroom as buffers: what each configured amount of room stands for in this plan, in pods that exist in plans alone, or why it stands for
 * none. Pure. Must not know how buffers get their places.
 */
import { NO_REQUIREMENTS, type Pod, type PodShape } from '../../../domain/pod.ts';
import { type CapacityObjects, type ScalableWorkload, workloadKey } from '../../../domain/capacity-objects.ts';
import { defaultPieces, type Headroom, type WorkloadName } from '../../../domain/headroom.ts';
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { Labels } from '../../../domain/labels.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Policy } from '../../../domain/policy.ts';
import { CPU, MEMORY, PODS, type ResourceNames, type Resources } from '../../../domain/resources.ts';
import type { Taint, Toleration } from '../../../domain/taints.ts';
import { type ReadyBuffer, readyBuffers } from '../../capacity-objects/buffer-pods.ts';
import { membershipFacts } from '../../facts/instance-facts.ts';
import { HEADROOM, headroomUid } from '../../state/assumed-pods.ts';
import { factsOf } from '../pods/pod-list-facts.ts';
import { newestPodOf } from '../pods/newest-pods.ts';
import { isExpendable } from '../pods/unschedulable-pods.ts';
import { makeTemplate } from './template-node.ts';

/**
 * A node counts as free while so much of what pods may use of it is free. Nodes of one size differ by some MiB, and a small pod that
 * kube-scheduler puts on a free node is no reason to request another one.
 */
const FREE_SHARE = 0.9;

const LINUX: Labels = { 'kubernetes.io/os': 'linux' };
const POOL_LABELS = ['kubernetes.azure.com/agentpool', 'agentpool'] as const;
const SIZE_LABEL = 'node.kubernetes.io/instance-type';
const STORAGE = 2;

/** One configured amount. */
export interface HeadroomDemand {
  /** Equal in every loop and process while the configuration is. */
  readonly uid: string;
  /** undefined: of the cluster. */
  readonly group: NodeGroupId | undefined;
  readonly amount: Headroom;
  /** Pods of this shape, or why there are none. */
  readonly room:
    | {
        readonly shape: PodShape;
        readonly count: number;
        /** The name of the pod that copies look like. If undefined, they look like the template of their workload. */
        readonly like: string | undefined;
        readonly notAdmitted: string | undefined;
      }
    | { readonly problem: string };
}

/** Neither the shape of another pod nor one that a dry run refused. */
const AS_WRITTEN = { like: undefined, notAdmitted: undefined };

export interface HeadroomInput {
  readonly observation: Pick<Observation, 'cluster' | 'cloud'>;
  readonly policy: Pick<Policy, 'capacity' | 'scaleUp'>;
  readonly names: ResourceNames;
}

/** Whether any room is to be kept free beside CapacityBuffer objects. */
export function hasHeadroom({ observation, policy }: Pick<HeadroomInput, 'observation' | 'policy'>): boolean {
  return policy.capacity.headroom.length > 0 || observation.cloud.groups.some(({ options }) => (options.headroom ?? []).length > 0);
}

/** Every configured amount: pools in the order of the groups, then the cluster. */
export function headroomDemands(input: HeadroomInput): readonly HeadroomDemand[] {
  if (!hasHeadroom(input)) return [];
  const ofPools = input.observation.cloud.groups.flatMap((group) =>
    (group.options.headroom ?? []).map((amount, at) => demandOf(amount, { group, at, input })),
  );
  const ofCluster = input.policy.capacity.headroom.map((amount, at) => demandOf(amount, { group: undefined, at, input }));
  return [...ofPools, ...ofCluster];
}

interface Place {
  readonly group: NodeGroup | undefined;
  readonly at: number;
  readonly input: HeadroomInput;
}

function demandOf(amount: Headroom, place: Place): HeadroomDemand {
  const { group, at } = place;
  return { uid: headroomUid(group?.id, at), group: group?.id, amount, room: roomOf(amount, place) };
}

function roomOf(amount: Headroom, { group, input }: Place): HeadroomDemand['room'] {
  const only = group === undefined ? ANYWHERE : placementOf(group);
  if ('problem' in only) return only;
  switch (amount.kind) {
    case 'nodes':
      return group === undefined ? { problem: 'nodes are those of one pool' } : wholeNodes(amount.nodes, group, { only, input });
    case 'percent':
      return pieces({ ...shareOfRequests(amount.percent, group, input) }, only);
    case 'amounts':
      return pieces(amount, only);
    case 'copies':
      return copies(amount, group === undefined ? undefined : only, input);
  }
}

interface Placement {
  readonly labels: Labels;
  readonly taints: readonly Taint[];
}

const ANYWHERE: Placement = { labels: LINUX, taints: [] };

/** What pins a pod to the nodes of the group, and what it must tolerate there. */
function placementOf({ template, kind }: NodeGroup): Placement | { readonly problem: string } {
  if (template === undefined) return { problem: 'what a new node of the pool offers is not known yet' };
  const label = POOL_LABELS.find((name) => template.labels[name] !== undefined);
  // guard: room of a pool whose nodes no label names is not looked for elsewhere
  if (label === undefined) return { problem: `the nodes of the pool have no label ${POOL_LABELS.join(' or ')}` };
  const pinned = kind === 'vms-pool' ? [label, SIZE_LABEL] : [label];
  return { labels: Object.fromEntries(pinned.flatMap((name) => definedLabel(template, name))), taints: template.taints };
}

function definedLabel({ labels }: NodeTemplate, name: string): readonly (readonly [string, string])[] {
  const value = labels[name];
  return value === undefined ? [] : [[name, value]];
}

function wholeNodes(
  nodes: number,
  group: NodeGroup,
  { only, input }: { readonly only: Placement; readonly input: HeadroomInput },
): HeadroomDemand['room'] {
  const { template } = group;
  if (template === undefined) return { problem: 'what a new node of the pool offers is not known yet' };
  const { free } = makeTemplate(group, template, input.observation.cluster, new Set());
  const requests = nodeSized(free, input.names);
  if ((requests[CPU] ?? 0) <= 0 || (requests[MEMORY] ?? 0) <= 0) return { problem: 'daemon pods fill a new node of the pool' };
  return { ...AS_WRITTEN, shape: shapeOf(requests, only), count: nodes };
}

/** Most of the CPU and memory that pods may use, and every device. */
function nodeSized(free: Resources, names: ResourceNames): Resources {
  return free.map((amount, index) => {
    if (index === CPU || index === MEMORY) return Math.floor(Math.max(0, amount) * FREE_SHARE);
    if (index === PODS) return 1;
    return index === STORAGE || names.isOpen(index) ? 0 : Math.max(0, amount);
  });
}

interface Amounts {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}

function pieces({ pieces: count, ...all }: Amounts & { readonly pieces: number }, only: Placement): HeadroomDemand['room'] {
  const requests = new Float64Array(PODS + 1);
  requests[CPU] = Math.ceil(all.cpuMillis / Math.max(1, count));
  requests[MEMORY] = Math.ceil(all.memoryBytes / Math.max(1, count));
  requests[PODS] = 1;
  return { ...AS_WRITTEN, shape: shapeOf(requests, only), count: all.cpuMillis + all.memoryBytes === 0 ? 0 : count };
}

/** Of what pods request on the nodes of the group, or of all groups; without pods that every node of a kind has. */
function shareOfRequests(
  percent: number,
  group: NodeGroup | undefined,
  { observation }: HeadroomInput,
): Amounts & { readonly pieces: number } {
  const { nodesByGroup } = membershipFacts(observation.cloud);
  const groups = group === undefined ? observation.cloud.groups : [group];
  const sum = { cpuMillis: 0, memoryBytes: 0 };
  for (const { id } of groups) {
    for (const node of nodesByGroup.get(id) ?? []) {
      const used = requestedOn(observation.cluster.podsByNode.get(node) ?? []);
      sum.cpuMillis += used.cpuMillis;
      sum.memoryBytes += used.memoryBytes;
    }
  }
  const share = { cpuMillis: Math.ceil((sum.cpuMillis * percent) / 100), memoryBytes: Math.ceil((sum.memoryBytes * percent) / 100) };
  return { ...share, pieces: defaultPieces(share) };
}

function requestedOn(pods: readonly Pod[]): Amounts {
  const known = factsOf(pods).requests;
  if (known !== undefined) return known.ofOthers;
  const counted = pods.filter(({ daemonSet, mirror, deletionAtMs }) => !daemonSet && !mirror && deletionAtMs === undefined);
  return {
    cpuMillis: counted.reduce((sum, { shape }) => sum + (shape.requests[CPU] ?? 0), 0),
    memoryBytes: counted.reduce((sum, { shape }) => sum + (shape.requests[MEMORY] ?? 0), 0),
  };
}

function copies(
  { of, count }: Extract<Headroom, { readonly kind: 'copies' }>,
  only: Placement | undefined,
  { observation, policy }: HeadroomInput,
): HeadroomDemand['room'] {
  const { capacity } = observation.cluster;
  const workload = findWorkload(of, capacity);
  if (workload === undefined) {
    const unread = capacity.scalables === undefined ? ', since workloads are not watched: a restart watches them' : '';
    return { problem: `${of.kind} ${of.namespace}/${of.name} was not found${unread}` };
  }
  const { shape, like, notAdmitted } = copied(workload, { observation, policy });
  if (isExpendable({ shape }, policy.scaleUp)) return { problem: 'its pods have a priority for which no node is added' };
  return { shape: only === undefined ? shape : pinnedTo(shape, only.labels), count, like, notAdmitted };
}

/** What a pod of the workload looks like: as a dry run shows it, else as its newest pod does, else as its template is written. */
function copied(
  workload: ScalableWorkload,
  { observation, policy }: Pick<HeadroomInput, 'observation' | 'policy'>,
): { readonly shape: PodShape; readonly like: string | undefined; readonly notAdmitted: string | undefined } {
  const { shape, notAdmitted, admitted } = workload;
  if (policy.capacity.podDryRun && admitted) return { ...AS_WRITTEN, shape };
  const newest = newestPodOf(workload, observation.cluster);
  return newest === undefined ? { ...AS_WRITTEN, shape, notAdmitted } : { ...AS_WRITTEN, shape: newest.shape, like: newest.name };
}

function findWorkload(of: WorkloadName, { scalables }: CapacityObjects): ScalableWorkload | undefined {
  return scalables?.get(workloadKey(of));
}

function pinnedTo(shape: PodShape, labels: Labels): PodShape {
  return { ...shape, key: `${shape.key}|${JSON.stringify(labels)}`, nodeSelector: { ...shape.nodeSelector, ...labels } };
}

function shapeOf(requests: Resources, { labels, taints }: Placement): PodShape {
  return {
    key: `headroom|${JSON.stringify([labels, taints, [...requests]])}`,
    ...NO_REQUIREMENTS,
    namespace: '',
    requests,
    nodeSelector: labels,
    tolerations: taints.map(tolerationOf),
  };
}

function tolerationOf({ key, value, effect }: Taint): Toleration {
  return { key, operator: 'Equal', value, effect };
}

/**
 * All buffers of a plan: CapacityBuffer objects, then headroom. Copies of one workload count once: those on the nodes of a pool serve
 * CapacityBuffers of the workload, too, and what both hold serves a headroom of the cluster.
 */
export function allBuffers(input: HeadroomInput, demands: readonly HeadroomDemand[]): readonly ReadyBuffer[] {
  const { policy, observation } = input;
  const injects = policy.capacity.bufferInjection;
  const objects = injects ? readyBuffers(observation.cluster.capacity).filter((buffer) => !isExpendable(buffer, policy.scaleUp)) : [];
  const ofPools = demands.filter(({ group }) => group !== undefined).flatMap(bufferOf);
  const ofCluster = demands.filter(({ group }) => group === undefined).flatMap(bufferOf);
  const others = withoutHeld(objects, heldCopies(ofPools));
  return [...others, ...ofPools, ...withoutHeld(ofCluster, heldCopies([...others, ...ofPools]))].filter(({ replicas }) => replicas > 0);
}

function bufferOf({ uid, group, amount, room }: HeadroomDemand): readonly ReadyBuffer[] {
  if ('problem' in room) return [];
  const name = group === undefined ? 'headroom of the cluster' : `headroom of ${group}`;
  // Pods of a workload obey rules of their namespace.
  const namespace = amount.kind === 'copies' ? amount.of.namespace : '';
  const ref = { kind: HEADROOM, namespace, name, uid };
  const podName = `${name.replaceAll(' ', '-')}-${uid.slice(uid.lastIndexOf('/') + 1)}`;
  const workload = amount.kind === 'copies' ? workloadKey(amount.of) : undefined;
  return [{ ref, podName, shape: room.shape, replicas: room.count, workload }];
}

function heldCopies(buffers: readonly ReadyBuffer[]): Map<string, number> {
  const held = new Map<string, number>();
  for (const { workload, replicas } of buffers) if (workload !== undefined) held.set(workload, (held.get(workload) ?? 0) + replicas);
  return held;
}

/** The buffers without the copies that are held already, the first first. */
function withoutHeld(buffers: readonly ReadyBuffer[], held: Map<string, number>): readonly ReadyBuffer[] {
  return buffers.map((buffer) => {
    const { workload, replicas } = buffer;
    const already = workload === undefined ? 0 : Math.min(replicas, held.get(workload) ?? 0);
    if (workload === undefined || already === 0) return buffer;
    held.set(workload, (held.get(workload) ?? 0) - already);
    // guard: copies of one workload are held once
    return { ...buffer, replicas: replicas - already };
  });
}
