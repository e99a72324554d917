/** Builds the cluster view of a loop from the Kubernetes objects of a file, with the projections that the watches use. */
import { podName } from '../../domain/ids.ts';
import { NAMESPACE_NAME } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import { type ClusterView, NOT_WATCHED } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { TaintRules } from '../../domain/taints.ts';
import { isBuiltInDaemonSet, isOwnerKind, ownerKey, ownerOf, type OwnerState, type OwnerStates } from '../../domain/workloads.ts';
import type { DaemonSetJson, DisruptionBudgetJson, NodeJson, ObjectJson } from '../../kubernetes/api/core-json.ts';
import { projectClaimTemplate, projectDeviceClass, projectResourceClaim, projectSlice } from '../../kubernetes/projection/devices.ts';
import { createNodeProjection, projectNode } from '../../kubernetes/projection/node.ts';
import { createPodProjection, type PodProjection } from '../../kubernetes/projection/pod.ts';
import { byTarget, projectVerticalPodAutoscaler } from '../../kubernetes/projection/vertical-pod-autoscalers.ts';
import { projectPodGroup, projectWorkloadGroups } from '../../kubernetes/projection/pod-groups.ts';
import {
  projectClaim,
  projectCsiDriver,
  projectCsiNode,
  projectStorageCapacity,
  projectStorageClass,
  projectVolume,
  type CsiDriver,
} from '../../kubernetes/projection/storage.ts';
import { projectBudget, projectDaemonSet } from '../../kubernetes/projection/workloads.ts';
import { KnownDevices } from '../../kubernetes/views/device-view.ts';
import { PodGroupShapes } from '../../kubernetes/views/pod-group-shapes.ts';
import { byName, PodIndex } from '../../kubernetes/views/pod-index.ts';
import { KnownStorage } from '../../kubernetes/views/storage-view.ts';
import { type AutoscalerError, configError } from '../../lib/errors.ts';
import type { FileCluster } from './collect-objects.ts';
import type { RuntimeClassJson } from './daemon-pods.ts';
import { readPod, type PodReader } from './read-pod.ts';
import type { FileObject } from './files/objects-file.ts';
import { compareBy } from '../../lib/comparison.ts';

interface WorkloadJson extends FileObject {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: { readonly replicas?: number | null } | null;
}

interface FileOwners {
  readonly states: OwnerStates;
  /** Kinds of owners that the file does not contain: owners of these kinds are assumed to exist. Sorted. */
  readonly missing: readonly string[];
}

/** The owners of these pods. A kind that the file contains is complete; owners of other kinds are unknown. */
function ownersOf({ objects, kinds }: Pick<FileCluster, 'objects' | 'kinds'>, pods: Iterable<readonly Pod[]>): FileOwners {
  const found = presentOwners(objects);
  const states = new Map<string, OwnerState>();
  const missing = new Set<string>();
  for (const onNode of pods) {
    for (const pod of onNode) {
      if (!kinds.has('DaemonSet') && pod.controller !== undefined && isBuiltInDaemonSet(pod.controller)) missing.add('DaemonSet');
      const owner = ownerOf(pod);
      if (owner === undefined) continue;
      if (kinds.has(owner.kind)) states.set(ownerKey(owner), found.get(ownerKey(owner)) ?? { exists: false });
      else missing.add(owner.kind);
    }
  }
  return { states, missing: [...missing].sort() };
}

/** The same states as the daemon reads. A drain needs the replicas of two kinds only. */
function presentOwners(objects: readonly FileObject[]): OwnerStates {
  const states = new Map<string, OwnerState>();
  for (const object of objects) {
    const { kind } = object;
    // The schemas do not check other kinds.
    if (!isOwnerKind(kind)) continue;
    const { metadata, spec } = object as WorkloadJson;
    const hasReplicas = kind === 'ReplicaSet' || kind === 'ReplicationController';
    const key = ownerKey({ kind, namespace: metadata.namespace ?? 'default', name: metadata.name });
    states.set(key, { exists: true, desired: hasReplicas ? (spec?.replicas ?? 1) : undefined });
  }
  return states;
}

