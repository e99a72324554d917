/** The kinds that volumes are made of, as far as the toy scheduler and the controllers read them. */
import type { ClaimSpec, KubeObject, NodeSelectorTerm, PodVolume, Quantities } from './objects.ts';

export interface ClaimObject extends KubeObject {
  readonly spec: ClaimSpec;
  readonly status?: { readonly phase?: string };
}

export interface VolumeObject extends KubeObject {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeMode?: string;
    readonly accessModes?: readonly string[];
    readonly capacity?: Quantities;
    readonly claimRef?: { readonly namespace?: string; readonly name?: string };
    readonly csi?: { readonly driver: string; readonly volumeHandle?: string };
    readonly azureDisk?: PodVolume['azureDisk'];
    readonly nodeAffinity?: { readonly required?: { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] } };
    readonly persistentVolumeReclaimPolicy?: string;
  };
  readonly status?: { readonly phase?: string };
}

export interface StorageClassObject extends KubeObject {
  readonly provisioner: string;
  readonly volumeBindingMode?: string;
  readonly reclaimPolicy?: string;
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
  }[];
}

export interface CsiNodeObject extends KubeObject {
  readonly spec: { readonly drivers?: readonly { readonly name: string; readonly allocatable?: { readonly count?: number } }[] };
}
