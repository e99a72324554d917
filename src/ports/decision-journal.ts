import type { NodeGroupId } from '../domain/ids.ts';
import type { LoopState } from '../domain/loop-state.ts';
import type { Observation } from '../domain/observation.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../domain/plan.ts';
import type { Policy } from '../domain/policy.ts';

/** One decision with everything it was made from: a scale-up plan, a scale-down plan, or both from the same inputs. */
export interface LoopRecord {
  readonly observation: Observation;
  readonly stateBefore: LoopState;
  readonly scaleUp: readonly ScaleUpPlan[];
  readonly scaleDown: ScaleDownPlan | undefined;
  /** What a replay needs besides. */
  readonly policy?: Policy;
  /** Groups that the loop had tried before this plan. */
  readonly excluded?: readonly NodeGroupId[];
  /** The request whose turn it was, and those that were granted before it in the same loop; absent: it was the pods'. */
  readonly request?: { readonly uid: string; readonly granted: readonly string[] };
  /** Whether the loop had asked for nodes before the scale-down plan. */
  readonly scaleUpPlanned?: boolean | 'unknown';
}

/** Keeps decisions so that any of them can be reproduced. Never throws. */
export interface DecisionJournal {
  record(entry: LoopRecord): void;
}
