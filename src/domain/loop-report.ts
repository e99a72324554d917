/** What one loop did, for observers, tables and the journal. Plain values without decisions. */
import type { AutoscalerError } from '../lib/errors.ts';
import type { AnsweredIncrease, IncreaseOutcome, RemovalOutcome } from './outcome.ts';
import type { Increase, ScaleDownPlan, ScaleUpPlan } from './plan.ts';
import type { LoopState } from './loop-state.ts';
import type { Observation } from './observation.ts';
import type { Policy, PriceSources } from './policy.ts';
import type { EndedRepack, RunningRepack } from './repack.ts';

/** What started a loop. */
export type LoopTriggerCause = 'scan' | 'pods' | 'cloud' | 'timer' | 'manual';

export type StepName =
  | 'leftovers'
  | 'preemption'
  | 'observe'
  | 'reduce'
  | 'scale-up'
  | 'scale-down'
  | 'soft-taint'
  | 'repack'
  | 'sync-counts'
  | 'capacity'
  | 'publish';

export interface StepFailure {
  readonly step: StepName;
  readonly error: AutoscalerError;
}

/** One capacity write and its outcome. */
export interface IncreaseRecord {
  readonly increase: Increase;
  readonly outcome: IncreaseOutcome;
  /** When the outcome was known, milliseconds since the epoch. */
  readonly atMs: number;
}

/** A capacity write that is answered. */
export interface AnsweredRecord extends IncreaseRecord {
  readonly outcome: AnsweredIncrease;
  /** When its loop went on: with the answer, or after the write was sent. */
  readonly sentAtMs: number;
  /** Of the loop that made it. */
  readonly loopId: number;
  readonly startedAtMs: number;
}

/** One planning round of a scale-up. A conflict or a stockout causes another round in the same loop. */
export interface ScaleUpRound {
  readonly plan: ScaleUpPlan;
  readonly increases: readonly IncreaseRecord[];
}

/** Repacks that began or ended in a loop. */
export interface RepackReport {
  readonly begun: readonly RunningRepack[];
  readonly ended: readonly EndedRepack[];
}

export const NO_REPACKS: RepackReport = { begun: [], ended: [] };

export interface LoopReport {
  readonly loopId: number;
  readonly trigger: LoopTriggerCause;
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** The last observation of the loop. undefined if observing failed. */
  readonly observation: Observation | undefined;
  readonly rounds: readonly ScaleUpRound[];
  readonly scaleDown: ScaleDownPlan | undefined;
  /** Whether the last plan of the loop met a conflict, or found nothing in its time, so that another loop follows soon. */
  readonly replanSoon: boolean;
  /** Whether nodes were requested and more pods wait only because the plan ended early. */
  readonly unfinished: boolean;
  /** Increases of earlier loops that were answered since the previous loop. */
  readonly answered: readonly AnsweredRecord[];
  /** Removals that ended since the previous loop. */
  readonly removed: readonly RemovalOutcome[];
  readonly stepMs: Readonly<Partial<Record<StepName, number>>>;
  readonly failures: readonly StepFailure[];
  /** `failed`: no decision could be made. `cancelled`: stopped before a decision. `exit`: the process must exit, see `failures`. */
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'exit';
  readonly state: LoopState;
  readonly repacks: RepackReport;
  /** The prices of nodes in this loop. */
  readonly prices: PriceSources;
}

/** The increases whose answer came with this loop, whichever loop made them. */
export function answeredIncreases({ answered, rounds, loopId, startedAtMs }: AnsweredIn): readonly AnsweredRecord[] {
  const own = rounds.flatMap(({ increases }) => increases).flatMap((record) => answeredRecord(record, { loopId, startedAtMs }));
  return [...answered, ...own];
}

type AnsweredIn = Pick<LoopReport, 'answered' | 'rounds' | 'loopId' | 'startedAtMs'>;

/** Empty: the write is not answered yet. */
export function answeredRecord(
  record: IncreaseRecord,
  { loopId, startedAtMs }: Pick<LoopReport, 'loopId' | 'startedAtMs'>,
): readonly AnsweredRecord[] {
  const { outcome, atMs } = record;
  return outcome.kind === 'sent' ? [] : [{ ...record, outcome, sentAtMs: atMs, loopId, startedAtMs }];
}

export type LoopListener = (report: LoopReport) => void;

/** Publishes gauges as a step of the loop, so that a failure counts with the failures of the other steps. */
export interface LoopGauges {
  observation(observation: Observation, state: LoopState, policy: Policy): void;
  verdicts(plan: ScaleUpPlan, nowMs: number): void;
}
