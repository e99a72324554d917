/**
 * What one loop remembers for the next. Replaced once per loop by the reducers of planning/state.ts. Nothing in it is
 * needed for safety: a restart begins with an empty one and the cluster's taints.
 */
import type { ErrorKind, StockScope } from '../lib/errors.ts';
import type { InstanceKey, NodeGroupId, NodeName } from './ids.ts';
import type { Blocker } from './plan.ts';
import type { UnremovableReason } from './reasons.ts';

/** A group resting after a failed scale-up. */
export interface Backoff {
  readonly untilMs: number;
  readonly durationMs: number;
  readonly lastFailureMs: number;
  readonly cause: string;
  /** The class of the error behind the cause. Absent: written by an earlier version. */
  readonly kind?: ErrorKind['kind'];
  /** What Azure said, for people. Absent: nothing. */
  readonly message?: string;
}

/** A size, zone and priority that Azure said it cannot give, until when. */
export interface Stockout {
  readonly scope: StockScope;
  readonly code: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Nodes asked for that have not joined yet. */
export interface InFlightIncrease {
  readonly group: NodeGroupId;
  readonly nodes: number;
  readonly requestedAtMs: number;
  readonly expectedByMs: number;
}

/** When a group last grew, lost a node and failed to lose one, milliseconds since the epoch; absent: not as far as we know. */
export interface GroupTimes {
  readonly scaleUpMs?: number;
  readonly scaleDownMs?: number;
  readonly scaleDownFailureMs?: number;
}

/** When a request without room is looked at again. */
export interface RequestRetry {
  readonly durationMs: number;
  readonly untilMs: number;
}

/** A size that a group was given for a request. */
export interface RequestIncrease {
  readonly group: NodeGroupId;
  readonly to: number;
  readonly atMs: number;
  /** Why not all of it will come. Absent: nothing says so. */
  readonly failed?: string;
}

/** Why a node stayed when it was looked at last, and until when that is good enough. */
export interface RememberedUnremovable {
  readonly reason: UnremovableReason;
  readonly untilMs: number;
  /** What blocked it. Absent: no pod did. */
  readonly blocker?: Blocker;
  /** What went wrong, where something did. */
  readonly detail?: string;
}

/** A deletion mark on a node. `ours`: this process wrote it, or found it when it began; else somebody else did meanwhile. */
export interface SeenDeletionTaint {
  readonly sinceMs: number;
  readonly ours: boolean;
}

export interface LoopState {
  readonly unneededSince: ReadonlyMap<NodeName, number>;
  readonly unremovable: ReadonlyMap<NodeName, RememberedUnremovable>;
  readonly backoffs: ReadonlyMap<NodeGroupId, Backoff>;
  readonly stockouts: readonly Stockout[];
  readonly increases: ReadonlyMap<NodeGroupId, InFlightIncrease>;
  /** Nodes whose drain or deletion was begun and has not ended; the value is when. */
  readonly deleting: ReadonlyMap<NodeName, { readonly group: NodeGroupId; readonly instance: InstanceKey; readonly sinceMs: number }>;
  /** Nodes that were asked for within the last minute. Absent: none. */
  readonly asked?: ReadonlyMap<NodeGroupId, readonly { readonly atMs: number; readonly nodes: number }[]> | undefined;
  readonly lastScaleUpMs: number;
  readonly lastScaleDownMs: number;
  readonly lastScaleDownFailureMs: number;
  /** The same three by group. Absent: nothing happened yet. */
  readonly groupTimes?: ReadonlyMap<NodeGroupId, GroupTimes>;
  /** Of requests for capacity. `served`: the last loop was theirs, and the next is the pods'. Absent: none was looked at yet. */
  readonly requests?: {
    readonly served: boolean;
    readonly retries: ReadonlyMap<string, RequestRetry>;
    /** What was ordered for a request, by its uid, and has not all come. Absent: nothing. */
    readonly orders?: ReadonlyMap<string, readonly RequestIncrease[]>;
  };
  /** Start times of removals inside the removal window, oldest first. */
  readonly removals: readonly number[];
  /** Since when instances that could be nodes are none, as far as this process saw. Absent until the first observation. */
  readonly unregisteredSince?: ReadonlyMap<InstanceKey, number>;
  /** Deletion marks on nodes. Absent: none is known. */
  readonly marks?: ReadonlyMap<NodeName, SeenDeletionTaint> | undefined;
  /** Target sizes as last known. Absent until the first observation after a start: how a restart is recognised. */
  readonly targets?: ReadonlyMap<NodeGroupId, number>;
}
