import type { Labels, NodeSelectorTerm, Requirement } from './labels.ts';
import type { Resources } from './resources.ts';

/** One rule of a pod's volumes about nodes. A node must satisfy every rule. */
export type VolumeNodeRule =
  | {
      /**
       * `reachable`: the volume exists, and these nodes reach it. `makeable`: it will be created, or found, where the pod runs. `stocked`:
       * it will be created where its driver reports capacity.
       */
      readonly kind: 'reachable' | 'makeable' | 'stocked';
      /** Alternatives, as in node affinity. An empty list matches no node. */
      readonly terms: readonly NodeSelectorTerm[];
    }
  | {
      /** Zone and region labels of the volume. A node without any such label passes. */
      readonly kind: 'zone-labels';
      readonly requirements: readonly Requirement[];
    };

/** What would let a claim be served. `create`: an object that the claim names does not exist. */
export type ClaimRepair =
  | {
      readonly kind: 'create';
      readonly object: 'PersistentVolumeClaim' | 'StorageClass' | 'ResourceClaim' | 'ResourceClaimTemplate';
      readonly name: string;
    }
  | { readonly kind: 'bind-volume' | 'restore-volume' | 'await-deletion' | 'stop-other-pod' | 'own-claim' };

/** Why no node can take the pod now because of a claim for a volume or for devices. */
export interface ClaimBlocker {
  /** In the words of kube-scheduler. */
  readonly message: string;
  readonly detail: string;
  /** undefined: nothing is known, or the dump is of an earlier version. */
  readonly repair: ClaimRepair | undefined;
}

/** The blocker as keys of shapes have it: what would repair it follows from its words. */
export function blockerIdentity({ message, detail }: ClaimBlocker): Pick<ClaimBlocker, 'message' | 'detail'> {
  return { message, detail };
}

/** What the claims of a pod mean for its node, derived from claims, volumes and storage classes. */
export interface VolumeRules {
  readonly places: readonly VolumeNodeRule[];
  readonly blockers: readonly ClaimBlocker[];
  /** CSI drivers that the node must have registered. */
  readonly drivers: readonly string[];
}

export const NO_VOLUME_RULES: VolumeRules = { places: [], blockers: [], drivers: [] };

/** Whether the volumes restrict where the pod runs. */
export function restrictsNodes({ places, blockers, drivers }: VolumeRules): boolean {
  return places.length + blockers.length + drivers.length > 0;
}

/** A volume that several pods mount. A node that has attached it for one pod needs no second slot for the next. */
export interface SharedVolume {
  /** Equal for all pods that mount it. */
  readonly volume: string;
  /** The attach slot that it takes. */
  readonly slots: Resources;
}

/** A disk that a pod's spec names itself. Pods on one node may share it only if all of them mount it read-only. */
export interface InlineDisk {
  readonly kind: 'iscsi' | 'rbd' | 'gcePersistentDisk' | 'awsElasticBlockStore';
  /** The names of the disk. Two disks of a kind are the same if they have a name in common. */
  readonly ids: readonly string[];
  readonly readOnly: boolean;
}

/** A claim that a pod mounts; names are of the pod's namespace. */
export interface PodClaim {
  readonly name: string;
  /** Of a generic ephemeral volume: the claim is created for this pod, and a replacement pod gets another. undefined: it is made apart. */
  readonly ephemeral: ClaimRequirements | undefined;
}

/** What a claim requires. */
export interface ClaimRequirements {
  /** undefined: the default class. Empty: only existing volumes without a class. */
  readonly className: string | undefined;
  readonly accessModes: readonly string[];
  readonly bytes: number;
  /** `Block` or `Filesystem`. */
  readonly mode: string;
  /** Requirements on the labels of an existing volume. undefined: any volume matches. */
  readonly selector: readonly Requirement[] | undefined;
}

/** The zone and region labels that volumes and nodes share. */
export const ZONE_LABELS = [
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
] as const;

/** The disk driver of AKS, and the label by which it places its disks. */
export const AZURE_DISK_DRIVER = 'disk.csi.azure.com';
export const AZURE_FILE_DRIVER = 'file.csi.azure.com';
export const AZURE_DISK_ZONE = 'topology.disk.csi.azure.com/zone';

/** How many volumes of a CSI driver a node can attach, by driver. An absent driver has no limit. */
export type AttachLimits = Readonly<Record<string, number>>;

/** The properties of a node that volume rules read. */
export interface NodeForVolumes {
  readonly name: string;
  readonly labels: Labels;
  readonly missingDrivers: readonly string[];
}
