/** What a loop is going to do, and why. Plans are values: recorded, compared, replayed, and the source of events. */
import type { InstanceKey, NodeGroupId, NodeName } from './ids.ts';
import type { DrainOptions, PlacementScore } from './node-group.ts';
import type { Pod } from './pod.ts';
import type { BlockingPodReason, PodVerdict, SkipReason, UnremovableReason } from './reasons.ts';

/** Increases one group. `from` and `version` are what the plan was made from; the write is refused if they are outdated. */
export interface Increase {
  readonly group: NodeGroupId;
  readonly from: number;
  readonly to: number;
  readonly version: string;
  /** The pods of this increase, in a stable order. Empty for an increase to the minimum size, and for one of a repack. */
  readonly pods: readonly Pod[];
  /** `repack`: for pods that run on nodes which will be removed. `sick-nodes`: the same, and those nodes are sick. */
  readonly cause: 'pods' | 'min-size' | 'repack' | 'sick-nodes' | 'make-room';
}

export interface SkippedGroup {
  readonly group: NodeGroupId;
  readonly reason: SkipReason;
}

/** What the price expander compares. Weights are in cores: the load that nodes can carry, and the load of the pods. */
export interface OptionCost {
  /** Of all nodes of the option together, in the currency of the price table. */
  readonly perHour: number;
  readonly nodeWeight: number;
  readonly podWeight: number;
  /** GPUs and the like, whether the pods request them or not. */
  readonly hasDevices: boolean;
  /** 1 means nodes of the right size for this cluster; more is worse. */
  readonly misfit: number;
}

export interface ScoredOption {
  readonly group: NodeGroupId;
  readonly nodes: number;
  readonly pods: number;
  /** The wasted share that least-waste compares. 0 means none. */
  readonly waste: number;
  /** The group's level in the priority rules. undefined: no rule matches it. */
  readonly priority: number | undefined;
  /** undefined: the VM size has no price. */
  readonly cost: OptionCost | undefined;
  /** Azure's placement score of the group. undefined: there is none. */
  readonly placementScore: PlacementScore | undefined;
  /** How well the nodes meet what the pods prefer; more is better. undefined: no expander compares it. */
  readonly preference: number | undefined;
}

/** The subject of a plan's note; a closed set, used as a metric label. */
export const NOTE_KINDS = ['rule-without-group', 'group-without-rule', 'size-without-price', 'list-prices'] as const;

/** A remark about the configuration, for people. */
export interface PlanNote {
  readonly kind: (typeof NOTE_KINDS)[number];
  readonly text: string;
}

/** A pod, and the node on which plans count it although it is not bound to it. */
export interface AssumedPod {
  readonly pod: Pod;
  readonly node: NodeName;
}

export interface ScaleUpPlan {
  readonly increases: readonly Increase[];
  readonly skipped: readonly SkippedGroup[];
  /** The verdict of every pod that was evaluated. */
  readonly verdicts: ReadonlyMap<Pod, PodVerdict>;
  readonly options: readonly ScoredOption[];
  /** Pods that controllers are about to create. undefined: the feature is off. */
  readonly injection: { readonly injected: number; readonly skipped: number } | undefined;
  /** The pods that stand for room on present nodes that buffers and bookings reserve. `unknown`: not computed. */
  readonly reserved: readonly AssumedPod[] | 'unknown';
  /** How many estimates were made before planning time ran out. undefined: it did not. */
  readonly cutShortAfter: number | undefined;
  /** How many searches on existing nodes were made before planning time ran out in one. undefined: it did not. */
  readonly searchedUntilLate: number | undefined;
  /** How many whole plans were made beside the first, to serve priorities better, with buffers last, or to explain nodes on their way. */
  readonly retried: number;
  readonly notes: readonly PlanNote[];
  /** One line for people: what and why. */
  readonly summary: string;
}

/** A plan of nothing. */
export const NOTHING_PLANNED: ScaleUpPlan = {
  increases: [],
  skipped: [],
  verdicts: new Map(),
  options: [],
  injection: undefined,
  reserved: [],
  cutShortAfter: undefined,
  searchedUntilLate: undefined,
  retried: 0,
  notes: [],
  summary: '',
};

export interface Blocker {
  readonly pod: string;
  readonly reason: BlockingPodReason;
  /** The budget's name and numbers, the volume, or the controller. */
  readonly detail: string;
  /** When it ends by itself, milliseconds since the epoch. If absent, that is not known. */
  readonly untilMs?: number;
}

/** Why a node is removed; a closed set, used as a metric label. */
export const REMOVAL_CAUSES = ['empty', 'underutilized', 'unready', 'sick', 'repacked'] as const;
export type RemovalCause = (typeof REMOVAL_CAUSES)[number];

/** One node to remove now. `pods` must be evicted first; empty for an empty node. */
export interface Removal {
  readonly group: NodeGroupId;
  readonly node: NodeName;
  readonly instance: InstanceKey;
  readonly pods: readonly Pod[];
  readonly unneededSinceMs: number;
  readonly cause: RemovalCause;
  readonly utilization: number;
  /** The condition that makes it sick. undefined: it is not removed since it is sick. */
  readonly condition: string | undefined;
  /** Its instance is reimaged instead of deleted, and its node comes back. undefined: it is not sick, or its group does not want that. */
  readonly reimages: true | undefined;
  /** Whether the group's removals in this plan are carried out together or not at all. undefined: they are not. */
  readonly together: true | undefined;
  /** What the group states of its drains. undefined: nothing. */
  readonly drain: Partial<DrainOptions> | undefined;
}

export interface UnremovableNode {
  readonly node: NodeName;
  readonly reason: UnremovableReason;
  /** Of `RecentlyUnremovable`: the reason of the earlier check. */
  readonly cause?: UnremovableReason;
  readonly blocker?: Blocker;
  /** What the reason alone does not say: which limit, which other node. */
  readonly detail?: string;
  readonly utilization?: number;
  /** The highest utilization at which the node would be a candidate. Present if utilization decided. */
  readonly threshold?: number;
  /** When the node is checked next, milliseconds since the epoch. */
  readonly recheckAtMs?: number;
}

/** An instance to delete that is not a node: it never registered, or its creation failed. */
export interface InstanceRemoval {
  readonly group: NodeGroupId;
  readonly instance: InstanceKey;
  /** `not-needed`: it is on its way, and nothing needs it any more. */
  readonly cause: 'never-registered' | 'failed' | 'not-needed';
}

export interface ScaleDownPlan {
  /** Unneeded nodes; the value is since when, milliseconds since the epoch. */
  readonly unneeded: ReadonlyMap<NodeName, number>;
  readonly removals: readonly Removal[];
  readonly instanceRemovals: readonly InstanceRemoval[];
  readonly kept: readonly UnremovableNode[];
  /** How many nodes were simulated before time ran out. undefined: it did not. */
  readonly cutShortAfter: number | undefined;
  /** If set, why this loop removes nothing. */
  readonly inhibited: string | undefined;
  readonly summary: string;
}
