/**
 * Binds claims to volumes and creates volumes, like the volume controller of Kubernetes and the disk driver of AKS together. It
 * acts at once or, with WaitForFirstConsumer, after the scheduler has chosen a node. Also creates the claims of generic ephemeral
 * volumes.
 */
import { wholeUnits } from '../../../../src/domain/quantity.ts';
import type { DiskDraft } from '../../base/disk-driver.ts';
import { placeOf } from '../store/api.ts';
import type { KubeObject, NodeObject, ObjectDraft, PodObject } from '../store/objects.ts';
import type { ClaimObject, StorageClassObject, VolumeObject } from '../store/storage-objects.ts';
import { storedType } from '../store/resource-types.ts';
import { claimOf, classOf, isBound, mountsOf, SELECTED_NODE, volumeFor } from '../scheduler/volumes.ts';
import { usageOf } from '../scheduler/node-filters.ts';
import { createQueue } from '../store/timers.ts';
import { onChange, ownerReferenceTo, recordEvent, type ControllerContext } from '../base/controller-context.ts';

const CLAIMS = storedType('persistentvolumeclaims');
const VOLUMES = storedType('persistentvolumes');
const WATCHED = ['persistentvolumeclaims', 'persistentvolumes', 'csinodes'];
const DISKS = 'disk.csi.azure.com';
/** Simulated time between two attempts to delete a disk. */
const DELETE_RETRY_MS = 10_000;
const DISK_ZONE = 'topology.disk.csi.azure.com/zone';

/** Starts the controller. Returns a function that stops it. */
export function startVolumeController(context: ControllerContext): () => void {
  const { api, knobs } = context;
  const making = createQueue(api.timers, (key) => makeVolume(context, key));
  const binding = createQueue(api.timers, (key) => {
    const claim = api.store.get('persistentvolumeclaims', key) as ClaimObject | undefined;
    if (claim === undefined || isBound(claim) || claim.metadata.deletionTimestamp !== undefined) return;
    if (bindPresent(context, claim)) return;
    if (isDue(context, claim)) making.add(key, knobs.volumeMs);
  });
  return onChange(api, [...WATCHED, 'pods'], ({ storage, type, object }) => {
    if (storage === 'pods') {
      if (type === 'ADDED') makeEphemeral(context, object as PodObject);
      if (type === 'DELETED') dropEphemeral(context, object as PodObject);
    } else if (storage === 'persistentvolumes' || storage === 'csinodes') {
      if (type === 'ADDED') for (const claim of api.store.list('persistentvolumeclaims')) binding.add(keyOf(claim));
    } else if (type === 'DELETED') releaseVolume(context, object as ClaimObject);
    else binding.add(keyOf(object));
  });
}

function keyOf({ metadata }: { readonly metadata: { readonly namespace?: string; readonly name: string } }): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** Its class provisions at once, or a node is chosen. */
function isDue({ api }: ControllerContext, claim: ClaimObject): boolean {
  const storageClass = classOf(claim, api.store);
  if (storageClass === undefined || storageClass.provisioner !== DISKS || (claim.spec.volumeName ?? '') !== '') return false;
  const chosen = claim.metadata.annotations?.[SELECTED_NODE];
  if (chosen === undefined) return storageClass.volumeBindingMode !== 'WaitForFirstConsumer';
  // The driver creates no volume for a node without its registration. A deleted node is handled later.
  return api.store.get('csinodes', `/${chosen}`) !== undefined || api.store.get('nodes', `/${chosen}`) === undefined;
}

/** Binds an existing volume: the one that the claim names or, once a node is chosen, one that this node can reach. */
function bindPresent(context: ControllerContext, claim: ClaimObject): boolean {
  const { api } = context;
  const named = claim.spec.volumeName ?? '';
  const node = api.store.get('nodes', `/${claim.metadata.annotations?.[SELECTED_NODE] ?? ''}`) as NodeObject | undefined;
  const volume =
    named !== ''
      ? (api.store.get('persistentvolumes', `/${named}`) as VolumeObject | undefined)
      : node === undefined
        ? undefined
        : volumeFor(claim, usageOf(node, []), api.store);
  if (volume === undefined) return false;
  bind(context, claim, volume);
  return true;
}

function bind({ api }: ControllerContext, claim: ClaimObject, volume: VolumeObject): void {
  const { name, namespace, uid } = claim.metadata;
  api.modify(VOLUMES, placeOf(volume), 'main', (current) => ({
    ...current,
    spec: { ...(current as VolumeObject).spec, claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid } },
  }));
  api.modify(VOLUMES, placeOf(volume), 'status', (current) => ({ ...current, status: { phase: 'Bound' } }));
  api.modify(CLAIMS, placeOf(claim), 'main', (current) => ({
    ...current,
    metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { ...(current as ClaimObject).spec, volumeName: volume.metadata.name },
  }));
  api.modify(CLAIMS, placeOf(claim), 'status', (current) => ({ ...current, status: { phase: 'Bound' } }));
}

