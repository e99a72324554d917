/**
 * The volume filters over the API's own objects: restrictions, attach limits, binding, zones. Reasons are in kube-scheduler's
 * words.
 */
import { wholeUnits } from '../../../../src/domain/quantity.ts';
import type { KubeObject, NodeSelectorTerm, PodObject } from '../store/objects.ts';
import type { ClaimObject, CsiDriverObject, CsiNodeObject, StorageClassObject, VolumeObject } from '../store/storage-objects.ts';
import { satisfies, selects } from '../store/selectors.ts';
import { matchesTerm, type NodeUsage } from './node-filters.ts';

export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
/** The driver that replaced in-tree Azure disks. */
const DISKS = 'disk.csi.azure.com';
const BOUND = 'pv.kubernetes.io/bind-completed';
const ZONES = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];
const OLD_ZONES = ['failure-domain.beta.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/region'];

/** Objects by storage name and key, as in the API server. */
export interface StoredObjects {
  get(storage: string, key: string): KubeObject | undefined;
  list(storage: string): readonly KubeObject[];
}

interface Mount {
  readonly name: string;
  readonly ephemeral: boolean;
}

export function mountsOf(pod: PodObject): readonly Mount[] {
  return (pod.spec.volumes ?? []).flatMap((volume): readonly Mount[] => {
    if (volume.persistentVolumeClaim !== undefined) return [{ name: volume.persistentVolumeClaim.claimName, ephemeral: false }];
    return volume.ephemeral === undefined ? [] : [{ name: `${pod.metadata.name}-${volume.name}`, ephemeral: true }];
  });
}

export function claimOf(pod: PodObject, name: string, stored: StoredObjects): ClaimObject | undefined {
  return stored.get('persistentvolumeclaims', `${pod.metadata.namespace ?? ''}/${name}`) as ClaimObject | undefined;
}

export function isBound(claim: ClaimObject): boolean {
  return (claim.spec.volumeName ?? '') !== '' && claim.metadata.annotations?.[BOUND] !== undefined;
}

export function classOf(claim: ClaimObject, stored: StoredObjects): StorageClassObject | undefined {
  return stored.get('storageclasses', `/${claim.spec.storageClassName ?? ''}`) as StorageClassObject | undefined;
}

/** The claims of the pod that wait for the choice of a node. */
export function delayedClaims(pod: PodObject, stored: StoredObjects): readonly ClaimObject[] {
  return mountsOf(pod)
    .map(({ name }) => claimOf(pod, name, stored))
    .filter((claim) => claim !== undefined)
    .filter((claim) => !isBound(claim));
}

/** Why no node at all is possible. */
function reasonForAll(pod: PodObject, nodes: readonly NodeUsage[], stored: StoredObjects): string | undefined {
  for (const mount of mountsOf(pod)) {
    const claim = claimOf(pod, mount.name, stored);
    const reason = claim === undefined ? missingClaimReason(mount) : claimReason(pod, claim, mount, stored);
    if (reason !== undefined) return reason;
    const exclusive = claim?.spec.accessModes?.includes('ReadWriteOncePod') === true;
    const others = nodes.flatMap(({ pods }) => pods).filter((other) => other.metadata.namespace === pod.metadata.namespace);
    if (exclusive && others.some((other) => mountsOf(other).some(({ name }) => name === mount.name)))
      return 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode';
  }
  return undefined;
}

function missingClaimReason({ name, ephemeral }: Mount): string {
  return ephemeral
    ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
    : `persistentvolumeclaim "${name}" not found`;
}

function claimReason(pod: PodObject, claim: ClaimObject, { name, ephemeral }: Mount, stored: StoredObjects): string | undefined {
  const owned = claim.metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid) === true;
  if (ephemeral && !owned)
    return `PVC ${claim.metadata.namespace ?? ''}/${name} was not created for pod ${pod.metadata.name} (pod is not owner)`;
  if (claim.metadata.deletionTimestamp !== undefined) return `persistentvolumeclaim "${name}" is being deleted`;
  if (isBound(claim)) {
    const there = stored.get('persistentvolumes', `/${claim.spec.volumeName ?? ''}`) !== undefined;
    return there ? undefined : 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)';
  }
  return unboundReason(claim, stored);
}

