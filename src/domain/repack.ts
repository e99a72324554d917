/**
 * Repacking: a set of nodes is removed together, and their pods run on other nodes; some may be added for them first. Values alone.
 * Must not know how a set is found.
 */
import type { Closure } from '../lib/closure.ts';
import type { NodeGroupId, NodeName } from './ids.ts';
import type { BlockingPodReason, UnremovableReason } from './reasons.ts';

/** What a change of the nodes saves. Negative numbers are what it takes in addition. */
export interface Saved {
  readonly nodes: number;
  readonly cpuMillis: number;
  /** In the currency of the prices, those that are only shown included. undefined: a node has no known price. */
  readonly perHour: number | undefined;
}

/** Nothing. */
export const NOTHING_SAVED: Saved = { nodes: 0, cpuMillis: 0, perHour: 0 };

/** A condition that makes a node sick once it has lasted. */
export interface SickCondition {
  readonly type: string;
  readonly status: string;
  readonly forMs: number;
}

/** `XIDErrors=True`: how a condition is named in rules, in sentences and in the memory. */
export function conditionText({ type, status }: Pick<SickCondition, 'type' | 'status'>): string {
  return `${type}=${status}`;
}

/** Which nodes of a group are sick, and how many of them are replaced. */
export interface SickNodeRules {
  readonly conditions: readonly SickCondition[];
  /** How many nodes of the group may be replaced at once. */
  readonly maximum: number;
  /** If more of its nodes show such a condition, rounded up, none is replaced. */
  readonly breakerPercent: number;
  /** What is done with the instance of a drained node. A node that was reimaged within a day, or cannot be, is replaced. */
  readonly remedy: 'replace' | 'reimage';
}

/** How long a condition has to last if the rules say nothing else, milliseconds. */
const SICK_AFTER_MS = 10 * 60_000;

/**
 * Conditions that the node problem detector of AKS sets to True on nodes (learn.microsoft.com, "Node Problem Detector in AKS nodes", and for managed
 * GPU pools "AKS-managed GPU nodes"), and the one of AKS's node health check. Announced events of a VM and throttled clocks are left out, since they pass.
 */
export const SICK_PRESETS = {
  aks: [
    { type: 'kubernetes.azure.com/NodeHealthy', status: 'False', forMs: SICK_AFTER_MS },
    ...lasting(
      'KernelDeadlock',
      'ReadonlyFilesystem',
      'FilesystemCorruptionProblem',
      'KubeletProblem',
      'ContainerRuntimeProblem',
      'FrequentKubeletRestart',
      'FrequentContainerdRestart',
      'FrequentUnregisterNetDevice',
    ),
  ],
  gpu: lasting(
    'GPUMissing',
    'NVLinkStatusInactive',
    'XIDErrors',
    'IBLinkFlapping',
    'UnhealthyNvidiaDevicePlugin',
    'UnhealthyNvidiaDCGMServices',
  ),
} as const;

function lasting(...types: readonly string[]): readonly SickCondition[] {
  return types.map((type) => ({ type, status: 'True', forMs: SICK_AFTER_MS }));
}

/** The conditions of nodes that are kept, as `type=status`: those of all presets, which tags may name, and those of these rules. */
export function keptConditions(pools: readonly { readonly options: { readonly sickNodes?: SickNodeRules } }[]): readonly string[] {
  const named = pools.flatMap(({ options }) => options.sickNodes?.conditions ?? []);
  return [...SICK_PRESETS.aks, ...SICK_PRESETS.gpu, ...named].map(conditionText);
}

/** Where the rules say nothing else. */
export const USUAL_SICK_LIMITS = { maximum: 1, breakerPercent: 20, remedy: 'replace' } as const;

/** What the tag of sick nodes may say. The same objects for the same texts. */
export const PRESET_SICK_RULES: Readonly<Record<string, SickNodeRules>> = {
  aks: { conditions: SICK_PRESETS.aks, ...USUAL_SICK_LIMITS },
  gpu: { conditions: SICK_PRESETS.gpu, ...USUAL_SICK_LIMITS },
  'aks,gpu': { conditions: [...SICK_PRESETS.aks, ...SICK_PRESETS.gpu], ...USUAL_SICK_LIMITS },
};

