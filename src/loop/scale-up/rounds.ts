/**
 * Plans, writes, and plans again in the same loop after a conflict or a group without capacity. Each round observes the cloud
 * again, so increases by others and by earlier rounds count. Must not know how a plan is made.
 */
import type { AutoscalerError } from '../../lib/errors.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import { NOTHING_DECIDED } from '../../domain/ports/records.ts';
import { plannedObservation } from './planned-observation.ts';
import { decideScaleUpInSlices } from '../../planning/scale-up/plan.ts';
import { type DecidedPlan, explainPlanInSlices } from '../../planning/scale-up/plan-result.ts';
import { FIRST_PLAN, type ScaleUpInput } from '../../planning/scale-up/plan-input.ts';
import { type IsLate, MAX_RETRIES_PER_LOOP } from '../../planning/scale-up/pods/try-limits.ts';
import { isRefusal, refusalRow } from '../../planning/state/failed-increases.ts';
import { reduceIncrease, reduceObservation } from '../../planning/state/loop-state.ts';
import { followedSince } from '../../planning/state/increases/follow-increases.ts';
import { rememberStop } from '../../planning/state/stopped-plans.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import type { StatusWrite } from '../capacity-objects/capacity-statuses.ts';
import type { LoopDeps, LoopOptions } from '../deps/loop-deps.ts';
import type { IncreaseRecord, ScaleUpRound } from '../../domain/loop-report.ts';
import { nominatePods } from './nominate-pods.ts';
import { recordUnhelpedPods, executeScaleUp, type TimedPlan } from './execute.ts';
import type { UnansweredIncreases } from './unanswered-increases.ts';

export interface RoundsInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly snapshot: ClusterSnapshot;
  readonly deps: LoopDeps;
  readonly settings: LoopOptions;
  readonly unanswered: UnansweredIncreases;
  /** Fires when nothing new may begin. */
  readonly stopping: AbortSignal;
  /** Called after each round, so that writes are remembered even if a later round throws. */
  readonly keep: (outcome: RoundsOutcome) => void;
}

export interface RoundsOutcome {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly rounds: readonly ScaleUpRound[];
  /** The last plan of the loop met a conflict, or its time was up before it found anything: the next loop should not wait. */
  readonly replanSoon: boolean;
  /** Nodes were requested, and pods wait only because the plan ended early: the next loop should begin at once. */
  readonly unfinished: boolean;
  /** Statuses to write to ProvisioningRequests. */
  readonly answers: readonly StatusWrite[];
  /** The loop served a ProvisioningRequest while pods were pending: its plan contains no verdicts for them. */
  readonly podsWait: boolean;
}

/** Of a loop that has made no plan. */
export const NOTHING_DONE: Omit<RoundsOutcome, 'observation' | 'state'> = {
  rounds: [],
  replanSoon: false,
  unfinished: false,
  answers: [],
  podsWait: false,
};

type ReplanCause = 'conflict' | 'no-capacity' | 'refused' | 'quota';

/** Plans and writes up to `maxPlansPerLoop` times. */
export async function runScaleUpRounds(input: RoundsInput, signal: AbortSignal): Promise<void> {
  const { deps, settings, snapshot, keep, unanswered } = input;
  const { policy, names } = deps;
  const over = AbortSignal.any([signal, input.stopping]);
  const rounds: ScaleUpRound[] = [];
  const exclude = new Set<NodeGroupId>();
  let { observation, state } = input;
  let planMs = 0;
  for (;;) {
    const limits = { isLate: planningTimer(deps, planMs), retries: retriesLeft(rounds) };
    const timed = await timePlan(
      { ...FIRST_PLAN, observation, state, policy, names, snapshot, exclude: new Set(exclude), ...limits },
      deps,
      over,
    );
    if (timed === undefined) return;
    planMs += timed.planMs;
    // guard: increases are written before pods that stay pending are explained
    const increases = await executeScaleUp({ plan: timed.plan, observation, deps, namespace: settings.namespace, unanswered }, signal);
    const explained = await explainTimed(timed, deps);
    const { plan } = explained;
    rounds.push({ plan, increases });
    state = rememberIncreases(state, increases, observation, policy);
    const cause = replanCause(increases);
    const unfinished = isUnfinished(plan, increases);
    // Kept at once: writes must be remembered even if the next observation fails.
    // guard: the next loop knows where a plan stopped
    const keepRound = (replanSoon: boolean): void => {
      const after = rememberStop(state, plan, observation.loopId);
      keep({ ...NOTHING_DONE, observation, state: after, rounds: [...rounds], replanSoon, unfinished });
    };
    keepRound(cause !== undefined);
    if (cause !== undefined) {
      const seen = { ...observation, cloud: deps.cloud.observe(observation.cluster, observation.nowMs) };
      observation = plannedObservation(seen, state, deps);
      state = reduceObservation(state, observation, policy);
    }
    const worthwhile =
      cause === 'no-capacity' ||
      cause === 'refused' ||
      cause === 'quota' ||
      (cause === 'conflict' && hasTargetMoved(increases, observation));
    keepRound(worthwhile || endedWithoutIncrease(plan));
    if (cause === undefined || !worthwhile || rounds.length >= settings.maxPlansPerLoop || over.aborted) {
      await nominatePods({ plan, observation, state }, { deps, over });
      await recordUnhelpedPods(explained, deps, over);
      return;
    }
    deps.metrics.scaleUp.replans.inc({ cause });
    for (const { increase } of refusedIncreases(increases)) exclude.add(increase.group);
  }
}

/**
 * Whether the next loop continues a plan that reached the limit of new nodes per plan, or its time limit. Each such loop requests
 * nodes, so the number of these loops is bounded by the nodes that pods need.
 */