/** Creates a zonal disk in the zone of the chosen node. Without a node, the disk is in a zone of its class, or regional. */
function makeVolume(context: ControllerContext, key: string): void {
  const { api } = context;
  const claim = api.store.get('persistentvolumeclaims', key) as ClaimObject | undefined;
  if (claim === undefined || isBound(claim) || !isDue(context, claim)) return;
  const chosen = claim.metadata.annotations?.[SELECTED_NODE];
  const node = chosen === undefined ? undefined : api.store.get('nodes', `/${chosen}`);
  if (chosen !== undefined && node === undefined) {
    // The node is gone, so the scheduler chooses again.
    api.modify(CLAIMS, placeOf(claim), 'main', unchosen);
    return;
  }
  const storageClass = classOf(claim, api.store);
  const zone = node?.metadata.labels?.[DISK_ZONE] ?? allowedZone(storageClass);
  const handle = context.disks.create(diskDraftOf(claim, zone, storageClass));
  const made = api.create(VOLUMES, volumeOf(claim, { zone, handle, reclaimPolicy: storageClass?.reclaimPolicy ?? 'Delete' }), undefined);
  if (!made.ok) return;
  bind(context, claim, made.value as VolumeObject);
  const message = `Successfully provisioned volume ${made.value.metadata.name}`;
  recordEvent(api, claim, { type: 'Normal', reason: 'ProvisioningSucceeded', message, component: DISKS });
}

function unchosen(claim: KubeObject): KubeObject {
  return { ...claim, metadata: { ...claim.metadata, annotations: without(claim.metadata.annotations) } };
}

/** Empty: a regional disk. */
function allowedZone(storageClass: StorageClassObject | undefined): string {
  const [term] = storageClass?.allowedTopologies ?? [];
  return term?.matchLabelExpressions?.find(({ key }) => key === DISK_ZONE)?.values[0] ?? '';
}

/** Without a SKU in its class, a disk is a standard SSD, as the classes of AKS have it. */
function diskDraftOf({ metadata, spec }: ClaimObject, zone: string, storageClass: StorageClassObject | undefined): DiskDraft {
  const parameters = new Map(Object.entries(storageClass?.parameters ?? {}).map(([key, value]) => [key.toLowerCase(), value]));
  const name = `pvc-${metadata.uid}`;
  return {
    name,
    sizeGiB: Math.max(1, Math.ceil(wholeUnits(spec.resources?.requests?.['storage'] ?? 0) / 2 ** 30)),
    zone,
    sku: parameters.get('skuname') ?? parameters.get('storageaccounttype') ?? 'StandardSSD_LRS',
    tags: {
      'kubernetes.io-created-for-pv-name': name,
      'kubernetes.io-created-for-pvc-name': metadata.name,
      'kubernetes.io-created-for-pvc-namespace': metadata.namespace ?? '',
    },
  };
}

interface VolumeDraft {
  readonly zone: string;
  readonly handle: string;
  readonly reclaimPolicy: string;
}

function volumeOf({ spec, metadata }: ClaimObject, { zone, handle, reclaimPolicy }: VolumeDraft): ObjectDraft {
  const name = `pvc-${metadata.uid}`;
  const { accessModes = ['ReadWriteOnce'], resources, storageClassName = '', volumeMode = 'Filesystem' } = spec;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      accessModes,
      capacity: resources?.requests ?? { storage: '1Gi' },
      csi: { driver: DISKS, volumeHandle: handle },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: DISK_ZONE, operator: 'In', values: [zone] }] }] } },
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName,
      volumeMode,
    },
  };
}

function without(annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const { [SELECTED_NODE]: _chosen, ...rest } = annotations;
  return rest;
}

function makeEphemeral({ api }: ControllerContext, pod: PodObject): void {
  for (const { name } of mountsOf(pod).filter(({ ephemeral }) => ephemeral)) {
    const template = pod.spec.volumes?.find((volume) => `${pod.metadata.name}-${volume.name}` === name)?.ephemeral?.volumeClaimTemplate;
    const draft = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { ...template?.metadata, name, ownerReferences: [ownerReferenceTo(pod)] },
      spec: template?.spec ?? {},
    };
    api.create(CLAIMS, draft, pod.metadata.namespace);
  }
}

/** Ephemeral claims are owned by their pod and deleted with it. */
function dropEphemeral({ api }: ControllerContext, pod: PodObject): void {
  for (const { name } of mountsOf(pod).filter(({ ephemeral }) => ephemeral)) {
    const claim = claimOf(pod, name, api.store);
    if (claim?.metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid) === true) api.remove(CLAIMS, placeOf(claim), {});
  }
}

/** A provisioned volume is deleted with its claim, once its disk is. A volume that a person created stays, as released. */
function releaseVolume(context: ControllerContext, claim: ClaimObject): void {
  const { api } = context;
  const volume = api.store.get('persistentvolumes', `/${claim.spec.volumeName ?? ''}`) as VolumeObject | undefined;
  if (volume === undefined) return;
  api.modify(VOLUMES, placeOf(volume), 'status', (current) => ({ ...current, status: { phase: 'Released' } }));
  if (volume.spec.persistentVolumeReclaimPolicy === 'Delete') deleteVolume(context, volume);
}

/** Deletes the disk, then the volume. A disk that a node has is refused, and tried again. */
function deleteVolume(context: ControllerContext, volume: VolumeObject): void {
  const { api, disks } = context;
  const present = api.store.get('persistentvolumes', `/${volume.metadata.name}`);
  if (present?.metadata.uid !== volume.metadata.uid) return;
  const failure = volume.spec.csi?.driver === DISKS ? disks.remove(volume.spec.csi.volumeHandle ?? '') : undefined;
  if (failure === undefined) {
    api.remove(VOLUMES, placeOf(volume), {});
    return;
  }
  recordEvent(api, volume, { type: 'Warning', reason: 'VolumeFailedDelete', message: failure, component: DISKS });
  api.timers.after(DELETE_RETRY_MS, () => deleteVolume(context, volume));
}