interface RepackedNode {
  readonly node: NodeName;
  readonly group: NodeGroupId;
  /** The condition that makes it sick, such as `XIDErrors=True`. undefined: it is removed since that saves something. */
  readonly condition: string | undefined;
}

/** New nodes of one group. */
export interface AddedNodes {
  readonly group: NodeGroupId;
  readonly nodes: number;
}

/** Nodes that are removed together, and what takes their pods beside the other nodes. */
export interface RepackSet {
  /** In the order in which they are removed. */
  readonly remove: readonly RepackedNode[];
  /** undefined: other nodes have the room. */
  readonly add: AddedNodes | undefined;
  readonly saved: Saved;
  /** How many pods move. */
  readonly pods: number;
  /** What the moves cost the workloads, in ordinary pods. */
  readonly disruption: number;
  /** How many percent of one node each ordinary pod that moves saves. */
  readonly score: number;
}

/** Nodes that no search may repack, by the reason. */
export interface RepackBlocker {
  readonly reason: UnremovableReason;
  /** What about a pod, if a pod blocks. undefined: no pod does. */
  readonly blocker: BlockingPodReason | undefined;
  readonly nodes: number;
  /** What of these nodes no pod requests. */
  readonly unused: Saved;
}

/** What repacking every pool would save, whether it is on or not. */
export interface RepackEstimate {
  /** The time of the observation that it was found in, milliseconds since the epoch. */
  readonly atMs: number;
  /** Ready nodes of all groups. */
  readonly nodes: number;
  /** How many of them would do, with new ones. */
  readonly needed: number;
  readonly saved: Saved;
  readonly sets: readonly RepackSet[];
  /** The largest unused part first. */
  readonly blockers: readonly RepackBlocker[];
  /** The search ended at its limit: there may be more to save. */
  readonly cutShort: boolean;
}

/** `checked`: found, and looked at again after a wait. `adding`: its new nodes were requested. `draining`: its nodes are being removed. */
type RepackStage = 'checked' | 'adding' | 'draining';

/** One repack under way. Times are milliseconds since the epoch. */
export interface RunningRepack {
  readonly set: RepackSet;
  readonly stage: RepackStage;
  readonly sinceMs: number;
  /** When its present stage began. */
  readonly stageSinceMs: number;
  /** The nodes that its group of new nodes had before. Empty unless it adds nodes. */
  readonly before: readonly NodeName[];
}

/** How a repack ended; a closed set, used as a metric label. */
export const REPACK_OUTCOMES = ['done', 'undone', 'withheld'] as const;

/** A repack that is over. */
export interface EndedRepack {
  readonly set: RepackSet;
  readonly outcome: (typeof REPACK_OUTCOMES)[number];
  readonly stage: RepackStage;
  readonly sinceMs: number;
  readonly atMs: number;
  /** Why it was undone, as a part of a sentence. undefined: it was not. */
  readonly why: string | undefined;
}

/** The last replacement of sick nodes of a group that ended well. */
export interface ReplacedSickNodes {
  /** When it began: a sick node that is younger came of it. Milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The image of the new nodes. undefined: they have no label of it. */
  readonly image: string | undefined;
  /** The last new node that turned sick, too. undefined: none did. */
  readonly again: NodeName | undefined;
  /** Until when no sick node of the group is replaced. undefined: no new one turned sick. */
  readonly closure: Closure | undefined;
}

/** Pods of one controller that the removal of a node moved: as many of those that it created next replace them. */
export interface MovedPods {
  /** The uid of the controller. */
  readonly owner: string;
  readonly pods: number;
  /** When the removal began. */
  readonly atMs: number;
}

/** Why no pod has moved, or no node was requested, as a part of a sentence, and until when it is not tried again. */
interface FailedRoom {
  readonly why: string;
  readonly untilMs: number;
}