/** Reads the objects of one plan. All its pods share their shapes. */
export interface ObjectReader extends PodReader {
  readonly names: ResourceNames;
  readonly storage: KnownStorage;
  readonly devices: KnownDevices;
  /** The taints that show the state of a node in this cluster. */
  readonly taints: TaintRules | undefined;
  /** The conditions of nodes to keep, as `type=status`. */
  readonly conditions: ReadonlySet<string>;
  /** The time of the plan, in milliseconds since the epoch. */
  readonly nowMs: number;
}

interface PriorityClass {
  readonly metadata: { readonly name: string };
  readonly value: number;
  readonly globalDefault?: boolean;
}

/** The classes that every cluster has. */
const SYSTEM_CLASSES: readonly (readonly [string, number])[] = [
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
];

interface ReaderOptions extends Pick<ObjectReader, 'nowMs'> {
  readonly taints?: TaintRules | undefined;
  /** If absent, no condition is kept. */
  readonly conditions?: ReadonlySet<string>;
  /** Shared with pods that were read before. */
  readonly pods?: PodProjection;
}

export function createObjectReader(names: ResourceNames, objects: readonly FileObject[], options: ReaderOptions): ObjectReader {
  const { nowMs, taints, conditions = new Set(), pods = createPodProjection(names) } = options;
  const classes = ofKind(objects, 'PriorityClass') as readonly PriorityClass[];
  const named = classes.map(({ metadata, value }) => [metadata.name, value] as const);
  const defaults = classes.filter(({ globalDefault }) => globalDefault === true).map(({ value }) => value);
  // The lowest of several defaults applies.
  const priorities = new Map([...SYSTEM_CLASSES, ...named, ...(defaults.length === 0 ? [] : [['', Math.min(...defaults)] as const])]);
  const runtimes = new Map((ofKind(objects, 'RuntimeClass') as readonly RuntimeClassJson[]).map((each) => [each.metadata.name, each]));
  const views = { storage: storageOf(objects, names), devices: devicesOf(objects, names) };
  return { names, pods, priorities, runtimes, ...views, taints, conditions, nowMs };
}

/**
 * Returns the cluster view, the kinds of owners that the file does not contain, and pods that were deleted before they had
 * a node, which the daemon never sees. @throws AutoscalerError `config` for a duplicate name.
 */
export function clusterOf(
  { objects, kinds, pods, podObjects }: FileCluster,
  reader: ObjectReader,
): { readonly cluster: ClusterView; readonly assumedOwnerKinds: readonly string[]; readonly deletedPods: readonly Pod[] } {
  const nodes = createNodeProjection(reader.names, undefined, { ...reader.taints, conditions: reader.conditions }, () => reader.nowMs);
  const index = new PodIndex();
  const seen = new Set<string>();
  const deletedPods: Pod[] = [];
  const addPod = (pod: Pod): void => {
    const name = podName(pod);
    if (seen.has(name)) throw duplicateName('Pod', name);
    seen.add(name);
    index.replace(undefined, pod);
    if (pod.nodeName === undefined && pod.deletionAtMs !== undefined) deletedPods.push(pod);
  };
  pods.forEach(addPod);
  for (const json of podObjects) addPod(readPod(json, reader));
  const nodeEntries = (ofKind(objects, 'Node') as readonly NodeJson[])
    .map((json) => withLongReadiness(projectNode(json, nodes)))
    .sort(compareBy(({ name }) => name));
  nodeEntries.forEach(({ name }, at) => {
    if (nodeEntries[at + 1]?.name === name) throw duplicateName('Node', name);
  });
  const namespaces = ofKind(objects, 'Namespace') as readonly {
    readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  }[];
  const view = {
    nodes: new Map(nodeEntries.map((node) => [node.name, node])),
    podsByNode: index.podsByNode(),
    pendingPods: index.pendingPods(),
    daemonSets: (ofKind(objects, 'DaemonSet') as readonly DaemonSetJson[])
      .map((json) => projectDaemonSet(json, reader.pods.shapes))
      .sort(byName),
    disruptionBudgets: (ofKind(objects, 'PodDisruptionBudget') as readonly DisruptionBudgetJson[]).map(projectBudget).sort(byName),
    namespaces: new Map(namespaces.map(({ metadata: { name, labels } }) => [name, { ...labels, [NAMESPACE_NAME]: name }])),
    stalenessMs: 0,
    ...NOT_WATCHED,
    podGroups: podGroupsOf(objects),
    verticalPodAutoscalers: reader.pods.soft.containers === true ? autoscalersOf(objects) : undefined,
  };
  for (const pod of [...view.pendingPods, ...[...view.podsByNode.values()].flat()]) reader.storage.podChanged(undefined, pod);
  const { states: owners, missing } = ownersOf({ objects, kinds }, view.podsByNode.values());
  const daemonSetsUnknown = missing.includes('DaemonSet');
  const resolved = reader.devices.resolve(reader.storage.resolve({ ...view, owners, daemonSetsUnknown }));
  const cluster = new PodGroupShapes().resolve(resolved, resolved.podGroups);
  return { cluster, assumedOwnerKinds: missing, deletedPods };
}

