/**
 * The API's JSON as it arrives, reduced to the fields that this adapter reads. Every field is optional; the projection
 * decides what a missing one means. The models of the client package are not used: they declare times as `Date`, but
 * the wire has strings.
 */
export type Quantities = Readonly<Record<string, string | number>>;

/** The fields that one client owns. */
export interface ManagedFieldJson {
  readonly manager?: string;
  readonly time?: string;
  readonly fieldsV1?: { readonly 'f:spec'?: Readonly<Record<string, unknown>> };
}

export interface MetadataJson {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Watches drop it. */
  readonly managedFields?: readonly ManagedFieldJson[];
  readonly ownerReferences?: readonly {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly uid?: string;
    readonly controller?: boolean;
  }[];
}

export interface ObjectJson {
  readonly metadata?: MetadataJson;
}

export interface ConditionJson {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

export interface RequirementJson {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}

export interface LabelSelectorJson {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly RequirementJson[];
}

export interface ResourcesJson {
  readonly requests?: Quantities;
  readonly limits?: Quantities;
}

export interface ContainerJson {
  readonly name?: string;
  readonly restartPolicy?: string;
  readonly restartPolicyRules?: readonly { readonly action?: string }[] | null;
  readonly volumeMounts?: readonly { readonly bindMountOptions?: readonly string[] | null }[] | null;
  readonly resources?: ResourcesJson;
  readonly ports?: readonly {
    readonly hostPort?: number;
    readonly containerPort?: number;
    readonly protocol?: string;
    readonly hostIP?: string;
  }[];
}

export interface ContainerStatusJson {
  readonly name?: string;
  readonly restartCount?: number;
  readonly state?: { readonly running?: { readonly startedAt?: string | null } | null };
  readonly lastState?: { readonly terminated?: { readonly finishedAt?: string | null } | null };
  readonly allocatedResources?: Quantities;
  readonly resources?: ResourcesJson | null;
}

interface AzureDiskJson {
  readonly diskName?: string;
  readonly diskURI?: string;
}

/** A volume has one key beside its name: its kind. */
export interface VolumeJson {
  readonly name?: string;
  readonly emptyDir?: { readonly medium?: string };
  readonly persistentVolumeClaim?: { readonly claimName?: string };
  readonly ephemeral?: { readonly volumeClaimTemplate?: { readonly spec?: ClaimSpecJson } };
  readonly azureDisk?: AzureDiskJson;
  readonly iscsi?: DiskJson | null;
  readonly rbd?: DiskJson | null;
  readonly gcePersistentDisk?: DiskJson | null;
  readonly awsElasticBlockStore?: DiskJson | null;
  readonly [kind: string]: unknown;
}

/** The fields of all in-tree block devices that identify the disk. */
export interface DiskJson {
  readonly iqn?: string;
  readonly monitors?: readonly string[] | null;
  readonly pool?: string;
  readonly image?: string;
  readonly pdName?: string;
  readonly volumeID?: string;
  readonly readOnly?: boolean;
}

export interface TolerationJson {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

export interface AffinityTermJson {
  readonly topologyKey?: string;
  readonly labelSelector?: LabelSelectorJson | null;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelectorJson | null;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

interface PodAffinityJson {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTermJson[];
}

export interface NodeSelectorTermJson {
  readonly matchExpressions?: readonly RequirementJson[];
  readonly matchFields?: readonly RequirementJson[];
}

export interface SpreadJson {
  readonly topologyKey?: string;
  readonly maxSkew?: number;
  readonly minDomains?: number;
  readonly whenUnsatisfiable?: string;
  readonly labelSelector?: LabelSelectorJson | null;
  readonly matchLabelKeys?: readonly string[];
  readonly nodeAffinityPolicy?: string;
  readonly nodeTaintsPolicy?: string;
}

export interface PodSpecJson {
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly NodeSelectorTermJson[] } | null;
      readonly preferredDuringSchedulingIgnoredDuringExecution?:
        | readonly { readonly weight?: number; readonly preference?: NodeSelectorTermJson }[]
        | null;
    };
    readonly podAffinity?: PodAffinityJson;
    readonly podAntiAffinity?: PodAffinityJson;
  };
  readonly tolerations?: readonly TolerationJson[];
  readonly topologySpreadConstraints?: readonly SpreadJson[];
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly schedulerName?: string;
  readonly hostNetwork?: boolean;
  readonly hostUsers?: boolean;
  readonly restartPolicy?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly overhead?: Quantities;
  readonly resources?: ResourcesJson;
  readonly resourceClaims?: readonly {
    readonly name?: string;
    readonly resourceClaimName?: string;
    readonly resourceClaimTemplateName?: string;
  }[];
  /** From the alpha API in 1.35; `schedulingGroup` replaced it. */
  readonly workloadRef?: { readonly name?: string; readonly podGroup?: string; readonly podGroupReplicaKey?: string } | null;
  readonly schedulingGroup?: { readonly podGroupName?: string } | null;
  readonly containers?: readonly ContainerJson[];
  readonly initContainers?: readonly ContainerJson[];
  readonly volumes?: readonly VolumeJson[];
}

