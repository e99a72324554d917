/** From Kubernetes objects in a file to the view of the cluster that a loop would have: the same projections as the watch's. */
import { podName } from '../../domain/ids.ts';
import { NAMESPACE_NAME } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { TaintRules } from '../../domain/taints.ts';
import { isOwnerKind, ownerKey, ownerOf, type OwnerState, type OwnerStates } from '../../domain/workloads.ts';
import type { DaemonSetJson, DisruptionBudgetJson, NodeJson, PodJson, PodSpecJson } from '../../kubernetes/api/core-json.ts';
import { projectClaimTemplate, projectDeviceClass, projectResourceClaim, projectSlice } from '../../kubernetes/projection/devices.ts';
import { createNodeProjection, projectNode } from '../../kubernetes/projection/node.ts';
import { createPodProjection, projectPod, type PodProjection } from '../../kubernetes/projection/pod.ts';
import {
  projectClaim,
  projectCsiDriver,
  projectCsiNode,
  projectStorageCapacity,
  projectStorageClass,
  projectVolume,
} from '../../kubernetes/projection/storage.ts';
import { projectBudget, projectDaemonSet } from '../../kubernetes/projection/workloads.ts';
import { KnownDevices } from '../../kubernetes/views/device-view.ts';
import { byName, PodIndex } from '../../kubernetes/views/pod-index.ts';
import { KnownStorage } from '../../kubernetes/views/storage-view.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { withRuntime, type RuntimeClassJson } from './daemon-pods.ts';
import type { FileObject } from './files/objects-file.ts';
import { compareBy } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';

// Which controllers of pods exist, by a file: a kind that is there is there whole; of a kind that is not, nothing is known.

interface WorkloadJson extends FileObject {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: { readonly replicas?: number | null } | null;
}

export interface FileOwners {
  readonly states: OwnerStates;
  /** Kinds that pods name and the file does not hold: those controllers are taken to exist. Sorted. */
  readonly missing: readonly string[];
}

/** What the objects say of the controllers of these pods. */
export function ownersOf(objects: readonly FileObject[], pods: Iterable<readonly Pod[]>): FileOwners {
  const kinds = new Set(objects.map(({ kind }) => kind));
  const found = presentOwners(objects);
  const states = new Map<string, OwnerState>();
  const missing = new Set<string>();
  for (const onNode of pods) {
    for (const pod of onNode) {
      if (pod.controller?.kind === 'DaemonSet' && !kinds.has('DaemonSet')) missing.add('DaemonSet');
      const owner = ownerOf(pod);
      if (owner === undefined) continue;
      if (kinds.has(owner.kind)) states.set(ownerKey(owner), found.get(ownerKey(owner)) ?? { exists: false });
      else missing.add(owner.kind);
    }
  }
  return { states, missing: [...missing].sort() };
}

/** As the daemon reads them one by one; only these two kinds have a number of replicas that a drain asks for. */
function presentOwners(objects: readonly FileObject[]): OwnerStates {
  const states = new Map<string, OwnerState>();
  for (const object of objects) {
    // Nothing is known of the form of kinds that no decision reads.
    const { kind } = object;
    if (!isOwnerKind(kind)) continue;
    const { metadata, spec } = object as WorkloadJson;
    const hasReplicas = kind === 'ReplicaSet' || kind === 'ReplicationController';
    const key = ownerKey({ kind, namespace: metadata.namespace ?? 'default', name: metadata.name });
    states.set(key, { exists: true, desired: hasReplicas ? (spec?.replicas ?? 1) : undefined });
  }
  return states;
}

/** Gives every pod of one question the same shapes. */
export interface Reading {
  readonly names: ResourceNames;
  readonly pods: PodProjection;
  /** PriorityClasses by name, '' being who names none: a manifest names its class, only the API server writes the number. */
  readonly priorities: ReadonlyMap<string, number>;
  /** By name. */
  readonly runtimes: ReadonlyMap<string, RuntimeClassJson>;
  readonly storage: KnownStorage;
  readonly devices: KnownDevices;
  /** Taints by which nodes of this cluster say what state they are in. */
  readonly taints: TaintRules | undefined;
  /** The moment that is asked about, in milliseconds since the epoch. */
  readonly nowMs: number;
}

interface PriorityClass {
  readonly metadata: { readonly name: string };
  readonly value: number;
  readonly globalDefault?: boolean;
}

/** The two that every cluster has. */
const SYSTEM_CLASSES: readonly (readonly [string, number])[] = [
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
];

