import type { ReservedCapacity } from './quotas-and-prices.ts';
import type { NodeGroupId } from './ids.ts';
import type { Requirement } from './labels.ts';
import type { TemplateDifference } from './node-template.ts';
import type { Gang } from './workloads.ts';

/** A requirement that a node's labels, or its name, do not meet. */
export interface LabelGap extends Requirement {
  /** The node's value. Absent if the node has no such label. */
  readonly found?: string;
}

/** Why one pod does not fit one node, with the numbers that fell short. Pure data: logs, events and metrics are made from it. */
export type FitReason =
  | {
      readonly kind: 'insufficient-resource';
      readonly resource: string;
      readonly requested: number;
      readonly free: number;
      /** How much of it a new node has is unknown until a node was seen. */
      readonly unknown?: true;
    }
  | { readonly kind: 'untolerated-taint'; readonly taint: string }
  | {
      readonly kind: 'node-selector-mismatch';
      readonly detail: string;
      /** What the nearest alternative requires of the node's labels and the node does not have. Absent in dumps of earlier versions. */
      readonly gaps?: readonly LabelGap[];
      /** The label that decides and is unknown until a node was seen. */
      readonly unknown?: string;
    }
  | { readonly kind: 'host-port-taken'; readonly port: number; readonly protocol: string }
  | { readonly kind: 'unschedulable' }
  /** Features that the node does not declare. `unknown`: whether a new node declares them is unknown. */
  | { readonly kind: 'node-features'; readonly features: readonly string[]; readonly unknown?: true }
  /** A Spot node, and the pod is of the share of its workload that stays on regular nodes. */
  | { readonly kind: 'on-demand-share'; readonly share: string }
  | { readonly kind: 'topology-spread'; readonly topologyKey: string; readonly detail: string }
  /** `rule`: a rule of the pod itself, or (`repelled`) one of existing pods. */
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
  /** Used by nodes that are present, upcoming or planned. */
  readonly used: number;
  /** Needed by one more node of the group. */
  readonly needs: number;
}

/** A quota by its id, as the Cluster Autoscaler spells it: `cluster-wide`, `CapacityQuota/<name>`. */
export interface ExceededQuota {
  readonly quota: string;
  readonly resources: readonly string[];
  /** In the order of `resources`: what is left, and what one more node needs; in cores, bytes or ones. */
  readonly short: readonly { readonly left: number; readonly needs: number }[];
}

/** Why a group was not an option for a scale-up. */
export type SkipReason =
  | { readonly kind: 'frozen'; readonly detail: string }
  /** Other groups took all pods. */
  | { readonly kind: 'last-resort'; readonly detail: string }
  /** Too many of its nodes are not ready. */
  | { readonly kind: 'unhealthy'; readonly detail: string }
  /** With Azure's own sentence and its id of the failed request, as far as there are any. */
  | {
      readonly kind: 'backoff';
      readonly untilMs: number;
      readonly cause: string;
      readonly message?: string;
      readonly correlationId?: string;
    }
  | { readonly kind: 'stockout'; readonly untilMs: number; readonly code: string }
  | { readonly kind: 'target-unknown'; readonly detail: string }
  | { readonly kind: 'max-size'; readonly max: number }
  /** `limit`: nodes that AKS allows in one agent pool. `max`: how many of them this group may have beside others of its pool. */
  | { readonly kind: 'pool-limit'; readonly limit: number; readonly max: number }
  /** The group requested as many nodes as a minute allows; the next request may follow at `untilMs`. */
  | { readonly kind: 'ramp'; readonly perMinute: number; readonly untilMs: number }
  /** A stockout may be over: one node was requested to find out. */
  | { readonly kind: 'probing'; readonly code: string }
  /** A node of the group offered less than its template promised. One node at a time is requested to find out whether that is over. */
  | { readonly kind: 'trial'; readonly difference: TemplateDifference }
  | { readonly kind: 'no-template' }
  | (ClusterLimit & {
      readonly kind: 'cluster-limit';
      /** Further limits that would be exceeded, too. */ readonly also?: readonly ClusterLimit[];
    })
  | {
      readonly kind: 'quota';
      readonly quota: string;
      readonly used: number;
      readonly limit: number;
      readonly needs: number;
      /** The reserved capacity of the group, which is in use or unknown. If absent, the group has none. */
      readonly reservation?: Omit<ReservedCapacity, 'name'>;
    }
  /** Capacity quotas that do not allow one more such node, each with its short resources. */
  | { readonly kind: 'capacity-quota'; readonly exceeded: readonly ExceededQuota[] }
  /** An atomic group: it grows to its maximum or not at all. The nearest limit leaves `allowed` nodes. */
  | { readonly kind: 'atomic-limit'; readonly needs: number; readonly allowed: number }
  | { readonly kind: 'no-pod-fits' }
  | { readonly kind: 'not-judged' }
  | { readonly kind: 'not-chosen'; readonly expander: string };