interface PodStatusJson {
  readonly phase?: string;
  /** When its kubelet accepted it. */
  readonly startTime?: string | null;
  readonly nominatedNodeName?: string;
  /** Of devices that it asks for by the name of a resource. */
  readonly extendedResourceClaimStatus?: { readonly resourceClaimName?: string } | null;
  readonly resourceClaimStatuses?: readonly { readonly name?: string; readonly resourceClaimName?: string }[];
  readonly conditions?: readonly ConditionJson[];
  readonly containerStatuses?: readonly ContainerStatusJson[];
  readonly initContainerStatuses?: readonly ContainerStatusJson[];
  /** For the pod as a whole. */
  readonly allocatedResources?: Quantities;
  readonly resources?: ResourcesJson | null;
}

export interface PodJson extends ObjectJson {
  readonly spec?: PodSpecJson;
  readonly status?: PodStatusJson;
}

export interface TaintJson {
  readonly key?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly timeAdded?: string;
}

export interface NodeJson extends ObjectJson {
  readonly spec?: { readonly providerID?: string; readonly unschedulable?: boolean; readonly taints?: readonly TaintJson[] };
  readonly status?: {
    readonly capacity?: Quantities;
    readonly allocatable?: Quantities;
    readonly conditions?: readonly ConditionJson[];
    readonly declaredFeatures?: readonly string[] | null;
    readonly volumesAttached?: readonly { readonly name?: string }[] | null;
    readonly volumesInUse?: readonly string[] | null;
  };
}

export interface DaemonSetJson extends ObjectJson {
  readonly spec?: { readonly template?: { readonly metadata?: MetadataJson; readonly spec?: PodSpecJson } };
}

export interface DisruptionBudgetJson extends ObjectJson {
  readonly spec?: {
    readonly selector?: LabelSelectorJson | null;
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly ConditionJson[];
    readonly disruptionsAllowed?: number;
    readonly expectedPods?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
  };
}

export interface ClaimSpecJson {
  readonly storageClassName?: string | undefined;
  readonly volumeName?: string;
  readonly volumeMode?: string;
  readonly accessModes?: readonly string[];
  readonly resources?: ResourcesJson;
  readonly selector?: LabelSelectorJson;
}

export interface VolumeClaimJson extends ObjectJson {
  readonly spec?: ClaimSpecJson;
  readonly status?: { readonly phase?: string };
}

export interface VolumeObjectJson extends ObjectJson {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly volumeMode?: string;
    readonly accessModes?: readonly string[];
    readonly capacity?: Quantities;
    readonly claimRef?: { readonly namespace?: string; readonly name?: string };
    readonly csi?: { readonly driver?: string; readonly volumeHandle?: string };
    readonly azureDisk?: AzureDiskJson;
    readonly nodeAffinity?: { readonly required?: { readonly nodeSelectorTerms?: readonly NodeSelectorTermJson[] } };
  };
  readonly status?: { readonly phase?: string };
}

export interface StorageClassJson extends ObjectJson {
  readonly provisioner?: string;
  readonly volumeBindingMode?: string;
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly { readonly key?: string; readonly values?: readonly string[] }[];
  }[];
}

export interface CsiNodeJson extends ObjectJson {
  readonly spec?: { readonly drivers?: readonly { readonly name?: string; readonly allocatable?: { readonly count?: number } }[] };
}

export interface ListJson {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly ObjectJson[];
}

/** The API's answer if it refuses a request. */
export interface StatusJson {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string }[];
  };
}

/** Milliseconds since the epoch of an RFC 3339 time; undefined if absent or not a time. */
export function timeOf(text: string | null | undefined): number | undefined {
  if (text === undefined || text === null) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
