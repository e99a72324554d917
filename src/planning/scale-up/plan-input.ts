/** What a scale-up is planned from. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';

/** One observation, what is remembered, and what the users want. */
export interface ScaleUpInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Already synced to the observation's cluster; left as found. Absent: one is made. */
  readonly snapshot?: ClusterSnapshot;
  /** Groups that this loop has tried already. */
  readonly exclude?: ReadonlySet<NodeGroupId>;
  /** Set: this plan is for a request alone, by uid; `granted`: others that were granted in the same loop. */
  readonly request?: RequestTurn;
  /** Whether the time for planning is up; asked before each estimate but the first, with how many were made. Absent: never. */
  readonly isLate?: (made: number) => boolean;
}

/** Which request has its turn. */
export interface RequestTurn {
  readonly uid: string;
  readonly granted: readonly string[];
}

/** Pods that take what room there is and ask for no more. */
export interface Claims {
  /** Before anybody else. */
  readonly booked: readonly Pod[];
  /** Before those that ask: whose turn it is not. */
  readonly waiting: readonly Pod[];
  /** After all others. */
  readonly last: readonly Pod[];
}
