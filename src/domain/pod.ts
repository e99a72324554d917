import type { Labels, LabelSelector, NodeSelectorTerm } from './labels.ts';
import type { PodUid } from './ids.ts';
import { NO_ANNOTATIONS, type PodAnnotations } from './annotations.ts';
import type { Resources } from './resources.ts';
import { NO_DEVICE_RULES, type DeviceClaimRef, type DeviceRules, type HeldDevice } from './devices.ts';
import type { Toleration } from './taints.ts';
import { NO_VOLUME_RULES, type InlineDisk, type PodClaim, type SharedVolume, type VolumeRules } from './volumes.ts';

export interface HostPort {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  /** `0.0.0.0` collides with every address. */
  readonly hostIp: string;
}

/** A term that a pod prefers its node to match. `weight` is from 1 to 100. */
export interface PreferredTerm {
  readonly weight: number;
  readonly term: NodeSelectorTerm;
}

/** A required (`DoNotSchedule`) spread constraint. */
export interface TopologySpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** Includes matchLabelKeys. */
  readonly selector: LabelSelector;
  readonly nodeAffinityPolicy: 'Honor' | 'Ignore';
  readonly nodeTaintsPolicy: 'Honor' | 'Ignore';
}

/** The required constraints that a profile of kube-scheduler gives to pods without their own, by the name of the profile. */
export type SpreadDefaults = ReadonlyMap<string, readonly Omit<TopologySpreadConstraint, 'selector'>[]>;

/** A required inter-pod affinity or anti-affinity term. */
export interface PodAffinityTerm {
  readonly topologyKey: string;
  readonly selector: LabelSelector;
  readonly namespaces: readonly string[];
  readonly namespaceSelector: LabelSelector | undefined;
}

/** A part of the pod's spec that this version does not support. It is reported, never ignored. */
export interface UnsupportedRequirement {
  readonly feature: string;
  readonly detail: string;
}

/** The claim that kube-scheduler makes for devices that a pod asks for by the name of a resource. No claim of a pod's spec can have this name. */
export const NAMED_CLAIM = '<extended-resources>';
export const NAMED_DEVICES = 'devices-as-extended-resource';
/** The feature of a pod with device claims (dynamic resource allocation) whose meaning is not known. */
export const DEVICE_CLAIMS = 'dynamic-resource-allocation';

/** CPU in millicores, memory in bytes. */
export type Size = Readonly<Record<'cpu' | 'memory', number>>;

/** What the containers of a pod request, each for itself. */
export interface ContainerSizes {
  readonly running: readonly ContainerSize[];
  /** What its init containers need beyond all that. */
  readonly starting: Size;
}

export interface ContainerSize {
  readonly name: string;
  readonly requests: Size;
  /** The largest safe number without a limit. */
  readonly limits: Size;
}

/**
 * Everything that scheduling reads of a pod. Interned by content: the replicas of one workload share one shape. Predicates therefore run
 * once per shape and node, and 150,000 pods hold a few thousand shapes.
 */
export interface PodShape {
  /** Equal keys mean interchangeable for scheduling. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  /** The effective request (containers, init containers, sidecars, overhead). One pod is counted in `pods`. */
  readonly requests: Resources;
  /** Only known if VerticalPodAutoscalers are read, and undefined if none can change what the pod requests. */
  readonly containers: ContainerSizes | undefined;
  /** The VerticalPodAutoscaler that gives the pod these requests when it is created again. undefined: the pod has them now. */
  readonly sizedBy: string | undefined;
  readonly nodeSelector: Labels;
  /** OR'ed terms. undefined means no required node affinity. An empty list matches nothing. */
  readonly nodeAffinity: readonly NodeSelectorTerm[] | undefined;
  /** Preferred node affinity. Only known if an expander compares what pods prefer. */
  readonly preferred: readonly PreferredTerm[];
  /** Spread that it prefers (`ScheduleAnyway`). Known as `preferred` is. */
  readonly softSpread: readonly TopologySpreadConstraint[];
  readonly tolerations: readonly Toleration[];
  readonly hostPorts: readonly HostPort[];
  readonly topologySpread: readonly TopologySpreadConstraint[];
  /** Whether its spec has spread constraints, be they soft. Only known if a profile of kube-scheduler has constraints for pods without. */
  readonly ownSpread: boolean;
  readonly podAffinity: readonly PodAffinityTerm[];
  readonly podAntiAffinity: readonly PodAffinityTerm[];
  readonly priority: number | undefined;
  readonly schedulerName: string;
  readonly unsupported: readonly UnsupportedRequirement[];
  /** The rules of its volumes about nodes. `requests` contains the attach slots of its own volumes. */
  readonly volumes: VolumeRules;
  /** Volumes that other pods mount, too. */
  readonly sharedVolumes: readonly SharedVolume[];
  /** Disks that it cannot share with other pods on its node. */
  readonly loneDisks: readonly InlineDisk[];
  /** The device claims of its spec. `devices` has their meaning, or `unsupported` if it is unknown. */
  readonly deviceClaims: readonly DeviceClaimRef[];
  /** Features that its node must declare. */
  readonly nodeFeatures: readonly string[];
  /** The rules of its device claims about nodes, if they are known. */
  readonly devices: DeviceRules;
  /**
   * The group that the pod names, such as `pod group train-0` or `workload train/workers`. undefined: kube-scheduler places the pod alone. What
   * the group requires is in `ClusterView.podGroups`; without them, the pod is planned as an ordinary pod.
   */
  readonly gang: string | undefined;
  /**
   * The share of its workload that stays on regular nodes, as people read it: the pod is one of that share, and no plan places it on a Spot
   * node. undefined: it may be. Planning marks pods so; see {@link PodAnnotations}.
   */
  readonly regularOnly: string | undefined;
}

