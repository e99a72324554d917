/** Claims, volumes, storage classes and CSINodes: API JSON to the fields that placing a pod needs. */
import { AutoscalerError } from '../../lib/errors.ts';
import type { NodeSelectorTerm, Requirement } from '../../domain/labels.ts';
import { wholeUnits } from '../../domain/quantity.ts';
import { AZURE_DISK_DRIVER, AZURE_FILE_DRIVER, ZONE_LABELS, type AttachLimits, type ClaimRequirements } from '../../domain/volumes.ts';
import type {
  LabelSelectorJson,
  MetadataJson,
  ClaimSpecJson,
  CsiNodeJson,
  StorageClassJson,
  VolumeClaimJson,
  VolumeObjectJson,
} from '../api/core-json.ts';
import { labelSelector, nodeSelectorTerm } from './selectors.ts';

const BOUND = 'pv.kubernetes.io/bind-completed';
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const OLD_CLASS = 'volume.beta.kubernetes.io/storage-class';
const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';
/** The zones of a multi-zone volume are written as one label value. */
const ZONE_SEPARATOR = '__';

export interface Claim {
  /** `namespace/name` */
  readonly key: string;
  readonly requirements: ClaimRequirements;
  /** The volume it is bound to; undefined if not bound yet. */
  readonly volume: string | undefined;
  /** Whether it names a volume but the two are not bound yet. */
  readonly isBinding: boolean;
  readonly isDeleting: boolean;
  /** The node for which a volume is being created now. */
  readonly selectedNode: string | undefined;
  /** The pod that the claim of a generic ephemeral volume was created for. */
  readonly ownerUid: string | undefined;
}

export interface Volume {
  readonly name: string;
  readonly className: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isAvailable: boolean;
  /** The claim it is reserved for. */
  readonly claim: string | undefined;
  readonly bytes: number;
  readonly accessModes: readonly string[];
  readonly mode: string;
  readonly driver: string | undefined;
  /** The driver's name for it: two volumes with one handle are one disk and take one attach slot. */
  readonly handle: string;
  /** Node affinity; undefined means reachable from everywhere. */
  readonly terms: readonly NodeSelectorTerm[] | undefined;
  readonly zones: readonly Requirement[];
}

export interface StorageClass {
  readonly name: string;
  readonly provisioner: string;
  /** Whether the binding mode is WaitForFirstConsumer. */
  readonly waits: boolean;
  /** Where volumes may be created; undefined means anywhere. */
  readonly topologies: readonly NodeSelectorTerm[] | undefined;
  readonly isDefault: boolean;
}

export interface CsiNode {
  readonly name: string;
  readonly limits: AttachLimits;
  /** Those that are registered, with a limit or without. */
  readonly drivers: readonly string[];
}

export interface CsiDriver {
  readonly name: string;
  /** Whether the driver's volumes are created only where it reports capacity. */
  readonly tracks: boolean;
  /** Whether pods with its volumes may only run on nodes where it is registered. */
  readonly mustBeThere: boolean;
}

/** What a driver reports that it can still create of a class, for the nodes that match. */
export interface StorageCapacity {
  readonly className: string;
  /** Undefined: no node can reach it. Empty: every node can. */
  readonly topology: readonly Requirement[] | undefined;
  /** The largest volume that can be created; undefined if the driver does not know. */
  readonly bytes: number | undefined;
}

export interface StorageCapacityJson {
  readonly storageClassName?: string;
  readonly nodeTopology?: LabelSelectorJson | null;
  readonly capacity?: string | number;
  readonly maximumVolumeSize?: string | number;
}

interface CsiDriverJson {
  readonly metadata?: MetadataJson;
  readonly spec?: { readonly storageCapacity?: boolean; readonly preventPodSchedulingIfMissing?: boolean };
}

export function projectStorageCapacity(json: StorageCapacityJson): StorageCapacity {
  const size = json.maximumVolumeSize ?? json.capacity ?? undefined;
  return {
    className: json.storageClassName ?? '',
    topology: labelSelector(json.nodeTopology)?.requirements,
    // An unreadable capacity counts as none.
    bytes: size === undefined ? undefined : bytesOf(size, 0),
  };
}

export function projectCsiDriver({ metadata = {}, spec = {} }: CsiDriverJson): CsiDriver {
  return {
    name: metadata.name ?? '',
    tracks: spec.storageCapacity === true,
    mustBeThere: spec.preventPodSchedulingIfMissing === true,
  };
}

export function projectClaim(json: VolumeClaimJson): Claim {
  const { metadata = {}, spec = {}, status = {} } = json;
  const annotations = metadata.annotations ?? {};
  const named = spec.volumeName === undefined || spec.volumeName === '' ? undefined : spec.volumeName;
  const isBound = named !== undefined && (annotations[BOUND] !== undefined || status.phase === 'Bound' || status.phase === 'Lost');
  return {
    key: namespacedName(metadata),
    requirements: claimWish({ ...spec, storageClassName: spec.storageClassName ?? annotations[OLD_CLASS] }),
    volume: isBound ? named : undefined,
    isBinding: named !== undefined && !isBound,
    isDeleting: metadata.deletionTimestamp !== undefined,
    selectedNode: annotations[SELECTED_NODE],
    ownerUid: podOwner(metadata),
  };
}