function unboundReason(claim: ClaimObject, stored: StoredObjects): string | undefined {
  if ((claim.spec.storageClassName ?? '') === '') return 'pod has unbound immediate PersistentVolumeClaims';
  const storageClass = classOf(claim, stored);
  if (storageClass === undefined) return `storageclass.storage.k8s.io "${claim.spec.storageClassName ?? ''}" not found`;
  const delayed = storageClass.volumeBindingMode === 'WaitForFirstConsumer' && (claim.spec.volumeName ?? '') === '';
  return delayed ? undefined : 'pod has unbound immediate PersistentVolumeClaims';
}

function matchesAny(terms: readonly NodeSelectorTerm[], usage: NodeUsage): boolean {
  return terms.some((term) => matchesTerm(term, usage.node));
}

function isReachable(volume: VolumeObject, usage: NodeUsage): boolean {
  const required = volume.spec.nodeAffinity?.required;
  return required === undefined || matchesAny(required.nodeSelectorTerms, usage);
}

function isInZone(volume: VolumeObject, { labels }: NodeUsage): boolean {
  const all = [...ZONES, ...OLD_ZONES];
  if (!all.some((key) => labels[key] !== undefined)) return true;
  return all.every((key) => {
    const wanted = volume.metadata.labels?.[key];
    const present = labels[key] ?? labels[key.replace('failure-domain.beta', 'topology')];
    return wanted === undefined || wanted.split('__').includes(present ?? '(none)');
  });
}

/** Whether an existing volume could serve the claim. */
function couldServe(volume: VolumeObject, claim: ClaimObject): boolean {
  const { spec, metadata } = volume;
  if (!isFreeFor(volume, claim) || (spec.storageClassName ?? '') !== claim.spec.storageClassName) return false;
  if (spec.volumeMode !== claim.spec.volumeMode || capacityOf(volume) < wholeUnits(claim.spec.resources?.requests?.['storage'] ?? 0))
    return false;
  const modes = claim.spec.accessModes ?? [];
  if (!modes.every((mode) => spec.accessModes?.includes(mode) === true)) return false;
  return claim.spec.selector === undefined || selects(claim.spec.selector, metadata.labels);
}

function isFreeFor({ spec, status, metadata }: VolumeObject, claim: ClaimObject): boolean {
  if (status?.phase !== 'Available' || metadata.deletionTimestamp !== undefined) return false;
  const { claimRef } = spec;
  return claimRef === undefined || (claimRef.name === claim.metadata.name && claimRef.namespace === claim.metadata.namespace);
}

function capacityOf({ spec }: VolumeObject): number {
  return wholeUnits(spec.capacity?.['storage'] ?? 0);
}

/** The free volume for the claim on this node: the smallest one that is large enough. */
export function volumeFor(claim: ClaimObject, usage: NodeUsage, stored: StoredObjects): VolumeObject | undefined {
  return stored
    .list('persistentvolumes')
    .map((object) => object as VolumeObject)
    .filter((volume) => couldServe(volume, claim) && isReachable(volume, usage))
    .sort((left, right) => capacityOf(left) - capacityOf(right))[0];
}

function canMake(claim: ClaimObject, usage: NodeUsage, stored: StoredObjects): boolean {
  const storageClass = classOf(claim, stored);
  if (storageClass === undefined || storageClass.provisioner === 'kubernetes.io/no-provisioner') return false;
  const topologies = storageClass.allowedTopologies ?? [];
  if (topologies.length === 0) return true;
  return topologies.some(({ matchLabelExpressions }) =>
    satisfies(
      (matchLabelExpressions ?? []).map(({ key, values }) => ({ key, operator: 'In' as const, values })),
      usage.labels,
    ),
  );
}

/**
 * Volumes that the pod attaches, by driver and handle. A volume that does not exist yet counts under its claim's name. In-tree
 * disks count for the driver that replaced them.
 */
