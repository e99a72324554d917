/** What we mean to do, and why. Plans are values: recorded, compared, replayed, projected to events. */
import type { InstanceKey, NodeGroupId, NodeName } from './ids.ts';
import type { Pod } from './pod.ts';
import type { BlockingPodReason, PodVerdict, SkipReason, UnremovableReason } from './reasons.ts';

/** Grow one group. `from` and `version` are what the plan was made from; the write is refused when they are stale. */
export interface Increase {
  readonly group: NodeGroupId;
  readonly from: number;
  readonly to: number;
  readonly version: string;
  /** The pods this increase is for, in a stable order. Empty for an increase to the minimum size. */
  readonly pods: readonly Pod[];
  readonly cause: 'pods' | 'min-size';
}

export interface SkippedGroup {
  readonly group: NodeGroupId;
  readonly reason: SkipReason;
}

/** What the price expander compares. Weights say how much work nodes can bear and pods are, in cores' worth. */
export interface OptionCost {
  /** Of all the option's nodes together, in the currency of the price table. */
  readonly perHour: number;
  readonly nodeWeight: number;
  readonly podWeight: number;
  /** GPUs and the like, for pods that do not ask for them as well as for pods that do. */
  readonly hasDevices: boolean;
  /** 1: nodes of the right size for this cluster; more: worse. */
  readonly misfit: number;
}

export interface ScoredOption {
  readonly group: NodeGroupId;
  readonly nodes: number;
  readonly pods: number;
  /** 0: nothing wasted; what least-waste compares. */
  readonly waste: number;
  /** The level of the priority rules that the group is on; absent: on none. */
  readonly priority?: number;
  /** Absent: its VM size has no price. */
  readonly cost?: OptionCost;
}

/** What a note of a plan is about; a closed set, used as a metric label. */
export const NOTE_KINDS = ['rule-without-group', 'group-without-rule', 'size-without-price', 'list-prices'] as const;

/** Something about the configuration that a person should know. */
export interface PlanNote {
  readonly kind: (typeof NOTE_KINDS)[number];
  readonly text: string;
}

/** A claim on room that a present node answers. */
export interface ReservedRoom {
  readonly pod: Pod;
  readonly node: NodeName;
}

export interface ScaleUpPlan {
  readonly increases: readonly Increase[];
  readonly skipped: readonly SkippedGroup[];
  /** Every pod that was looked at, with what became of it. */
  readonly verdicts: ReadonlyMap<Pod, PodVerdict>;
  readonly options: readonly ScoredOption[];
  /** Pods of controllers that are about to make them; absent: nobody asked for them. */
  readonly injection?: { readonly injected: number; readonly skipped: number };
  /** Room on present nodes that buffers and bookings take. Absent: there are none. `unknown`: it was not looked for. */
  readonly held?: readonly ReservedRoom[] | 'unknown';
  /** The time for planning was up after so many estimates; absent: it was not. */
  readonly cutShortAfter?: number;
  /** Absent: there is nothing odd. */
  readonly notes?: readonly PlanNote[];
  /** One line for a person: what and why. */
  readonly summary: string;
}

export interface Blocker {
  readonly pod: string;
  readonly reason: BlockingPodReason;
  /** The budget's name and numbers, the volume, the controller. */
  readonly detail: string;
}

/** One node to remove now. `pods` must be evicted first; empty for an empty node. */
export interface Removal {
  readonly group: NodeGroupId;
  readonly node: NodeName;
  readonly instance: InstanceKey;
  readonly pods: readonly Pod[];
  readonly unneededSinceMs: number;
  readonly cause: 'empty' | 'underutilized' | 'unready';
  readonly utilization: number;
  /** All removals of the group in this plan are carried out, or none. */
  readonly together?: true;
}

export interface UnremovableNode {
  readonly node: NodeName;
  readonly reason: UnremovableReason;
  readonly blocker?: Blocker;
  /** More than the reason says: which limit, which sibling. */
  readonly detail?: string;
  readonly utilization?: number;
  /** Which utilization is the most with which it could go; where that decided. */
  readonly threshold?: number;
  /** When it is worth looking again, milliseconds since the epoch. */
  readonly recheckAtMs?: number;
}

/** An instance to remove that is not a node: never registered, or failed to be created. */
export interface InstanceRemoval {
  readonly group: NodeGroupId;
  readonly instance: InstanceKey;
  readonly cause: 'never-registered' | 'failed';
}

export interface ScaleDownPlan {
  /** Nodes that could go; the value is when that began, milliseconds since the epoch. */
  readonly unneeded: ReadonlyMap<NodeName, number>;
  readonly removals: readonly Removal[];
  readonly instanceRemovals: readonly InstanceRemoval[];
  readonly kept: readonly UnremovableNode[];
  /** The time for simulating was up after so many nodes; absent: it was not. */
  readonly cutShortAfter?: number;
  /** Set when nothing may be removed in this loop at all; the reason. */
  readonly inhibited: string | undefined;
  readonly summary: string;
}
