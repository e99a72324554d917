/** One decision on increases and removals, as a loop would make it, or as a recorded loop made it. */
import type { LoopState } from '../../../domain/loop-state.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { Policy } from '../../../domain/policy.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import { waitedGroups, type FullGroups } from '../../../planning/scale-down/full-groups.ts';
import { REMOVALS_ALONE } from '../../../planning/scale-down/plan-context.ts';
import { planScaleDown, type PlanScaleDownInput } from '../../../planning/scale-down/plan.ts';
import { planScaleUp } from '../../../planning/scale-up/plan.ts';
import { FIRST_PLAN, type ScaleUpInput } from '../../../planning/scale-up/plan-input.ts';
import type { FileContent } from './missing-kinds.ts';
import { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';

export interface PlanInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Kinds of owners that the file does not contain: owners of these kinds are assumed to exist. Default: none. */
  readonly assumedOwnerKinds?: readonly string[];
  /** Pods that were deleted before they had a node. Default: none. */
  readonly deletedPods?: readonly Pod[];
  /** Where the moment of the plan comes from: `the newest time in the file`. */
  readonly source?: string;
  /** What the file contains. Absent for other sources, which lack nothing. */
  readonly file?: FileContent;
  /** Of the prices. Absent if it is unknown. */
  readonly currency?: string;
  /** How far ahead schedules are shown, milliseconds. If absent, not at all. */
  readonly scheduleForMs?: number;
  /** If present, a loop of the daemon had this input, and its decision is repeated. */
  readonly recorded?: RecordedTurn;
}

/** What the recorded loop had decided before, whose turn it was, and where its time ended. */
export interface RecordedTurn {
  readonly scaleUp: Pick<ScaleUpInput, 'exclude' | 'request' | 'isLate' | 'mostExplained'>;
  /** undefined: the loop did not decide on removals. */
  readonly scaleDown: Pick<PlanScaleDownInput, 'scaleUpPlanned' | 'fullGroups' | 'cancellable' | 'isLate'> | undefined;
}

/** The decision of a loop: the one that was recorded, or the one that a loop would make. */
export interface PlannedLoop {
  readonly input: ScaleUpInput;
  readonly scaleUp: ScaleUpPlan;
  readonly scaleDown: ScaleDownPlan;
  /** What the removals were planned from. */
  readonly observation: Observation;
}

export function planLoop(input: PlanInput): PlannedLoop {
  const { recorded } = input;
  const scaleUpInput = { ...FIRST_PLAN, ...input, ...(recorded?.scaleUp ?? { mostExplained: Number.POSITIVE_INFINITY }) };
  const scaleUp = planScaleUp(scaleUpInput);
  // The removals of a recorded loop were decided on the observation itself.
  const observation = recorded?.scaleDown === undefined ? withBoundPods(input.observation, scaleUp) : input.observation;
  const scaleDown = planRemovals(input, observation, waitedGroups(scaleUp, { observation, names: input.names }));
  return { input: scaleUpInput, scaleUp, scaleDown, observation };
}

function planRemovals(
  { observation: _original, recorded, ...input }: PlanInput,
  observation: Observation,
  full: FullGroups,
): ScaleDownPlan {
  const snapshot = new ClusterSnapshot({ names: input.names });
  snapshot.sync(observation.cluster);
  return planScaleDown({
    ...REMOVALS_ALONE,
    ...input,
    observation,
    snapshot,
    scaleUpPlanned: false,
    fullGroups: full,
    ...recorded?.scaleDown,
  });
}

/** Binds pods that fit on existing nodes: the scheduler would do so before nodes are removed. */
function withBoundPods(observation: Observation, { verdicts }: ScaleUpPlan): Observation {
  const podsByNode = new Map(observation.cluster.podsByNode);
  const bound = new Set<Pod>();
  for (const [pod, verdict] of verdicts) {
    if (verdict.kind !== 'fits-present-node' || pod.nodeName !== undefined) continue;
    bound.add(pod);
    podsByNode.set(verdict.node, [...(podsByNode.get(verdict.node) ?? []), { ...pod, nodeName: verdict.node, unschedulable: undefined }]);
  }
  const pendingPods = observation.cluster.pendingPods.filter((pod) => !bound.has(pod));
  return { ...observation, cluster: { ...observation.cluster, podsByNode, pendingPods } };
}
