import type { LoopState } from '../domain/loop-state.ts';
import type { Observation } from '../domain/observation.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../domain/plan.ts';

export interface LoopRecord {
  readonly observation: Observation;
  readonly stateBefore: LoopState;
  readonly scaleUp: readonly ScaleUpPlan[];
  readonly scaleDown: ScaleDownPlan | undefined;
}

/** Keeps decisions so that any of them can be reproduced. Never throws. */
export interface DecisionJournal {
  record(entry: LoopRecord): void;
}