export function startReading(names: ResourceNames, objects: readonly FileObject[], nowMs: number, taints?: TaintRules): Reading {
  const classes = ofKind(objects, 'PriorityClass') as readonly PriorityClass[];
  const named = classes.map(({ metadata, value }) => [metadata.name, value] as const);
  const usual = classes.filter(({ globalDefault }) => globalDefault === true).map(({ value }) => value);
  // Of several defaults the lowest holds.
  const priorities = new Map([...SYSTEM_CLASSES, ...named, ...(usual.length === 0 ? [] : [['', Math.min(...usual)] as const])]);
  const runtimes = new Map((ofKind(objects, 'RuntimeClass') as readonly RuntimeClassJson[]).map((each) => [each.metadata.name, each]));
  const kept = { storage: storageOf(objects, names), devices: devicesOf(objects) };
  return { names, pods: createPodProjection(names), priorities, runtimes, ...kept, taints, nowMs };
}

/**
 * With the kinds of controllers that pods name and the file does not hold, and pods that wait and are being deleted, of which
 * the daemon sees nothing. @throws AutoscalerError `config` when a name is there twice.
 */
export function clusterOf(
  objects: readonly FileObject[],
  reading: Reading,
): { readonly cluster: ClusterView; readonly trusted: readonly string[]; readonly leaving: readonly Pod[] } {
  const nodes = createNodeProjection(reading.names, undefined, reading.taints, () => reading.nowMs);
  const index = new PodIndex();
  const seen = new Set<string>();
  const leaving: Pod[] = [];
  for (const json of ofKind(objects, 'Pod') as readonly PodJson[]) {
    const pod = readPod(json, reading);
    const name = podName(pod);
    if (seen.has(name)) throw twice('Pod', name);
    seen.add(name);
    index.replace(undefined, pod);
    if (pod.nodeName === undefined && pod.deletionAtMs !== undefined) leaving.push(pod);
  }
  const nodeEntries = (ofKind(objects, 'Node') as readonly NodeJson[])
    .map((json) => settled(projectNode(json, nodes)))
    .sort(byText(({ name }) => name));
  nodeEntries.forEach(({ name }, at) => {
    if (nodeEntries[at + 1]?.name === name) throw twice('Node', name);
  });
  const namespaces = ofKind(objects, 'Namespace') as readonly {
    readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  }[];
  const view = {
    nodes: new Map(nodeEntries.map((node) => [node.name, node])),
    podsByNode: index.podsByNode(),
    pendingPods: index.pendingPods(),
    daemonSets: (ofKind(objects, 'DaemonSet') as readonly DaemonSetJson[])
      .map((json) => projectDaemonSet(json, reading.pods.shapes))
      .sort(byName),
    disruptionBudgets: (ofKind(objects, 'PodDisruptionBudget') as readonly DisruptionBudgetJson[]).map(projectBudget).sort(byName),
    namespaces: new Map(namespaces.map(({ metadata: { name, labels } }) => [name, { ...labels, [NAMESPACE_NAME]: name }])),
    stalenessMs: 0,
  };
  for (const pod of [...view.pendingPods, ...[...view.podsByNode.values()].flat()]) reading.storage.podChanged(undefined, pod);
  const { states: owners, missing } = ownersOf(objects, view.podsByNode.values());
  const trusted = missing.includes('DaemonSet') ? { daemonSetsUnknown: true as const } : {};
  return { cluster: reading.devices.resolve(reading.storage.resolve({ ...view, owners, ...trusted })), trusted: missing, leaving };
}

/** A file has no history: a node that is ready has been so for long. */
function settled(node: Node): Node {
  return node.readiness.ready ? { ...node, readiness: { ...node.readiness, sinceMs: 0 } } : node;
}

/** The claims, volumes, classes and CSINodes of the file. */
function storageOf(objects: readonly FileObject[], names: ResourceNames): KnownStorage {
  let capacities = 0;
  const tables = {
    claims: tableOf(objects, 'PersistentVolumeClaim', projectClaim, ({ key }) => key),
    volumes: tableOf(objects, 'PersistentVolume', projectVolume, nameOf),
    classes: tableOf(objects, 'StorageClass', projectStorageClass, nameOf),
    csiNodes: tableOf(objects, 'CSINode', projectCsiNode, nameOf),
    csiDrivers: tableOf(objects, 'CSIDriver', projectCsiDriver, nameOf),
    capacities: tableOf(objects, 'CSIStorageCapacity', projectStorageCapacity, () => String(capacities++)),
  };
  return new KnownStorage(tables, names);
}

