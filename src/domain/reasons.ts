import type { NodeGroupId } from './ids.ts';
import { isAttachResource } from './resources.ts';

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

/** For events and tables, in kube-scheduler's own words, which users' alerts and searches know. */
export function describeFit(reason: FitReason): string {
  switch (reason.kind) {
    case 'insufficient-resource':
      return describeShortage(reason.resource);
    case 'untolerated-taint':
      return 'node(s) had untolerated taint(s)';
    case 'node-selector-mismatch':
      return "node(s) didn't match Pod's node affinity/selector";
    case 'host-port-taken':
      return "node(s) didn't have free ports for the requested pod ports";
    case 'unschedulable':
      return 'node(s) were unschedulable';
    case 'node-features':
      return "node(s) didn't match Pod's required features";
    case 'topology-spread':
      return `node(s) didn't match pod topology spread constraints${reason.detail === MISSING_LABEL ? ` (${MISSING_LABEL})` : ''}`;
    case 'pod-affinity':
      if (reason.rule === 'repelled') return "node(s) didn't satisfy existing pods anti-affinity rules";
      return `node(s) didn't match pod ${reason.rule} rules`;
    case 'volume':
    case 'device':
      return reason.message;
    case 'unsupported':
      return `unsupported ${reason.feature}: ${reason.detail}`;
  }
}

function describeShortage(resource: string): string {
  if (resource === 'pods') return 'Too many pods';
  return isAttachResource(resource) ? 'node(s) exceed max volume count' : `Insufficient ${resource}`;
}

/** For nodes in the words of the Cluster Autoscaler's event. */
function describeLimit({ limit, value }: ClusterLimit): string {
  if (limit === 'nodes') return `max total nodes in cluster reached (${value})`;
  return `cluster limit of ${limit === 'memory' ? `${Math.round(value / 2 ** 30)} GiB of memory` : `${value} cores`} reached`;
}

export function describeSkip(reason: SkipReason): string {
  switch (reason.kind) {
    case 'frozen':
      return `node group is frozen: ${reason.detail}`;
    case 'unhealthy':
      return `not ready for scale-up: ${reason.detail}`;
    case 'backoff':
      return `in backoff after failed scale-up (${reason.cause})`;
    case 'stockout':
      return `out of stock (${reason.code})`;
    case 'target-unknown':
      return `target size is unknown: ${reason.detail}`;
    case 'max-size':
      return 'max node group size reached';
    case 'ramp':
      return `${reason.perMinute} nodes per minute asked for`;
    case 'probing':
      return `out of stock a while ago (${reason.code}), tried with one node first`;
    case 'no-template':
      return 'no node template';
    case 'cluster-limit':
      return [reason, ...(reason.also ?? [])].map(describeLimit).join(' and ');
    case 'quota':
      return `quota reached: ${reason.quota} ${reason.used} of ${reason.limit} cores, needs ${reason.needs}`;
    case 'capacity-quota':
      return reason.exceeded.map(({ quota, resources }) => `exceeded quota: "${quota}", resources: ${resources.join(', ')}`).join('; ');
    case 'atomic-limit':
      return `atomic scale-up exceeds cluster node count limit: it needs ${reason.needs} nodes and ${reason.allowed} are allowed`;
    case 'no-pod-fits':
      return 'no pod that still waits would fit';
    case 'not-judged':
      return 'not looked at: the time for planning was up';
    case 'not-chosen':
      return `not chosen by ${reason.expander}`;
  }
}