/** Without a group in the file, each pod starts alone. */
function podGroupsOf(objects: readonly FileObject[]): ClusterView['podGroups'] {
  const groups = [
    ...ofKind(objects, 'Workload').flatMap((json) => projectWorkloadGroups(json as ObjectJson)),
    ...ofKind(objects, 'PodGroup').flatMap((json) => projectPodGroup(json as ObjectJson)),
  ];
  return groups.length === 0 ? undefined : { groups: new Map(groups), unread: false };
}

/** Only where the configuration has them read. */
function autoscalersOf(objects: readonly FileObject[]): ClusterView['verticalPodAutoscalers'] {
  const all = ofKind(objects, 'VerticalPodAutoscaler').map((json) => projectVerticalPodAutoscaler(json as ObjectJson));
  return byTarget(all);
}

/** A file has no history: a ready node counts as ready for long. */
function withLongReadiness(node: Node): Node {
  return node.readiness.ready ? { ...node, readiness: { ...node.readiness, sinceMs: 0 } } : node;
}

/** Claims, volumes, storage classes and CSI objects of the file. */
function storageOf(objects: readonly FileObject[], names: ResourceNames): KnownStorage {
  let capacities = 0;
  const tables = {
    claims: tableOf(objects, 'PersistentVolumeClaim', projectClaim, ({ key }) => key),
    volumes: tableOf(objects, 'PersistentVolume', projectVolume, nameOf),
    classes: tableOf(objects, 'StorageClass', projectStorageClass, nameOf),
    csiNodes: tableOf(objects, 'CSINode', projectCsiNode, nameOf),
    csiDrivers: tableOf<CsiDriver>(objects, 'CSIDriver', (json) => withoutDemands(projectCsiDriver(json), objects), nameOf),
    capacities: tableOf(objects, 'CSIStorageCapacity', projectStorageCapacity, () => String(capacities++)),
  };
  return new KnownStorage(tables, names);
}

/** A file without CSINodes does not say which drivers its nodes have registered. */
function withoutDemands(driver: CsiDriver, objects: readonly FileObject[]): CsiDriver {
  return objects.some(({ kind }) => kind === 'CSINode') ? driver : { ...driver, mustBeThere: false };
}

/** Devices, device classes and device claims of the file. */
function devicesOf(objects: readonly FileObject[], names: ResourceNames): KnownDevices {
  let slices = 0;
  const known = new KnownDevices(
    {
      slices: tableOf(objects, 'ResourceSlice', projectSlice, () => String(slices++)),
      classes: tableOf(objects, 'DeviceClass', projectDeviceClass, nameOf),
      claims: tableOf(objects, 'ResourceClaim', projectResourceClaim, ({ key }) => key),
      templates: tableOf(objects, 'ResourceClaimTemplate', projectClaimTemplate, ({ key }) => key),
    },
    names,
  );
  // Without these kinds, a claim is unknown rather than missing.
  if (!objects.some(({ kind }) => DEVICE_KINDS.has(kind))) known.setTrouble(`the file contains no ${[...DEVICE_KINDS].join(', ')}`);
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

function ofKind(objects: readonly FileObject[], kind: string): readonly unknown[] {
  return objects.filter((object) => object.kind === kind);
}

function duplicateName(kind: string, name: string): AutoscalerError {
  return configError(`${kind} ${name}: metadata.name is used twice; names must be unique.`);
}