function podOwner({ ownerReferences }: MetadataJson): string | undefined {
  return ownerReferences?.find(({ kind, controller }) => kind === 'Pod' && controller === true)?.uid;
}

export function claimWish(spec: ClaimSpecJson): ClaimRequirements {
  const selector = spec.selector === undefined ? undefined : labelSelector(spec.selector)?.requirements;
  return {
    className: spec.storageClassName ?? undefined,
    accessModes: spec.accessModes ?? [],
    // A claim with an unreadable size fits no existing volume.
    bytes: bytesOf(spec.resources?.requests?.['storage'], Number.MAX_SAFE_INTEGER),
    mode: spec.volumeMode ?? 'Filesystem',
    selector,
  };
}

export function projectVolume(json: VolumeObjectJson): Volume {
  const { metadata = {}, spec = {}, status = {} } = json;
  const labels = metadata.labels ?? {};
  const reference = spec.claimRef;
  return {
    name: metadata.name ?? '',
    className: spec.storageClassName ?? metadata.annotations?.[OLD_CLASS] ?? '',
    labels,
    isAvailable: status.phase === 'Available' && metadata.deletionTimestamp === undefined,
    claim: reference === undefined ? undefined : namespacedName(reference),
    ...reachOf(spec, labels),
    handle: handleOf(spec, metadata),
    bytes: bytesOf(spec.capacity?.['storage'], 0),
    accessModes: spec.accessModes ?? [],
    mode: spec.volumeMode ?? 'Filesystem',
  };
}

function handleOf({ csi, azureDisk }: NonNullable<VolumeObjectJson['spec']>, { name = '' }: MetadataJson): string {
  return csi?.volumeHandle ?? azureDisk?.diskURI ?? name;
}

/** `namespace/name` */
function namespacedName({ namespace = 'default', name = '' }: { readonly namespace?: string; readonly name?: string }): string {
  return `${namespace}/${name}`;
}

/** The driver that attaches it, and the nodes it can be attached to. */
function reachOf(spec: NonNullable<VolumeObjectJson['spec']>, labels: Volume['labels']): Pick<Volume, 'driver' | 'terms' | 'zones'> {
  const required = spec.nodeAffinity?.required;
  return {
    // The CSI driver has handled in-tree disks since Kubernetes 1.24, so they count as its volumes.
    driver: spec.csi?.driver ?? (spec.azureDisk === undefined ? undefined : AZURE_DISK_DRIVER),
    terms: required === undefined ? undefined : (required.nodeSelectorTerms ?? []).map(nodeSelectorTerm),
    zones: ZONE_LABELS.flatMap((key): readonly Requirement[] => {
      const value = labels[key];
      return value === undefined ? [] : [{ key, operator: 'In', values: value.split(ZONE_SEPARATOR) }];
    }),
  };
}

function bytesOf(quantity: string | number | undefined, unreadable: number): number {
  try {
    return wholeUnits(quantity ?? 0);
  } catch (thrown) {
    if (thrown instanceof AutoscalerError && thrown.kind === 'config') return unreadable;
    throw thrown;
  }
}

/** Provisioners of old classes, each with the driver that has replaced it since Kubernetes 1.24. */
const PRESENT_DRIVERS: ReadonlyMap<string, string> = new Map([
  ['kubernetes.io/azure-disk', AZURE_DISK_DRIVER],
  ['kubernetes.io/azure-file', AZURE_FILE_DRIVER],
]);

export function projectStorageClass(json: StorageClassJson): StorageClass {
  const { metadata = {} } = json;
  return {
    name: metadata.name ?? '',
    provisioner: PRESENT_DRIVERS.get(json.provisioner ?? '') ?? json.provisioner ?? '',
    waits: json.volumeBindingMode === 'WaitForFirstConsumer',
    topologies:
      json.allowedTopologies === undefined || json.allowedTopologies.length === 0
        ? undefined
        : json.allowedTopologies.map(({ matchLabelExpressions = [] }) => ({
            expressions: matchLabelExpressions.map(({ key = '', values = [] }) => ({ key, operator: 'In' as const, values })),
            fields: [],
          })),
    isDefault: metadata.annotations?.[DEFAULT_CLASS] === 'true',
  };
}

export function projectCsiNode(json: CsiNodeJson): CsiNode {
  const drivers = json.spec?.drivers ?? [];
  const limits = drivers.flatMap(({ name = '', allocatable }) =>
    allocatable?.count === undefined ? [] : [[name, allocatable.count] as const],
  );
  return { name: json.metadata?.name ?? '', limits: Object.fromEntries(limits), drivers: drivers.map(({ name = '' }) => name) };
}
