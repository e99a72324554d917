import { AutoscalerError } from '../../domain/errors.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPlan } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { Snapshot } from '../../scheduling/snapshot.ts';

export interface PlanScaleDownInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Holds the registered nodes with their pods; left as it was found. */
  readonly snapshot: Snapshot;
  /** True when this loop asks for nodes: it must not take others away in the same breath. */
  readonly scaleUpPlanned: boolean;
}

/** Decides which nodes are unneeded, which go now, and says for every other node why it stays. */
export function planScaleDown(_input: PlanScaleDownInput): ScaleDownPlan {
  throw new AutoscalerError({ kind: 'bug' }, 'The scale-down planner has not landed yet.');
}
