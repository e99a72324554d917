import { AutoscalerError } from '../../domain/errors.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { ClusterSnapshot } from '../../scheduling/cluster-snapshot.ts';

export interface ScaleUpInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Already synced to the observation's cluster; left as found. Absent: one is made. */
  readonly snapshot?: ClusterSnapshot;
  /** Groups that this loop has tried already. */
  readonly exclude?: ReadonlySet<NodeGroupId>;
}

/** Decides which groups grow, for which pods, and says why for every pending pod and every group. */
export function planScaleUp(_input: ScaleUpInput): ScaleUpPlan {
  throw new AutoscalerError({ kind: 'bug' }, 'The scale-up planner has not landed yet.');
}
