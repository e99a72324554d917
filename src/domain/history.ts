/**
 * What readers of the past see: `explain`, the page and reports. Times are milliseconds since the epoch. How far back it reaches is bounded,
 * and so is its size. Must not know how it is kept.
 */
import type { NodeGroupId } from './ids.ts';

export type ChangeActor = 'autoscaler' | 'eviction' | 'aks' | 'another-writer';

/** A change, or a refused try, of a group's capacity. */
export interface CapacityChange {
  readonly atMs: number;
  readonly group: NodeGroupId;
  readonly from: number;
  readonly to: number;
  readonly actor: ChangeActor;
  /** The name that Azure's activity log gives, where the right to read it is granted. */
  readonly actorName?: string;
  /** One clause: `14 pods of checkout/web`, `AllocationFailed; backs off 10 min`, `agent pool in state Upgrading`. */
  readonly why: string;
  /** `refused`: a guard sent nothing, or Azure refused at once. `failed`: Azure had accepted it. `observed`: by others. */
  readonly outcome: 'accepted' | 'refused' | 'failed' | 'observed';
  /** The id of the decision that made it. Absent if it was not ours. */
  readonly decision?: string;
}

/** In the order in which they are reached. */
export const SCALE_UP_STAGES = ['decided', 'accepted', 'created', 'registered', 'ready', 'bound'] as const;
export type ScaleUpStage = (typeof SCALE_UP_STAGES)[number];

export interface StageProgress {
  readonly stage: ScaleUpStage;
  /** When the last of them reached the stage. Absent if none has. */
  readonly atMs?: number;
  /** Nodes that reached it; of `bound`, pods. */
  readonly count: number;
}

/** How far one increase has come. */
export interface ScaleUpProgress {
  readonly id: string;
  readonly group: NodeGroupId;
  readonly from: number;
  readonly to: number;
  /** One clause, as in {@link CapacityChange}. */
  readonly cause: string;
  /** Pods that it was made for. */
  readonly pods: number;
  /** The id of its decision. */
  readonly decision: string;
  /** All stages in order, the ones that are not reached included. */
  readonly stages: readonly StageProgress[];
  /** When all its nodes are ready if it takes as long as half of the group's earlier increases did. Absent if none was seen yet. */
  readonly expectedReadyMs?: number;
  /** The same for nine of ten. Absent as above. */
  readonly lateAfterMs?: number;
  readonly failure?: string;
  /** When it failed, or all its nodes were ready and its pods bound or gone. Absent while it is in progress. */
  readonly endedMs?: number;
}

/** How long things took, in milliseconds. */
export interface DurationSummary {
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
}

/** By nearest rank. undefined: there are no samples. */
export function summarizeDurations(samplesMs: readonly number[]): DurationSummary | undefined {
  if (samplesMs.length === 0) return undefined;
  const sorted = samplesMs.toSorted((one, other) => one - other);
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { count: sorted.length, p50Ms: rank(0.5), p90Ms: rank(0.9) };
}

/** From the end of the stage before to the end of this one; `decided` begins when a pod turned unschedulable. */
export interface StageDurations extends DurationSummary {
  readonly group: NodeGroupId;
  readonly stage: ScaleUpStage;
}

export interface SizeSample {
  readonly atMs: number;
  readonly target: number;
  readonly ready: number;
}

/** One decision that changed something, or that newly found pods that no group helps. */
export interface StoredDecision {
  readonly id: string;
  readonly atMs: number;
  readonly kind: 'increase' | 'removal' | 'pending' | 'withheld';
  readonly sentence: string;
  readonly groups: readonly NodeGroupId[];
  /** What `explain decision ID --json` prints. */
  readonly document: object;
  /** The file that `replay` reads. Absent if dumps are not written. */
  readonly dumpFile?: string;
}

/** One entry of a history that is written down, so that a later process can read it. */
export type HistoryEntry =
  /** A process began to watch. */
  | { readonly kind: 'start'; readonly atMs: number }
  | { readonly kind: 'change'; readonly change: CapacityChange }
  | { readonly kind: 'size'; readonly group: NodeGroupId; readonly sample: SizeSample }
  | { readonly kind: 'stage'; readonly atMs: number; readonly group: NodeGroupId; readonly stage: ScaleUpStage; readonly ms: number }
  /** Written when it ended. */
  | { readonly kind: 'scale-up'; readonly progress: ScaleUpProgress }
  | { readonly kind: 'decision'; readonly decision: StoredDecision };

/** Receives new entries. Never throws and never waits. */
export type HistorySink = (entry: HistoryEntry) => void;

export interface ChangesQuery {
  readonly group?: NodeGroupId;
  readonly fromMs?: number;
}

export interface DecisionsQuery {
  /** Searched in ids, sentences, groups and pods, in any letter case. */
  readonly text?: string;
  readonly fromMs?: number;
  readonly limit: number;
}

/** Answers from memory and never throws. */
export interface HistoryReader {
  /** Since when anything is known: the start of this process, or earlier where an earlier process saved it. */
  readonly sinceMs: number;
  /** The newest first. */
  changes(query: ChangesQuery): readonly CapacityChange[];
  /** The oldest first; begins with the size at `fromMs`, if that is known. Only changes are kept. */
  sizes(group: NodeGroupId, fromMs: number): readonly SizeSample[];
  /** Those in progress and those that ended lately, the newest first. */
  scaleUps(): readonly ScaleUpProgress[];
  /** If `group` is absent, of each group. */
  durations(group?: NodeGroupId): readonly StageDurations[];
  /** From the accepted write until all nodes of an increase were ready; an earlier process's, too. undefined: none was seen yet. */
  timeToReady(group: NodeGroupId): DurationSummary | undefined;
  /** The newest first. */
  decisions(query: DecisionsQuery): readonly StoredDecision[];
  decision(id: string): StoredDecision | undefined;
}
