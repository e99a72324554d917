/** What one loop did, for listeners: tests, tables, the journal. Plain values; nothing here decides anything. */
import type { AutoscalerError } from '../lib/errors.ts';
import type { IncreaseOutcome, RemovalOutcome } from './outcome.ts';
import type { Increase, ScaleDownPlan, ScaleUpPlan } from './plan.ts';
import type { LoopState } from './loop-state.ts';
import type { Observation } from './observation.ts';
import type { PriceSources } from './policy.ts';

/** What started a loop. */
export type LoopTriggerCause = 'scan' | 'pods' | 'cloud' | 'manual';

export type StepName =
  | 'leftovers'
  | 'preemption'
  | 'observe'
  | 'reduce'
  | 'scale-up'
  | 'scale-down'
  | 'soft-taint'
  | 'capacity'
  | 'publish';

export interface StepFailure {
  readonly step: StepName;
  readonly error: AutoscalerError;
}

/** One capacity write and what came of it. */
export interface IncreaseRecord {
  readonly increase: Increase;
  readonly outcome: IncreaseOutcome;
  /** When the outcome was known, milliseconds since the epoch. */
  readonly atMs: number;
}

/** One planning round of a scale-up: a conflict or a stock-out makes another in the same loop. */
export interface ScaleUpRound {
  readonly plan: ScaleUpPlan;
  readonly increases: readonly IncreaseRecord[];
}

export interface LoopReport {
  readonly loopId: number;
  readonly trigger: LoopTriggerCause;
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** The last view of the loop; undefined when observing failed. */
  readonly observation: Observation | undefined;
  readonly rounds: readonly ScaleUpRound[];
  readonly scaleDown: ScaleDownPlan | undefined;
  /** The last plan of the loop met a conflict: another loop follows soon. */
  readonly replanSoon: boolean;
  /** Removals that ended since the loop before. */
  readonly removed: readonly RemovalOutcome[];
  readonly stepMs: Readonly<Partial<Record<StepName, number>>>;
  readonly failures: readonly StepFailure[];
  /** `failed`: no decision could be made. `cancelled`: asked to end before one was. `exit`: the process must end, see `failures`. */
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'exit';
  readonly state: LoopState;
  /** What nodes cost, as the loop knew it. Absent: nothing is known. */
  readonly prices?: PriceSources;
}

export type LoopListener = (report: LoopReport) => void;

/** Publishes gauges as a step of the loop itself, so that a failure is counted with the loop's other steps. */
export interface LoopGauges {
  observation(observation: Observation, state: LoopState): void;
  verdicts(plan: ScaleUpPlan, nowMs: number): void;
}
