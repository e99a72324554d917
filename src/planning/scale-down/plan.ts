/**
 * Scale-down planning decides which nodes are unneeded, which of them are removed now, and why all others are unremovable.
 * Pure: the same observation and state give the same plan. Must not know how a node is drained or deleted; the effects check
 * everything again on fresh data before they begin.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { InstanceRemoval, ScaleDownPlan } from '../../domain/plan.ts';
import { clusterProblem } from '../state/cluster-health.ts';
import { GroupMinimums, remainingAllowance } from './budgets.ts';
import { findCandidates } from './eligibility.ts';
import { stalenessProblem } from '../state/cluster-health.ts';
import { cooldownReason, staleReadReason } from './cooldown.ts';
import { planInstanceRemovals } from './unregistered-instances.ts';
import { nominatedPods, planWithAssumedPods, withAssumedPods } from '../state/assumed-pods.ts';
import { makeScaleDownContext, type ScaleDownContext, type ScaleDownContextInput } from './plan-context.ts';
import { selectRemovals } from './select.ts';
import { findUnneeded, type Unneeded } from './unneeded.ts';
import { finishAtOnce, type SlicedWork } from '../../lib/slices.ts';
import { withForkInSlices } from '../../scheduling/snapshot/snapshot.ts';

export interface PlanScaleDownInput extends ScaleDownContextInput {
  /** True if this loop adds nodes: then it must not remove others. `unknown` if planning the scale-up failed. */
  readonly scaleUpPlanned: boolean | 'unknown';
  /** Whether the time for simulations is up. Called before each node except the first, with the number of nodes simulated. */
  readonly isLate: (made: number) => boolean;
}

/** Decides which nodes are unneeded, which are removed now, and why every other node is unremovable. */
export function planScaleDown(input: PlanScaleDownInput): ScaleDownPlan {
  return finishAtOnce(planScaleDownInSlices(input));
}

/** The same in slices. Nothing else may use the input's snapshot before it ends. */
export function* planScaleDownInSlices(input: PlanScaleDownInput): SlicedWork<ScaleDownPlan> {
  const nominated = nominatedPods(input);
  const observation = withAssumedPods(input.observation, nominated);
  return yield* planWithAssumedPods(nominated, input.snapshot, () => planWithNominated({ ...input, observation }));
}

function* planWithNominated(input: PlanScaleDownInput): SlicedWork<ScaleDownPlan> {
  const context = makeScaleDownContext(input);
  const allowance = remainingAllowance(context);
  const groupMinimums = new GroupMinimums(context);
  const unfit = clusterProblem(input.observation, input.state, input.policy);
  if (unfit?.kind === 'empty') return planWithoutRemovals(unfit.detail, []);
  // Failed instances are no capacity but use quota: they are deleted even if nodes may not be removed. Stale reads forbid both.
  const instanceRemovals = staleReadReason(context) === undefined ? planInstanceRemovals(context, groupMinimums, allowance) : [];
  if (!input.policy.scaleDown.enabled) return planWithoutRemovals('scale-down is disabled', instanceRemovals);
  if (unfit !== undefined) return planWithoutRemovals(`too many nodes are unready: ${unfit.detail}`, instanceRemovals);

  yield;
  const eligibility = findCandidates(context);
  yield;
  const unneeded = yield* withForkInSlices(context.snapshot, () => findUnneeded(context, eligibility, input.isLate));
  yield;
  const inhibited = cooldownReason(context, input.scaleUpPlanned);
  const selection = inhibited === undefined ? selectRemovals(context, unneeded, { allowance, groupMinimums }) : { removals: [], kept: [] };
  const timers = timersOf(context, unneeded.nodes, new Set([...eligibility.pausedBy, ...unneeded.unseen]));
  return {
    unneeded: timers,
    removals: selection.removals,
    instanceRemovals,
    kept: [...eligibility.kept, ...unneeded.kept, ...selection.kept],
    cutShortAfter: unneeded.cutShortAfter,
    inhibited,
    summary: summarizeCounts({ removals: selection.removals.length, instances: instanceRemovals.length, unneeded: timers.size, inhibited }),
  };
}

/**
 * A node that only an exhausted disruption budget blocks, or that was not simulated, keeps its timer but does not start one. On a view of
 * the cluster that is too old all timers start again: whether the nodes were needed meanwhile was not seen.
 */
function timersOf(context: ScaleDownContext, unneeded: readonly Unneeded[], paused: ReadonlySet<NodeName>): ReadonlyMap<NodeName, number> {
  const { observation, policy } = context;
  // guard: time in which the cluster was not seen does not count as unneeded
  if (stalenessProblem(observation.cluster, policy.scaleDown.maxClusterStalenessMs) !== undefined)
    return new Map(unneeded.map(({ node }) => [node.name, observation.nowMs]));
  const timers = new Map(unneeded.map((entry) => [entry.node.name, entry.sinceMs]));
  for (const name of paused) {
    const sinceMs = context.state.unneededSince.get(name);
    if (sinceMs !== undefined) timers.set(name, sinceMs);
  }
  return timers;
}

/** Timers are dropped: what is known at such a time is not reliable. */
function planWithoutRemovals(inhibited: string, instanceRemovals: readonly InstanceRemoval[]): ScaleDownPlan {
  const summary = summarizeCounts({ removals: 0, instances: instanceRemovals.length, unneeded: 0, inhibited });
  return { unneeded: new Map(), removals: [], instanceRemovals, kept: [], cutShortAfter: undefined, inhibited, summary };
}

function summarizeCounts(counts: {
  readonly removals: number;
  readonly instances: number;
  readonly unneeded: number;
  readonly inhibited: string | undefined;
}): string {
  const parts = [`${counts.unneeded} unneeded`, `${counts.removals} to remove`];
  if (counts.instances > 0) parts.push(`${counts.instances} instances to delete`);
  if (counts.inhibited !== undefined) parts.push(counts.inhibited);
  return parts.join(', ');
}
