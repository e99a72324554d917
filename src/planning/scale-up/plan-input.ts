/** What a scale-up is planned from. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy } from '../../domain/policy.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { type IsLate, MAX_RETRIES_PER_LOOP, NEVER_LATE, type TryLimits } from './pods/try-limits.ts';

/** One observation, the loop's memory, and the users' policy. */
export interface ScaleUpInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Already synced to the observation's cluster; left as found. undefined: the plan makes its own. */
  readonly snapshot: ClusterSnapshot | undefined;
  /** Groups that this loop has already tried. */
  readonly exclude: ReadonlySet<NodeGroupId>;
  /** The ProvisioningRequest that this plan is for, alone. undefined: it is for pods. */
  readonly request: RequestTurn | undefined;
  readonly isLate: IsLate;
  /** The most pairs of a kind of pods and a node group that the plan explains. */
  readonly mostExplained: number;
  /** How many whole plans may be made beside the first. */
  readonly retries: number;
}

/** Half a second, after which the next loop should begin. */
const MOST_EXPLAINED = 50_000;

/** The first plan of a loop, for pods, without a limit of time. */
export const FIRST_PLAN = {
  snapshot: undefined,
  exclude: new Set<NodeGroupId>(),
  request: undefined,
  isLate: NEVER_LATE,
  mostExplained: MOST_EXPLAINED,
  retries: MAX_RETRIES_PER_LOOP,
} satisfies Partial<ScaleUpInput>;

/** The ProvisioningRequest of this loop, by uid. */
export interface RequestTurn {
  readonly uid: string;
  /** Other requests that were granted in the same loop. */
  readonly granted: readonly string[];
}

/** The pods of one plan, and how they are served. */
export interface PodsToPlan {
  /** Pods that may cause an increase. */
  readonly pods: readonly Pod[];
  /** Verdicts on pending pods that may not. */
  readonly ignored: ReadonlyMap<Pod, PodVerdict>;
  /** Pods that get existing room before those that may cause an increase; they are planned in another loop. */
  readonly waiting: readonly Pod[];
  /** Pods that get existing room after all other pods. */
  readonly last: readonly Pod[];
  /** Whether pods of higher priority are served first if capacity is short. */
  readonly byPriority: boolean;
  /** Buffers get what all other pods leave, of nodes on their way and of new nodes, too. If not, all are packed together. */
  readonly buffersLast: boolean;
  readonly tries: TryLimits;
}
