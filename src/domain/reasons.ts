import type { NodeGroupId } from './ids.ts';

/** Why one pod does not fit one node, with the numbers that fell short. Pure data: logs, events and metrics project it. */
export type FitReason =
  | {
      readonly kind: 'insufficient-resource';
      readonly resource: string;
      readonly requested: number;
      readonly free: number;
      /** Nobody can tell how much of it a new node has before one was seen. */
      readonly untold?: true;
    }
  | { readonly kind: 'untolerated-taint'; readonly taint: string }
  | {
      readonly kind: 'node-selector-mismatch';
      readonly detail: string;
      /** The label of which nobody can tell before a node was seen, when it decides. */
      readonly untold?: string;
    }
  | { readonly kind: 'host-port-taken'; readonly port: number; readonly protocol: string }
  | { readonly kind: 'unschedulable' }
  /** Those that the node does not declare. `untold`: whether a new node will is not known. */
  | { readonly kind: 'node-features'; readonly features: readonly string[]; readonly untold?: true }
  | { readonly kind: 'topology-spread'; readonly topologyKey: string; readonly detail: string }
  /** `rule`: of the pod itself, or (`repelled`) of pods that are there. */
  | {
      readonly kind: 'pod-affinity';
      readonly rule: 'affinity' | 'anti-affinity' | 'repelled';
      readonly topologyKey: string;
      readonly detail: string;
    }
  /** `message`: in the words of kube-scheduler. */
  | { readonly kind: 'volume' | 'device'; readonly message: string; readonly detail: string }
  | { readonly kind: 'unsupported'; readonly feature: string; readonly detail: string };

/** A limit of the whole cluster, in nodes, cores or bytes. */
export interface ClusterLimit {
  readonly limit: 'nodes' | 'cores' | 'memory';
  readonly value: number;
  /** By nodes that are there, on their way or planned. */
  readonly used: number;
  /** By one more node of the group. */
  readonly needs: number;
}

/** A quota by its id, as the Cluster Autoscaler spells it: `cluster-wide`, `CapacityQuota/<name>`. */
export interface ExceededQuota {
  readonly quota: string;
  readonly resources: readonly string[];
  /** For each resource in their order: what is left of it, and what one more node needs; in cores, bytes or ones. */
  readonly short: readonly { readonly left: number; readonly needs: number }[];
}

/** Why a group was not an option for a scale-up. */
export type SkipReason =
  | { readonly kind: 'frozen'; readonly detail: string }
  /** Too many of its nodes are not ready. */
  | { readonly kind: 'unhealthy'; readonly detail: string }
  | { readonly kind: 'backoff'; readonly untilMs: number; readonly cause: string }
  | { readonly kind: 'stockout'; readonly untilMs: number; readonly code: string }
  | { readonly kind: 'target-unknown'; readonly detail: string }
  | { readonly kind: 'max-size'; readonly max: number }
  /** As many nodes as one minute allows were asked for; the next may be at `untilMs`. */
  | { readonly kind: 'ramp'; readonly perMinute: number; readonly untilMs: number }
  /** A lack of stock may be over: one node was asked for to find out. */
  | { readonly kind: 'probing'; readonly code: string }
  | { readonly kind: 'no-template' }
  | (ClusterLimit & {
      readonly kind: 'cluster-limit';
      /** Further limits that would be broken, too. */ readonly also?: readonly ClusterLimit[];
    })
  | { readonly kind: 'quota'; readonly quota: string; readonly used: number; readonly limit: number; readonly needs: number }
  /** Quotas of the cluster that not one more such node keeps, each with the resources that it is short of. */
  | { readonly kind: 'capacity-quota'; readonly exceeded: readonly ExceededQuota[] }
  /** A group that grows to its maximum or not at all; `allowed` nodes are left of the limit that is nearest. */
  | { readonly kind: 'atomic-limit'; readonly needs: number; readonly allowed: number }
  | { readonly kind: 'no-pod-fits' }
  | { readonly kind: 'not-judged' }
  | { readonly kind: 'not-chosen'; readonly expander: string };

/** Why a pending pod stays pending: per group the first reason that kept it out, or why it was not considered. */
export type PodVerdict =
  | { readonly kind: 'triggered'; readonly group: NodeGroupId }
  | { readonly kind: 'fits-present-node'; readonly node: string }
  | { readonly kind: 'fits-upcoming-node'; readonly group: NodeGroupId }
  | { readonly kind: 'helpless'; readonly byGroup: readonly GroupRefusal[] }
  | { readonly kind: 'waiting'; readonly detail: string }
  | { readonly kind: 'ignored'; readonly reason: IgnoredPodReason };

export type IgnoredPodReason =
  | 'not-unschedulable'
  | 'nominated'
  | 'expendable'
  | 'daemon-set'
  | 'too-young'
  | 'other-scheduler'
  | 'consumes-request';

export interface GroupRefusal {
  readonly group: NodeGroupId;
  readonly skip?: SkipReason;
  readonly fit?: readonly FitReason[];
}

/** Why a node stays. The names are the Cluster Autoscaler's, which users' dashboards know. */
export type UnremovableReason =
  | 'ScaleDownDisabledAnnotation'
  | 'ScaleDownUnreadyDisabled'
  | 'NotAutoscaled'
  | 'NotUnneededLongEnough'
  | 'NotUnreadyLongEnough'
  | 'NodeGroupMinSizeReached'
  | 'AtomicScaleDownFailed'
  | 'MinimalResourceLimitExceeded'
  | 'CurrentlyBeingDeleted'
  | 'NotUnderutilized'
  | 'RecentlyUnremovable'
  | 'NoPlaceToMovePods'
  | 'BlockedByPod'
  | 'BlockedByOnCompletionPod'
  | 'GroupFrozen'
  | 'GroupCoolingDown'
  | 'GroupUnconfirmed'
  | 'InstanceUnknown'
  | 'InstanceProtected'
  | 'RemovalBudgetSpent'
  | 'UnexpectedError';

/** Why a pod pins its node. */
export type BlockingPodReason =
  | 'ControllerNotFound'
  | 'MinReplicasReached'
  | 'NotReplicated'
  | 'LocalStorageRequested'
  | 'NotSafeToEvictAnnotation'
  | 'DoNotDisruptAnnotation'
  | 'UnmovableKubeSystemPod'
  | 'NotEnoughPdb'
  | 'NoPlaceFound'
  | 'UnexpectedError';

/** The detail of a topology-spread refusal of a node that has no such label at all. */
export const MISSING_LABEL = 'missing required label';
