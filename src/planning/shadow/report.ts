/** The comparison of a dry run with what others did, as `report --json` prints it. Plain values. */
import type { RecordedSavings } from './record.ts';

/** What the two sides disagree about. A closed set: reports group by it. */
export type DisagreementKind =
  | 'increase earlier'
  | 'other pool, no capacity'
  | 'other pool, cheaper'
  | 'other pool'
  | 'increase only here'
  | 'increase only there'
  | 'removal earlier'
  | 'removal only here'
  | 'removal only there';

export interface Disagreement {
  readonly kind: DisagreementKind;
  readonly atMs: number;
  readonly pools: readonly string[];
  readonly nodes: number;
  /** What aks-autoscaler would have done, and why. */
  readonly ours: string;
  /** What the other autoscaler did, and why as far as it said. */
  readonly theirs: string;
  /** Ours minus theirs. If absent, a size has no price. */
  readonly cost?: number;
  /** Ours minus theirs, in pod-minutes. */
  readonly podMinutes: number;
}

export interface SideTotals {
  readonly cost?: number;
  readonly podMinutes: number;
  readonly nodesAdded: number;
  readonly nodesRemoved: number;
}

export interface ShadowReport {
  readonly fromMs: number;
  readonly toMs: number;
  /** The record begins later than was asked for. */
  readonly isPartial: boolean;
  /** For how much of the time loops were recorded. */
  readonly seenMs: number;
  readonly pools: number;
  /** Of all money. If absent, it is that of the prices that the user configured, or none has a price. */
  readonly currency?: string;
  /** The other autoscaler, as it was. */
  readonly theirs: SideTotals & { readonly longestWaitMs: number };
  /** aks-autoscaler, as estimated. */
  readonly ours: SideTotals;
  /** The oldest first. */
  readonly disagreements: readonly Disagreement[];
  /** What repacking would save beside the decisions above, as of the last search. If absent, none was recorded. */
  readonly repacking?: RecordedSavings;
  readonly sizesWithoutPrice: readonly string[];
  readonly assumptions: readonly string[];
}
