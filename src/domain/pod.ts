import type { Labels, LabelSelector, NodeSelectorTerm } from './labels.ts';
import type { PodUid } from './ids.ts';
import type { Resources } from './resources.ts';
import type { DeviceClaimRef, DeviceRules } from './devices.ts';
import type { Toleration } from './taints.ts';
import type { InlineDisk, PodClaim, SharedVolume, VolumeRules } from './volumes.ts';

export interface HostPort {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  /** `0.0.0.0` collides with every address. */
  readonly hostIp: string;
}

/** A required (`DoNotSchedule`) spread constraint. */
export interface TopologySpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** matchLabelKeys are already folded in. */
  readonly selector: LabelSelector;
  readonly nodeAffinityPolicy: 'Honor' | 'Ignore';
  readonly nodeTaintsPolicy: 'Honor' | 'Ignore';
}

/** A required inter-pod affinity or anti-affinity term. */
export interface PodAffinityTerm {
  readonly topologyKey: string;
  readonly selector: LabelSelector;
  readonly namespaces: readonly string[];
  readonly namespaceSelector: LabelSelector | undefined;
}

/** Something in the pod's spec that this version cannot judge; reported, never ignored. */
export interface UnsupportedRequirement {
  readonly feature: string;
  readonly detail: string;
}

/** The feature of a pod that claims devices (dynamic resource allocation): which ones are free on a node is not known here. */
export const DEVICE_CLAIMS = 'dynamic-resource-allocation';

/**
 * Everything scheduling reads of a pod. Interned by content: the replicas of one workload share one shape, so predicates
 * run once per (shape, node) and 150,000 pods hold a few thousand of these.
 */
export interface PodShape {
  /** Equal keys mean interchangeable for scheduling. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  /** Effective request (containers, init containers, sidecars, overhead); one pod is counted in `pods`. */
  readonly requests: Resources;
  readonly nodeSelector: Labels;
  /** OR'ed terms; undefined: no required node affinity. An empty list matches nothing. */
  readonly nodeAffinity: readonly NodeSelectorTerm[] | undefined;
  readonly tolerations: readonly Toleration[];
  readonly hostPorts: readonly HostPort[];
  readonly topologySpread: readonly TopologySpreadConstraint[];
  readonly podAffinity: readonly PodAffinityTerm[];
  readonly podAntiAffinity: readonly PodAffinityTerm[];
  readonly priority: number | undefined;
  readonly schedulerName: string;
  readonly unsupported: readonly UnsupportedRequirement[];
  /** What its volumes say about nodes; absent: nothing. The attach slots of those that are its own are part of `requests`. */
  readonly volumes?: VolumeRules;
  /** Those that other pods mount too; absent: none. */
  readonly sharedVolumes?: readonly SharedVolume[];
  /** Disks that it does not share with other pods of its node; absent: none. */
  readonly loneDisks?: readonly InlineDisk[];
  /** The device claims of its spec; absent: none. What they mean is in `devices`, or in `unsupported` where that is not known. */
  readonly deviceClaims?: readonly DeviceClaimRef[];
  /** What its node must declare that it can do; absent: nothing. */
  readonly nodeFeatures?: readonly string[];
  /** What its device claims say about nodes, where that is known. */
  readonly devices?: DeviceRules;
}

export interface Controller {
  readonly kind: string;
  /** `group/version`, as the pod names it; absent: not said, so the kind's usual one. */
  readonly apiVersion?: string;
  readonly name: string;
  readonly uid: string;
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
export type SafeToEvict = 'true' | 'false' | 'on-completion';

/** A volume that lives and dies with the node. */
export interface LocalVolume {
  readonly name: string;
  readonly kind: 'emptyDir' | 'hostPath';
}

/** A pod as the decisions see it; everything else of the API object was dropped at the door. */
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
  /** `PodScheduled=False` with reason `Unschedulable`; undefined otherwise (scheduling gates included). */
  readonly unschedulable: { readonly sinceMs: number; readonly message: string } | undefined;
  /** It does not exist: a controller is about to make its like. */
  readonly injected?: true;
  /** It stands for room that is kept: for a buffer, for a request that was granted, for a request that asks. */
  readonly holds?: 'buffer' | 'booking' | 'request';
  /** Pending, and no scheduler has said anything of it yet. */
  readonly unseen?: true;
  readonly mirror: boolean;
  readonly daemonSet: boolean;
  readonly safeToEvict: SafeToEvict | undefined;
  /** Names from `safe-to-evict-local-volumes`. */
  readonly safeToEvictVolumes: readonly string[];
  readonly doNotDisrupt: boolean;
  readonly localVolumes: readonly LocalVolume[];
  readonly scaleUpDelayMs: number | undefined;
  /** The ProvisioningRequest of its namespace whose room it takes; absent: none. */
  readonly consumes?: string;
  /** The claims it mounts; absent: none. What they mean is in the shape. */
  readonly claims?: readonly PodClaim[];
  /** Azure disks that its own spec names without a claim, as the disk driver calls them; absent: none. */
  readonly disks?: readonly string[];
  /** Names of the claims that were made for it, by their names in its spec. */
  readonly madeClaims?: Readonly<Record<string, string>>;
  /** Devices that its own claims have got; a successor gets others. Absent: none. */
  readonly heldDevices?: readonly string[];
  /** What a pod of a DaemonSet says about being evicted with its node; absent: the policy decides. */
  readonly daemonEviction?: boolean;
  /** `controller.kubernetes.io/pod-deletion-cost`; absent: 0. */
  readonly deletionCost?: number;
  readonly ready: boolean;
}