function isUnfinished(plan: ScaleUpPlan, increases: readonly IncreaseRecord[]): boolean {
  return increases.some(({ outcome }) => outcome.kind === 'accepted' || outcome.kind === 'sent') && hasWaitingPods(plan);
}

/** The time was up before any group was found that helps. The next loop begins with another group. */
function endedWithoutIncrease(plan: ScaleUpPlan): boolean {
  return plan.cutShortAfter !== undefined && plan.increases.length === 0 && hasWaitingPods(plan);
}

function hasWaitingPods({ verdicts }: ScaleUpPlan): boolean {
  for (const verdict of verdicts.values()) if (verdict.kind === 'waiting' && verdict.leftOut !== 'explanation') return true;
  return false;
}

/** A plan that is to be carried out before it is explained. */
interface DecidedRound extends Omit<TimedPlan, 'plan'> {
  readonly plan: DecidedPlan;
}

/** Makes a plan. Returns undefined if it may not be carried out any more. */
async function timePlan(input: ScaleUpInput, deps: LoopDeps, over: AbortSignal): Promise<DecidedRound | undefined> {
  const startMs = deps.clock.monotonic();
  const plan = await deps.turns.finishUnless(over, decideScaleUpInSlices(input));
  if (plan === undefined) return undefined;
  if (plan.cutShortAfter !== undefined) deps.metrics.loop.plansCutShort.inc();
  return over.aborted ? undefined : { input, plan, planMs: deps.clock.monotonic() - startMs };
}

/** Explains and records a plan. No increase waits for that. */
async function explainTimed({ input, plan: decided, planMs }: DecidedRound, deps: LoopDeps): Promise<TimedPlan> {
  const plan = await deps.turns.finish(explainPlanInSlices(decided));
  const { observation, state: stateBefore, policy, exclude } = input;
  deps.journal.record({
    ...NOTHING_DECIDED,
    observation,
    stateBefore,
    scaleUp: [plan],
    scaleDown: undefined,
    policy,
    excluded: [...exclude],
  });
  return { input, plan, planMs };
}

/** Every round makes one plan; this many more are left to the next one. */
function retriesLeft(rounds: readonly ScaleUpRound[]): number {
  return MAX_RETRIES_PER_LOOP - rounds.reduce((made, { plan }) => made + plan.retried, 0);
}

/** The part of the time that searches leave to estimates: without it, pods that are searched in vain would keep the others from new nodes. */
const SHARE_OF_ESTIMATES = 0.5;

/** What limits the time of a plan. */
interface TimedBy {
  readonly clock: Pick<LoopDeps['clock'], 'monotonic'>;
  readonly policy: Policy;
}

/** For one plan of a loop whose earlier plans took `spentMs`: together they are limited, since a long plan is about a world of the past. */
export function planningTimer({ clock, policy }: TimedBy, spentMs: number): IsLate {
  const { maxPlanningMs } = policy.scaleUp;
  const nowMs = clock.monotonic();
  const leftMs = maxPlanningMs - spentMs;
  const endsAt = nowMs + leftMs;
  const searchesEndAt = nowMs + leftMs * (1 - SHARE_OF_ESTIMATES);
  // guard: searches leave time to estimates
  return (_made, searches) => clock.monotonic() >= (searches === undefined ? endsAt : searchesEndAt);
}

/** Adds the group to each outcome, since errors about quota or stock rarely name the VM size. */
export function rememberIncreases(
  state: LoopState,
  increases: readonly IncreaseRecord[],
  { cloud, nowMs, loopId }: Observation,
  policy: Policy,
): LoopState {
  return increases.reduce((next, record) => {
    const group = cloud.groups.find(({ id }) => id === record.increase.group);
    return reduceIncrease(next, { ...record, group, followed: followedSince(record, loopId) }, nowMs, policy);
  }, state);
}

/**
 * Whether a group changed in a conflict. Azure also responds with 409 while an operation of its own runs and the group is
 * unchanged. The same plan would fail the same way, so it waits for the next regular loop.
 */
function hasTargetMoved(increases: readonly IncreaseRecord[], { cloud }: Observation): boolean {
  return increases.some(({ increase, outcome }) => {
    if (outcome.kind !== 'conflict') return false;
    const target = cloud.groups.find(({ id }) => id === increase.group)?.target;
    return target?.known !== true || target.value !== increase.from || target.version !== increase.version;
  });
}

/** A refusal comes first: its pods can be served by another group at once, whatever happened to the others. */
function replanCause(increases: readonly IncreaseRecord[]): ReplanCause | undefined {
  const refused = refusedIncreases(increases);
  if (refused.some(({ outcome }) => outcome.kind === 'failed' && refusalRow(outcome.error.detail)?.times === 'configured'))
    return 'no-capacity';
  if (refused.length > 0) return 'refused';
  if (increases.some(({ outcome }) => outcome.kind === 'conflict')) return 'conflict';
  return increases.some(({ outcome }) => outcome.kind === 'failed' && isCountedQuota(outcome.error)) ? 'quota' : undefined;
}

/** Such a group is increased again in this loop, by what its quota still allows. */
function isCountedQuota({ detail }: AutoscalerError): boolean {
  return detail.kind === 'quota' && detail.counted === true;
}

/** Increases that certainly had no effect and will have none soon. Uncertain cases wait for the next loop. */
function refusedIncreases(increases: readonly IncreaseRecord[]): readonly IncreaseRecord[] {
  return increases.filter(({ outcome }) =>
    outcome.kind === 'failed' ? isRefusal(outcome.error) : outcome.kind === 'refused' && outcome.busy,
  );
}