/** Why a pending pod stays pending: for each group every reason against it, or why the pod was not considered. */
export type PodVerdict =
  | { readonly kind: 'triggered'; readonly group: NodeGroupId }
  | { readonly kind: 'fits-present-node'; readonly node: string }
  /** `node`: set only where pods are nominated, if the node has registered. */
  | { readonly kind: 'fits-upcoming-node'; readonly group: NodeGroupId; readonly node?: string }
  /** `gang`: the pods of a group that starts as a whole share this verdict; `byGroup` is that of those that are hardest to place. */
  | { readonly kind: 'helpless'; readonly byGroup: readonly GroupRefusal[]; readonly gang?: GangShortfall }
  /** `leftOut`: what the loop did not do for the pod, and a later one does: search its place, or explain why it stays pending. */
  | { readonly kind: 'waiting'; readonly detail: string; readonly leftOut?: 'search' | 'explanation' }
  /** `detail`: what the reason alone does not say. */
  | { readonly kind: 'ignored'; readonly reason: IgnoredPodReason; readonly detail?: string };

/** Why a group of pods does not start: fewer of them have a place than must start together. */
export interface GangShortfall extends Pick<Gang, 'kind' | 'namespace' | 'name' | 'uid' | 'title'> {
  /** Pods that must have a place at the same time. */
  readonly needs: number;
  /** Pods that have one: running pods, and those that a plan found a place for. */
  readonly placed: number;
}

export type IgnoredPodReason =
  | 'not-unschedulable'
  | 'nominated'
  | 'expendable'
  | 'daemon-set'
  | 'too-young'
  | 'other-scheduler'
  | 'consumes-request'
  | 'gang-incomplete';

export interface GroupRefusal {
  readonly group: NodeGroupId;
  readonly skip?: SkipReason;
  readonly fit?: readonly FitReason[];
  /** The pod does not fit, and the group's template was corrected to what a real node offered. Absent otherwise. */
  readonly corrected?: TemplateDifference;
}

/** Why a node is not removed. The names are the Cluster Autoscaler's; users' dashboards rely on them. */
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
  | 'RoomKeptFree'
  | 'BlockedByPod'
  | 'BlockedByOnCompletionPod'
  | 'GroupFrozen'
  | 'GroupCoolingDown'
  | 'PodsBlockedByMaximum'
  | 'ZoneDown'
  | 'GroupUnconfirmed'
  | 'InstanceUnknown'
  | 'InstanceProtected'
  | 'CapacityReserved'
  | 'RemovalBudgetSpent'
  | 'RepackInProgress'
  | 'UnexpectedError';

/** Why a pod blocks the removal of its node. */
export type BlockingPodReason =
  | 'ControllerNotFound'
  | 'MinReplicasReached'
  | 'NotReplicated'
  | 'LocalStorageRequested'
  | 'NotSafeToEvictAnnotation'
  | 'DoNotDisruptAnnotation'
  | 'UnmovableKubeSystemPod'
  | 'GangMinimum'
  | 'NotEnoughPdb'
  | 'NoPlaceFound'
  | 'UnexpectedError';

/** The detail of a topology-spread reason for a node without the label. */
export const MISSING_LABEL = 'missing required label';