/** The shape of a pod that runs wherever it has room. */
export const NO_REQUIREMENTS = {
  labels: {},
  containers: undefined,
  sizedBy: undefined,
  nodeSelector: {},
  nodeAffinity: undefined,
  preferred: [],
  softSpread: [],
  tolerations: [],
  hostPorts: [],
  topologySpread: [],
  ownSpread: false,
  podAffinity: [],
  podAntiAffinity: [],
  priority: undefined,
  schedulerName: '',
  unsupported: [],
  volumes: NO_VOLUME_RULES,
  sharedVolumes: [],
  loneDisks: [],
  deviceClaims: [],
  nodeFeatures: [],
  devices: NO_DEVICE_RULES,
  gang: undefined,
  regularOnly: undefined,
} as const satisfies Partial<PodShape>;

export interface Controller {
  readonly kind: string;
  /** `group/version`, as the pod names it. If empty, the usual one of the kind. */
  readonly apiVersion: string;
  readonly name: string;
  readonly uid: string;
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

/** A volume that is lost with its node. */
export interface LocalVolume {
  readonly name: string;
  readonly kind: 'emptyDir' | 'hostPath';
}

/** The condition `PodResizePending`. `deferred`: made as soon as there is room. `infeasible`: the node can never hold it. */
export interface PendingResize {
  readonly kind: 'deferred' | 'infeasible';
  /** In the words of the kubelet. */
  readonly message: string;
  /** What the pod requests once it is made. */
  readonly wanted: Resources;
}

/** A pod with the fields that decisions read; the other fields of the API object are dropped when it is read. */
export interface Pod {
  readonly uid: PodUid;
  readonly namespace: string;
  readonly name: string;
  readonly shape: PodShape;
  readonly nodeName: string | undefined;
  readonly nominatedNodeName: string | undefined;
  readonly phase: PodPhase;
  readonly createdAtMs: number;
  readonly deletionAtMs: number | undefined;
  readonly terminationGraceMs: number;
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  readonly controller: Controller | undefined;
  /** `PodScheduled=False` with reason `Unschedulable`. undefined otherwise, scheduling gates included. */
  readonly unschedulable: { readonly sinceMs: number; readonly message: string } | undefined;
  readonly origin: PodOrigin;
  readonly mirror: boolean;
  readonly daemonSet: boolean;
  readonly ready: boolean;
  readonly annotations: PodAnnotations;
  readonly mounts: PodMounts;
  readonly status: RareStatus;
}

/**
 * `cluster`: the pod exists. The others exist in plans alone. `expected`: its controller is about to create it. The rest stand for reserved
 * room: of a buffer, of a granted request, or of a request that is served.
 */
type PodOrigin = 'cluster' | 'expected' | 'buffer' | 'booking' | 'request';

export function isReal({ origin }: Pick<Pod, 'origin'>): boolean {
  return origin === 'cluster';
}

/** What a pod mounts that may bind it to a node. Pods without claims share equal ones. */
export interface PodMounts {
  readonly localVolumes: readonly LocalVolume[];
  /** The shape has their meaning. */
  readonly claims: readonly PodClaim[];
  /** Azure disks that its spec names without a claim, by the disk driver's names. */
  readonly disks: readonly string[];
}

export const NO_MOUNTS: PodMounts = { localVolumes: [], claims: [], disks: [] };

/** What the status of few pods says. The others share {@link USUAL_STATUS}. */
export interface RareStatus {
  /** Pending, and no scheduler has reported on it yet. */
  readonly unseen: boolean;
  /** When one of its containers last started again, or ended without. undefined: none was restarted. */
  readonly restartedAtMs: number | undefined;
  /** A change of its size in place that its kubelet has not made. */
  readonly resize: PendingResize | undefined;
  /** Names of the device claims that were created for it, by their names in its spec. */
  readonly madeClaims: Readonly<Record<string, string>>;
  /** Devices allocated to its own claims; a replacement pod gets others. undefined: none of these claims has its devices. */
  readonly heldDevices: readonly HeldDevice[] | undefined;
}

export const USUAL_STATUS: RareStatus = {
  unseen: false,
  restartedAtMs: undefined,
  resize: undefined,
  madeClaims: {},
  heldDevices: undefined,
};

/** What pods have of these unless something is said of them. */
export const ORDINARY_POD = {
  nodeName: undefined,
  nominatedNodeName: undefined,
  deletionAtMs: undefined,
  restartPolicy: 'Always',
  origin: 'cluster',
  mirror: false,
  daemonSet: false,
  annotations: NO_ANNOTATIONS,
  mounts: NO_MOUNTS,
  status: USUAL_STATUS,
} as const satisfies Partial<Pod>;
