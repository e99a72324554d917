/**
 * What one loop remembers for the next. The reducers in planning/state replace it once per loop. Safety does not depend on it: a start
 * may begin with an empty state and the cluster's taints. Every member is there: what may be missing on disk gets its default where it is
 * read, in planning/state/stored-state.ts.
 */
import type { Closure } from '../lib/closure.ts';
import type { ErrorKind, StockScope } from '../lib/errors.ts';
import type { ChangeBlock, IncreaseBlock } from './group-blocks.ts';
import type { InstanceKey, NodeGroupId, NodeName, PodUid } from './ids.ts';
import type { TemplateDifference } from './node-template.ts';
import type { Blocker, RemovalCause } from './plan.ts';
import type { UnremovableReason } from './reasons.ts';
import type { RepackMemory } from './repack.ts';

/** The backoff of a group after a failed scale-up. */
export interface Backoff extends Closure {
  readonly lastFailureMs: number;
  readonly cause: string;
  /** The kind of the error. */
  readonly kind: ErrorKind['kind'];
  /** Azure's message, for people. undefined: there was none. */
  readonly message: string | undefined;
  /** Azure's id of the failed request, for its support. undefined: there was none. */
  readonly correlationId: string | undefined;
  /** Azure refused the write itself, so this says nothing about nodes that were requested before. */
  readonly refused: boolean;
}