/** Room on a node for a pod that waits for it there. Entries without a closure are not saved: each loop finds them again. */
export interface NodeRoom {
  /** Until when no pod is moved from the node again. undefined: none was within a day. */
  readonly closure: Closure | undefined;
  /** The group that was asked for a node that takes the pods, which have yet to move. */
  readonly added: NodeGroupId | undefined;
  /** What was decided last did not happen: nothing is closed for it, but for a moment. Not saved. undefined: it happened, or the moment is over. */
  readonly failed: FailedRoom | undefined;
  /** What is done, or why nothing is, as a part of a sentence. undefined: no pod waits now. */
  readonly why: string | undefined;
}

/** What loops remember of repacking. */
export interface RepackMemory {
  /** The oldest first. No two have a group in common. */
  readonly running: readonly RunningRepack[];
  /** Nodes whose repack was undone: they are not tried again before the end. */
  readonly closures: ReadonlyMap<NodeName, Closure>;
  /** When nodes of repacks were given to removal within the last hour, the oldest first. */
  readonly begunMs: readonly number[];
  /** Pods that removals moved lately, the oldest first. Empty unless repacking is on for their group. */
  readonly moved: readonly MovedPods[];
  /** The last search for something to do. undefined: there was none. */
  readonly search: RepackLook | undefined;
  /** By group. Empty unless sick nodes were replaced within a day. */
  readonly replaced: ReadonlyMap<NodeGroupId, ReplacedSickNodes>;
  /** Sick nodes, and why each is not replaced now, as a part of a sentence. Not saved: each loop finds it again. */
  readonly left: ReadonlyMap<NodeName, string>;
  /** Empty unless room is made on nodes, or was within a day. */
  readonly rooms: ReadonlyMap<NodeName, NodeRoom>;
}

/** One search for something to do. */
export interface RepackLook {
  readonly atMs: number;
  /** Why nothing was begun, as a part of a sentence. undefined: something was. */
  readonly why: string | undefined;
  /** What all sets that it found would save together. undefined: it could not search. */
  readonly saved: Saved | undefined;
}

export const NOTHING_REPACKED: RepackMemory = Object.freeze({
  running: [],
  closures: new Map<NodeName, Closure>(),
  begunMs: [],
  moved: [],
  search: undefined,
  replaced: new Map<NodeGroupId, ReplacedSickNodes>(),
  left: new Map<NodeName, string>(),
  rooms: new Map<NodeName, NodeRoom>(),
});

/** Nothing of it has to be stored. */
export function isNothingRepacked({ running, closures, begunMs, moved, replaced, rooms }: RepackMemory): boolean {
  return running.length + begunMs.length + moved.length === 0 && closures.size + replaced.size + rooms.size === 0;
}

/** Whether the set replaces sick nodes. All its nodes are of one group then. */
export function isForSickNodes({ remove }: Pick<RepackSet, 'remove'>): boolean {
  return remove.some(({ condition }) => condition !== undefined);
}

/** When and how far repacking goes. Durations are milliseconds. */
export interface RepackPolicy {
  /** Whether pools without an option of their own are repacked. */
  readonly enabled: boolean;
  /** A set with a lower score is not repacked; see {@link RepackSet}. */
  readonly minScore: number;
  /** How many nodes all repacks together may begin to remove within an hour. */
  readonly maxNodesPerHour: number;
  /** How many nodes one repack may remove. */
  readonly maxNodesAtOnce: number;
  /** How long a set must hold before anything is done. */
  readonly confirmAfterMs: number;
  /** How often a search looks for something to do. */
  readonly searchEveryMs: number;
  /** A pod that runs for less keeps its node. */
  readonly minPodAgeMs: number;
  /** How long the nodes of an undone repack are left out: at first, and at most. */
  readonly retryAfterMs: number;
  readonly retryAfterAtMostMs: number;
}

const MINUTE_MS = 60_000;

export const DEFAULT_REPACK: RepackPolicy = {
  enabled: false,
  minScore: 2,
  maxNodesPerHour: 10,
  maxNodesAtOnce: 5,
  confirmAfterMs: 5 * MINUTE_MS,
  searchEveryMs: 5 * MINUTE_MS,
  minPodAgeMs: 60 * MINUTE_MS,
  retryAfterMs: 30 * MINUTE_MS,
  retryAfterAtMostMs: 24 * 60 * MINUTE_MS,
};