/** The devices, classes and device claims of the file. */
function devicesOf(objects: readonly FileObject[]): KnownDevices {
  let slices = 0;
  const known = new KnownDevices({
    slices: tableOf(objects, 'ResourceSlice', projectSlice, () => String(slices++)),
    classes: tableOf(objects, 'DeviceClass', projectDeviceClass, nameOf),
    claims: tableOf(objects, 'ResourceClaim', projectResourceClaim, ({ key }) => key),
    templates: tableOf(objects, 'ResourceClaimTemplate', projectClaimTemplate, ({ key }) => key),
  });
  // A claim that nobody wrote down is another matter than one that is not there.
  if (!objects.some(({ kind }) => DEVICE_KINDS.has(kind))) known.setTrouble(`the file holds no ${[...DEVICE_KINDS].join(', ')}`);
  return known;
}

const DEVICE_KINDS: ReadonlySet<string> = new Set(['ResourceSlice', 'DeviceClass', 'ResourceClaim', 'ResourceClaimTemplate']);

function tableOf<Item>(
  objects: readonly FileObject[],
  kind: string,
  project: (json: object) => Item,
  keyOf: (item: Item) => string,
): ReadonlyMap<string, Item> {
  const items = (ofKind(objects, kind) as readonly object[]).map(project);
  return new Map(items.map((item) => [keyOf(item), item]));
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

/**
 * A file has no history: a pod that no scheduler has judged yet counts as refused (if it fits, the plan says where), and
 * one that asks for a delay has waited.
 */
export function readPod(json: PodJson, reading: Reading): Pod {
  const projected = projectPod(completed(json, reading), reading.pods);
  const pod = { ...projected, uid: projected.uid === '' ? podName(projected) : projected.uid, scaleUpDelayMs: undefined };
  if (pod.nodeName !== undefined) return pod;
  if (isGated(json)) return { ...pod, unschedulable: undefined };
  if (isJudged(json)) return pod;
  return { ...pod, phase: 'Pending', unschedulable: { sinceMs: pod.createdAtMs, message: '' } };
}

/** A manifest's pod has not met the API server, which fills these in. */
function completed(json: PodJson, { priorities, runtimes }: Reading): PodJson {
  const spec: ManifestSpec = json.spec ?? {};
  const priority = spec.priority ?? priorities.get(spec.priorityClassName ?? '');
  const { namespace = '' } = json.metadata ?? {};
  return {
    ...json,
    metadata: { ...json.metadata, namespace: namespace === '' ? 'default' : namespace },
    spec: { ...withRuntime(spec, runtimes.get(spec.runtimeClassName ?? '')), ...defined({ priority }) },
  };
}

type ManifestSpec = PodSpecJson & {
  readonly priorityClassName?: string;
  readonly runtimeClassName?: string;
  readonly schedulingGates?: readonly unknown[];
};

/** No scheduler looks at it, whatever was said before. */
function isGated({ spec = {} }: PodJson): boolean {
  const { schedulingGates = [] }: ManifestSpec = spec;
  return schedulingGates.length > 0;
}

/** The scheduler has said something of it, or will say nothing: it is over. */
function isJudged({ status = {} }: PodJson): boolean {
  const said = status.conditions?.some(({ type }) => type === 'PodScheduled') === true;
  return said || (status.phase !== undefined && status.phase !== 'Pending');
}

interface DatedCondition {
  readonly lastHeartbeatTime?: unknown;
  readonly lastTransitionTime?: unknown;
}

/** 0 for what is no time. */
function momentOf(text: unknown): number {
  return typeof text === 'string' ? Date.parse(text) || 0 : 0;
}

/** The newest moment that the objects speak of, most often a node's last heartbeat: the same file gives the same answer whenever it is asked. */
export function newestMoment(objects: readonly FileObject[]): number {
  let newest = 0;
  for (const { metadata } of objects as readonly PodJson[]) newest = Math.max(newest, momentOf(metadata?.creationTimestamp));
  for (const { status } of [...ofKind(objects, 'Node'), ...ofKind(objects, 'Pod')] as readonly NodeJson[]) {
    for (const { lastHeartbeatTime, lastTransitionTime } of (status?.conditions ?? []) as readonly DatedCondition[]) {
      newest = Math.max(newest, momentOf(lastHeartbeatTime), momentOf(lastTransitionTime));
    }
  }
  return newest;
}

function ofKind(objects: readonly FileObject[], kind: string): readonly unknown[] {
  return objects.filter((object) => object.kind === kind);
}

function byText<Item>(textOf: (item: Item) => string): (left: Item, right: Item) => number {
  return compareBy(textOf);
}

function twice(kind: string, name: string): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, `${kind} ${name}: metadata.name is there twice.`);
}