/** A size, zone and priority that Azure lacks capacity for, and until when. */
export interface Stockout {
  readonly scope: StockScope;
  readonly code: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** A Spot node that Azure announced to take back. */
export interface Eviction {
  readonly vmSize: string;
  /** The last part of its zone. undefined: it is in none. */
  readonly zone: string | undefined;
  /** When the announcement was first seen, milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** Pods of one class that an increase was made for and that are still pending. */
export interface PodsOfClass {
  /** A short hash of the key of their shape, which is the same in every process. */
  readonly class: string;
  readonly count: number;
  /** As many as `count`. undefined in a saved memory until the first observation: then pods of the class are found by age. */
  readonly uids: readonly PodUid[] | undefined;
  /** When nodes of this group were first requested for one of these pods, milliseconds since the epoch. */
  readonly firstAskedAtMs: number;
}

/**
 * One increase that Azure accepted, and what came of it. It is the one record: the nodes on their way and the pods that wait for them are
 * views of it. Times are in milliseconds since the epoch.
 */
export interface AcceptedIncrease {
  /** How many nodes were requested. */
  readonly nodes: number;
  /** The time of the observation that it was planned from. If others made it: when it was first seen, or its newest instance was created. */
  readonly acceptedAtMs: number;
  /** `other`: a target size that this process did not request. Nothing is known of its pods. */
  readonly by: 'us' | 'other';
  /**
   * How many of its nodes have yet to join. A further increase of the group restarts the time limit for all: `expectedByMs` of the newest
   * counts. undefined: none is awaited, since all of the group came, or since they failed or were overdue.
   */
  readonly coming: { readonly nodes: number; readonly expectedByMs: number } | undefined;
  /** When all its nodes were first seen registered. undefined while some are on their way. */
  readonly joinedAtMs: number | undefined;
  /** When all its nodes were first seen ready and without startup taints. undefined until then. */
  readonly readyAtMs: number | undefined;
  /** How many of its nodes are stopped instances that were started. */
  readonly started: number;
  /** Its nodes came and its pods are bound, gone or part of a later increase, or it is no longer waited for them. Nothing is planned by it. */
  readonly isOver: boolean;
  /** Some of its nodes failed or were given back: the others may not be enough for its pods. */
  readonly incomplete: boolean;
  /** Empty if the increase was to the minimum size, or if no pod of it is pending any more. */
  readonly pods: readonly PodsOfClass[];
  /** Its pods that exist only in plans: of buffers, and those that controllers are about to create. They are not saved. */
  readonly planned: readonly PodUid[];
  /** Since when none of its pods is pending although it is not complete. undefined: some are, or its pods exist only in plans. Not saved. */
  readonly podsGoneSinceMs: number | undefined;
  /** undefined: another process or writer made it, or more than an hour ago. */
  readonly followed: FollowedInstances | undefined;
}

/** When an instance of an increase reached each stage, milliseconds since the epoch. */
export interface InstanceStages {
  /** When it was first seen, itself or by its node, or was started again. */
  readonly createdAtMs: number;
  /** When its node was created. undefined: no node was seen. */
  readonly registeredAtMs: number | undefined;
  /** When its node turned ready. undefined: it was not seen ready. */
  readonly readyAtMs: number | undefined;
}

/**
 * The instances that came of an increase that this process made. They are followed for an hour, whatever comes. No plan reads them, and
 * they are not saved.
 */
export interface FollowedInstances {
  /** The name of the increase within the process. */
  readonly id: string;
  /** The target size that it set. */
  readonly to: number;
  /** When Azure had accepted it, milliseconds since the epoch. */
  readonly answeredAtMs: number;
  /**
   * In the order in which they were seen. An instance is of one increase at most; one that was stopped and started again is of the increase
   * that started it, and an earlier one keeps what it reached before.
   */
  readonly instances: ReadonlyMap<InstanceKey, InstanceStages>;
  /** Not all of its instances will come. */
  readonly failed: boolean;
  /**
   * The ProvisioningRequest that it was made for as a whole, and why not all nodes of it will come. undefined: it was made for none, all of
   * its nodes came, or the time of the booking is over.
   */
  readonly request: { readonly uid: string; readonly failure: string | undefined } | undefined;
}

/**
 * A node of an increase did not fit the pods that the increase was made for, even without pods that other nodes need not have; or no node
 * came in a zone that they need. While this holds, the group's template is corrected. Then one node is requested to find out. Times are in milliseconds since the epoch.
 */
export interface BrokenPromise {
  readonly difference: TemplateDifference;
  /** The nodes that show it, the newest first; at most three. */
  readonly nodes: readonly NodeName[];
  /** The hash of the template that the node disproved. */
  readonly template: string;
  /** VM size and priority of the group. */
  readonly model: string;
  /** The classes of pods that the node does not fit. */
  readonly classes: readonly string[];
  readonly sinceMs: number;
  /** When it is tried again, although nothing changed. */
  readonly untilMs: number;
  /** When it was reported: a young node may still become what was promised. undefined until then. */
  readonly reportedAtMs: number | undefined;
}

/** When a group was last increased, lost a node and failed to remove one, milliseconds since the epoch. What never happened has no time. */
export interface GroupTimes {
  readonly scaleUpMs?: number;
  readonly scaleDownMs?: number;
  readonly scaleDownFailureMs?: number;
  /** The last `scaleUpMs` of an increase that brought a node. An increase that brought none leaves no cooldown. */
  readonly nodeCameMs?: number;
}

/** Why a node was unremovable at its last check, and until when that result holds. */
export interface RememberedUnremovable {
  readonly reason: UnremovableReason;
  readonly untilMs: number;
  /** What blocked it. undefined if no pod did. */
  readonly blocker: Blocker | undefined;
  /** The failure. undefined if there was none. */
  readonly detail: string | undefined;
}

/** A deletion taint on a node. */
export interface SeenDeletionTaint {
  readonly sinceMs: number;
  /** Its value and its owner: another text is another taint. */
  readonly text: string;
}

/** Times: milliseconds since the epoch. */
export interface NodeInDeletion {
  readonly group: NodeGroupId;
  readonly instance: InstanceKey;
  /** When its removal started. */
  readonly sinceMs: number;
  /** When Azure accepted the deletion of its instance. undefined: this process still drains the node. */
  readonly sentAtMs: number | undefined;
}

/** What keeps a group from changing, and since when this process has seen it, milliseconds since the epoch. */
export interface HeldGroup {
  readonly kind: 'frozen' | 'not-increased' | 'unconfirmed' | 'deleting' | 'creating';
  readonly reason: HoldReason;
  readonly sinceMs: number;
}

/** A block, or a change in progress: of the target size, or of one instance. */
export type HoldReason =
  | ChangeBlock
  | IncreaseBlock
  | { readonly code: 'size-unconfirmed'; readonly to: number }
  | { readonly code: 'instance-exists' | 'instance-not-ready'; readonly instanceId: string };

/** Where the last plan stopped, since its time was up or more pods stay pending than one loop explains: the next plan goes on there. */
export interface StoppedPlan {
  /** Pods that were searched in vain since the last plan that came to its end. They are searched after all others. */
  readonly searched: readonly PodUid[];
  /** Pods whose pending was explained since the last plan that explained all. They are explained after all others. */
  readonly explained: readonly PodUid[];
  /** The number of the family of groups with which estimates begin, modulo the number of families. */
  readonly estimateFrom: number;
}

/** About ProvisioningRequests. */
interface RequestMemory {
  /** The last loop served one, so the next serves pods. */
  readonly served: boolean;
  readonly retries: ReadonlyMap<string, Closure>;
}

/** A removal that counts in budgets of removals. */
export interface BudgetedRemoval {
  readonly group: NodeGroupId;
  /** undefined: unknown, since an earlier process started it. */
  readonly cause: RemovalCause | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
}

export interface LoopState {
  readonly unneededSince: ReadonlyMap<NodeName, number>;
  readonly unremovable: ReadonlyMap<NodeName, RememberedUnremovable>;
  readonly backoffs: ReadonlyMap<NodeGroupId, Backoff>;
  readonly stockouts: readonly Stockout[];
  /**
   * The increases of each group, the oldest first: until their nodes have joined and their pods are bound, gone or part of a later one, and
   * our own for an hour at least. A group without one of our own is not known: its upcoming nodes take any pod.
   */
  readonly increases: ReadonlyMap<NodeGroupId, readonly AcceptedIncrease[]>;
  /** Whether `increases` has all of our own: this process made one, or recalled those of an earlier one. */
  readonly knowsAccepted: boolean;
  /**
   * How long the last increases of each group took, from their acceptance until all their nodes were ready: milliseconds, the oldest first.
   * For people only; no decision reads it. No view of `increases`, whose records do not last for so many increases.
   */
  readonly readyTimes: ReadonlyMap<NodeGroupId, readonly number[]>;
  /** The same of increases whose nodes are all stopped instances that were started. */
  readonly startTimes: ReadonlyMap<NodeGroupId, readonly number[]>;
  /** Templates that real nodes disproved. */
  readonly broken: ReadonlyMap<NodeGroupId, BrokenPromise>;
  /** Groups that bring no node in some of their zones: the templates are without these zones. */
  readonly brokenZones: ReadonlyMap<NodeGroupId, BrokenPromise>;
  /** Nodes whose drain or deletion is in progress. */
  readonly deleting: ReadonlyMap<NodeName, NodeInDeletion>;
  /** No view of `increases`: a cooldown may be configured to last longer than a record, and outlives a process with the saved memory. */
  readonly lastScaleUpMs: number;
  readonly lastScaleDownMs: number;
  readonly lastScaleDownFailureMs: number;
  /** The same three times by group. */
  readonly groupTimes: ReadonlyMap<NodeGroupId, GroupTimes>;
  readonly requests: RequestMemory;
  /** Start times of removals inside the removal window, oldest first. */
  readonly removals: readonly number[];
  /** The same of empty nodes, if they have a limit of their own. */
  readonly emptyRemovals: readonly number[];
  /** Removals inside the removal window while budgets of removals are configured, oldest first. */
  readonly budgetedRemovals: readonly BudgetedRemoval[];
  /**
   * When this process first saw each running instance that has no node. undefined until the first observation, which is how a start is
   * recognised.
   */
  readonly unregisteredSince: ReadonlyMap<InstanceKey, number> | undefined;
  /** Groups that cannot be changed at the moment. */
  readonly heldGroups: ReadonlyMap<NodeGroupId, HeldGroup>;
  /** Deletion taints on nodes. */
  readonly deletionTaints: ReadonlyMap<NodeName, SeenDeletionTaint>;
  /** undefined: the last plan came to its end. */
  readonly stopped: StoppedPlan | undefined;
  readonly repacks: RepackMemory;
  /** The last known target sizes. Empty until the first observation, unless an earlier process saved them. */
  readonly targets: ReadonlyMap<NodeGroupId, number>;
  /** Of the last ten minutes, by the uid of the node. Empty unless waves of evictions close a size. Not saved: what a wave closed is. */
  readonly evictions: ReadonlyMap<string, Eviction>;
}

/** The part of the state that outlives a process. The rest is found again in the cluster and in Azure. */
export interface SavedMemory extends Pick<
  LoopState,
  | 'budgetedRemovals'
  | 'unneededSince'
  | 'backoffs'
  | 'stockouts'
  | 'increases'
  | 'knowsAccepted'
  | 'readyTimes'
  | 'startTimes'
  | 'broken'
  | 'brokenZones'
  | 'lastScaleUpMs'
  | 'lastScaleDownMs'
  | 'lastScaleDownFailureMs'
  | 'groupTimes'
  | 'targets'
  | 'repacks'
> {
  /** The time of the observation that it belongs to, milliseconds since the epoch. No process watched afterwards. */
  readonly savedAtMs: number;
}
