/** What a scale-up is planned from. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';

/** One observation, the loop's memory, and the users' policy. */
export interface ScaleUpInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Already synced to the observation's cluster; left as found. If absent, the plan makes its own. */
  readonly snapshot?: ClusterSnapshot;
  /** Groups that this loop has already tried. */
  readonly exclude?: ReadonlySet<NodeGroupId>;
  /** If present, this plan is for one ProvisioningRequest alone. */
  readonly request?: RequestTurn;
  /**
   * Whether the time for planning is up. Called before each estimate except the first, with the number of estimates made.
   * If absent, there is no time limit.
   */
  readonly isLate?: (made: number) => boolean;
  /** How many whole plans may be made beside the first. If absent, as many as one loop may make. */
  readonly retries?: number;
}

/** The ProvisioningRequest of this loop, by uid. */
export interface RequestTurn {
  readonly uid: string;
  /** Other requests that were granted in the same loop. */
  readonly granted: readonly string[];
}

/** Pods that take existing room and never cause an increase. */
export interface ExistingRoomPods {
  /** Placed before all other pods. */
  readonly booked: readonly Pod[];
  /** Placed before the pods that may cause an increase; they are planned in another loop. */
  readonly waiting: readonly Pod[];
  /** Placed after all other pods. */
  readonly last: readonly Pod[];
}
