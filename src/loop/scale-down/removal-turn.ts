/**
 * The turn of removals in a loop: plans them from what the scale-up came to, records the plan, and starts what it removes. Must not know how
 * a node is drained.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { ScaleUpRound } from '../../domain/loop-report.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { RemovalOutcome } from '../../domain/outcome.ts';
import type { AssumedPod, ScaleDownPlan } from '../../domain/plan.ts';
import { NOTHING_DECIDED } from '../../domain/ports/records.ts';
import { groupSizes } from '../../planning/facts/removal-budgets.ts';
import { waitedGroupsInSlices } from '../../planning/scale-down/full-groups.ts';
import { REMOVALS_ALONE } from '../../planning/scale-down/plan-context.ts';
import { planScaleDownInSlices } from '../../planning/scale-down/plan.ts';
import { withMovedPods } from '../../planning/scale-down/repacked-nodes.ts';
import { cancellableInstances } from '../../planning/scale-up/cancelled-increases.ts';
import { arrivingPods, planWithAssumedPods, withAssumedPods } from '../../planning/state/assumed-pods.ts';
import { reduceRemovals, reduceScaleDownPlan } from '../../planning/state/loop-state.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import type { LoopDeps } from '../deps/loop-deps.ts';
import type { DrainRunner } from './drain-runner.ts';
import { executeScaleDown } from './execute.ts';

interface RemovalTurnInput {
  readonly observation: Observation;
  readonly state: LoopState;
  /** Of the scale-up of the same loop. Empty: it failed as a whole. */
  readonly rounds: readonly ScaleUpRound[];
  readonly snapshot: ClusterSnapshot;
  readonly runner: DrainRunner;
  readonly deps: LoopDeps;
  /** Fires when nothing new may begin. */
  readonly over: AbortSignal;
}

interface RemovalTurn {
  readonly plan: ScaleDownPlan;
  readonly state: LoopState;
  /** Removals that ended since the loop began. */
  readonly removed: readonly RemovalOutcome[];
}

/** Returns undefined after a request to stop: then nothing was started. */
export async function runRemovalTurn(input: RemovalTurnInput): Promise<RemovalTurn | undefined> {
  const { observation, deps, runner, over } = input;
  const { policy, log, metrics, turns } = deps;
  const { groups } = observation.cloud;
  const plan = await planRemovals(input);
  if (plan === undefined || over.aborted) return undefined;
  const planned = reduceScaleDownPlan(input.state, plan, observation);
  // Not counted without a budget that needs them.
  const sizes = policy.scaleDown.budgets.length === 0 ? undefined : groupSizes(observation);
  await executeScaleDown({ plan, groups, sizes, runner, log, metrics, turns, over });
  // Started removals enter the state at once: the next loop needs them even if a later step fails.
  const removed = runner.collect();
  const reduced = reduceRemovals(planned, removed, observation.nowMs);
  const repacks = withMovedPods(reduced.repacks, { removals: plan.removals, outcomes: removed }, { groups, policy });
  return { plan, removed, state: { ...reduced, repacks } };
}

async function planRemovals(input: RemovalTurnInput): Promise<ScaleDownPlan | undefined> {
  const { observation, state, rounds, deps, snapshot, over } = input;
  const { policy, names, turns } = deps;
  const last = rounds.at(-1)?.plan;
  const reserved = assumedPodsOf(rounds);
  // If the scale-up failed as a whole, the need of the pods is unknown, and nodes may have been requested before the failure.
  const isOpen = rounds.length === 0 || reserved === 'unknown';
  const scaleUpPlanned: boolean | 'unknown' = isOpen ? 'unknown' : rounds.some(plansIncrease);
  const assumed = reserved === 'unknown' ? arriving(last) : reserved;
  const seen = withAssumedPods(observation, assumed);
  const fullGroups =
    last === undefined ? new Map<NodeGroupId, string>() : await turns.finish(waitedGroupsInSlices(last, { observation, names }));
  const cancelled = cancellableInstances({ observation, state, policy, names, snapshot }, isOpen ? undefined : last);
  const decided = { scaleUpPlanned, fullGroups, cancellable: await turns.finish(cancelled) };
  const scaleDownInput = {
    ...REMOVALS_ALONE,
    ...decided,
    observation: seen,
    state,
    policy,
    names,
    snapshot,
    isLate: simulationTimer(deps),
  };
  const plan = await turns.finishUnless(
    over,
    planWithAssumedPods(assumed, snapshot, () => planScaleDownInSlices(scaleDownInput)),
  );
  if (plan === undefined) return undefined;
  if (plan.cutShortAfter !== undefined) deps.metrics.loop.plansCutShort.inc();
  deps.journal.record({ ...NOTHING_DECIDED, ...decided, observation: seen, stateBefore: state, scaleUp: [], scaleDown: plan, policy });
  return plan;
}

/** Pods that the last plan counts on nodes to which they are not bound. */
export function assumedPodsOf(rounds: readonly ScaleUpRound[]): readonly AssumedPod[] | 'unknown' {
  const last = rounds.at(-1)?.plan;
  const reserved = last?.reserved ?? [];
  return reserved === 'unknown' ? reserved : [...reserved, ...arriving(last)];
}

function arriving(plan: ScaleUpRound['plan'] | undefined): readonly AssumedPod[] {
  return plan === undefined ? [] : arrivingPods(plan);
}

/** A loop that simulates removals serves no pods: hence the limit. */
function simulationTimer({ clock, policy }: LoopDeps): () => boolean {
  const endsAtMs = clock.monotonic() + policy.scaleDown.maxSimulationMs;
  return () => clock.monotonic() >= endsAtMs;
}

/** An increase that a dry run withholds may repeat for days. It must not hide the removals that would be made. */
function plansIncrease({ plan, increases }: ScaleUpRound): boolean {
  const isWithheld = increases.length > 0 && increases.every(({ outcome }) => outcome.kind === 'withheld');
  return plan.increases.length > 0 && !isWithheld;
}
