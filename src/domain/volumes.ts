import type { Labels, NodeSelectorTerm, Requirement } from './labels.ts';
import type { Resources } from './resources.ts';

/** One rule of a pod's volumes about nodes. A node must keep every rule. */
export type VolumeNodeRule =
  | {
      /**
       * `reachable`: the volume is there and these nodes reach it. `makeable`: it will be made, or found, where the pod goes.
       * `stocked`: it will be made, where its driver says that there is room.
       */
      readonly kind: 'reachable' | 'makeable' | 'stocked';
      /** Alternatives, as in node affinity. None: nowhere. */
      readonly terms: readonly NodeSelectorTerm[];
    }
  | {
      /** Zone and region labels of the volume itself. A node that carries no such label at all passes. */
      readonly kind: 'zone-labels';
      readonly requirements: readonly Requirement[];
    };

/** Why no node at all can take the pod now, in the words of kube-scheduler and with what is behind them. */
export interface VolumeBlocker {
  readonly message: string;
  readonly detail: string;
}

/** What the claims of a pod mean for its place, worked out from claims, volumes and storage classes. */
export interface VolumeRules {
  readonly places: readonly VolumeNodeRule[];
  readonly blockers: readonly VolumeBlocker[];
}

/** A volume that several pods mount: a node that has it attached for one needs no second slot for the next. */
export interface SharedVolume {
  /** Equal for all that mount it. */
  readonly volume: string;
  /** The attach slot that it takes. */
  readonly slots: Resources;
}

/** A disk that a pod's own spec names and that the pods of one node may only share where all of them only read it. */
export interface InlineDisk {
  readonly kind: 'iscsi' | 'rbd' | 'gcePersistentDisk' | 'awsElasticBlockStore';
  /** The names by which it goes: two disks of a kind that have one in common are the same. */
  readonly ids: readonly string[];
  readonly readOnly: boolean;
}

/** A claim that a pod mounts; names are of the pod's namespace. */
export interface PodClaim {
  readonly name: string;
  /** Set for a generic ephemeral volume: the claim is made for this one pod, and a successor gets another. */
  readonly ephemeral?: ClaimRequirements;
}

/** What a claim asks for. */
export interface ClaimRequirements {
  /** undefined: the default class. Empty: only volumes that are there and have no class. */
  readonly className: string | undefined;
  readonly accessModes: readonly string[];
  readonly bytes: number;
  /** `Block` or `Filesystem`. */
  readonly mode: string;
  /** Requirements on the labels of a volume that is there; undefined: any volume will do. */
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

/** How many volumes of a CSI driver a node can hold, by driver. A driver that is not named has no limit. */
export type AttachLimits = Readonly<Record<string, number>>;

/** What a volume place reads of a node. */
export interface NodeForVolumes {
  readonly name: string;
  readonly labels: Labels;
}