function attachedBy(pod: PodObject, stored: StoredObjects): readonly (readonly [driver: string, volume: string])[] {
  const inline = (pod.spec.volumes ?? []).flatMap(({ azureDisk }) =>
    azureDisk === undefined ? [] : [[DISKS, azureDisk.diskURI] as const],
  );
  const claimed = mountsOf(pod).flatMap(({ name }): readonly (readonly [string, string])[] => {
    const claim = claimOf(pod, name, stored);
    if (claim === undefined) return [];
    const volume = stored.get('persistentvolumes', `/${claim.spec.volumeName ?? ''}`) as VolumeObject | undefined;
    if (volume?.spec.csi !== undefined) return [[volume.spec.csi.driver, volume.spec.csi.volumeHandle ?? volume.metadata.name]];
    if (volume?.spec.azureDisk !== undefined) return [[DISKS, volume.spec.azureDisk.diskURI]];
    const maker = volume === undefined ? classOf(claim, stored)?.provisioner : undefined;
    return maker === undefined || maker === 'kubernetes.io/no-provisioner' ? [] : [[maker, `${claim.metadata.namespace ?? ''}/${name}`]];
  });
  return [...inline, ...claimed];
}

function hasSlots(pod: PodObject, usage: NodeUsage, stored: StoredObjects): boolean {
  const csiNode = stored.get('csinodes', `/${usage.node.metadata.name}`) as CsiNodeObject | undefined;
  const wanted = attachedBy(pod, stored);
  if (wanted.length === 0) return true;
  const present = usage.pods.flatMap((other) => attachedBy(other, stored));
  return (csiNode?.spec.drivers ?? []).every(({ name, allocatable }) => {
    const mine = new Set(wanted.filter(([driver]) => driver === name).map(([, volume]) => volume));
    if (allocatable?.count === undefined || mine.size === 0) return true;
    const there = new Set(present.filter(([driver]) => driver === name).map(([, volume]) => volume));
    const fresh = [...mine].filter((volume) => !there.has(volume));
    return fresh.length === 0 || there.size + fresh.length <= allocatable.count;
  });
}

/**
 * A driver that must be there and is not, as in kube-scheduler 1.37 (NodeVolumeLimits, `checkCSIDriverOnNode`). A driver without a CSIDriver
 * object need not be there.
 */
function missingDriver(pod: PodObject, usage: NodeUsage, stored: StoredObjects): string | undefined {
  const csiNode = stored.get('csinodes', `/${usage.node.metadata.name}`) as CsiNodeObject | undefined;
  const registered = (csiNode?.spec.drivers ?? []).map(({ name }) => name);
  return attachedBy(pod, stored)
    .map(([driver]) => driver)
    .filter((driver) => !registered.includes(driver))
    .find((driver) => {
      const object = stored.get('csidrivers', `/${driver}`) as CsiDriverObject | undefined;
      return object?.spec.preventPodSchedulingIfMissing === true;
    });
}

/** The first filter that refuses the node; undefined if none does. */
export function volumeReason(pod: PodObject, usage: NodeUsage, nodes: readonly NodeUsage[], stored: StoredObjects): string | undefined {
  const mounts = mountsOf(pod);
  if ((pod.spec.volumes ?? []).length === 0) return undefined;
  const general = reasonForAll(pod, nodes, stored);
  if (general !== undefined) return general;
  const driver = missingDriver(pod, usage, stored);
  if (driver !== undefined) return `${driver} CSI driver is not installed on the node`;
  if (!hasSlots(pod, usage, stored)) return 'node(s) exceed max volume count';
  for (const { name } of mounts) {
    const claim = claimOf(pod, name, stored);
    if (claim === undefined) continue;
    const reason = isBound(claim) ? reachReason(claim, usage, stored) : bindReason(claim, usage, nodes, stored);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function reachReason(claim: ClaimObject, usage: NodeUsage, stored: StoredObjects): string | undefined {
  const volume = stored.get('persistentvolumes', `/${claim.spec.volumeName ?? ''}`) as VolumeObject;
  if (!isReachable(volume, usage)) return 'node(s) had volume node affinity conflict';
  return isInZone(volume, usage) ? undefined : 'node(s) had no available volume zone';
}

function bindReason(claim: ClaimObject, usage: NodeUsage, nodes: readonly NodeUsage[], stored: StoredObjects): string | undefined {
  const nameOf = ({ node }: NodeUsage): string => node.metadata.name;
  const selected = claim.metadata.annotations?.[SELECTED_NODE];
  const elsewhere = selected !== undefined && selected !== nameOf(usage) && nodes.some((other) => nameOf(other) === selected);
  const served = !elsewhere && (volumeFor(claim, usage, stored) !== undefined || canMake(claim, usage, stored));
  return served ? undefined : "node(s) didn't find available persistent volumes to bind";
}
