/**
 * One loop, in order: observe, update the state, undo leftovers, scale up, scale down, soft-taint, publish. A failed step is
 * counted, and later steps run where they still make sense. Only an error that demands an exit ends the process.
 */
import type { LoopState, SavedMemory } from '../domain/loop-state.ts';
import type { Observation } from '../domain/observation.ts';
import type { RemovalOutcome } from '../domain/outcome.ts';
import type { ScaleDownPlan } from '../domain/plan.ts';
import type { Policy } from '../domain/policy.ts';
import { stalenessProblem } from '../planning/state/cluster-health.ts';
import { newForeignDeletionTaints } from '../planning/state/deletions.ts';
import { reduceAnswers, reduceObservation, reduceRemovals } from '../planning/state/loop-state.ts';
import { checkPromises } from '../planning/promises/check-promises.ts';
import { plannedObservation } from './scale-up/planned-observation.ts';
import { endClosures } from '../planning/state/closures.ts';
import { withOnDemandShares } from '../planning/scale-up/pods/on-demand-shares.ts';
import { recallMemory, groupsOfTaintedNodes, removalsBeforeRestart } from '../planning/state/after-restart.ts';
import { isFirstLoop } from '../planning/state/unregistered.ts';
import type { ClusterSnapshot } from '../scheduling/snapshot/cluster-snapshot.ts';
import { capacityStatusWrites, expiredRequests, type CapacityStatuses } from './capacity-objects/capacity-statuses.ts';
import type { LoopDeps, LoopOptions } from './deps/loop-deps.ts';
import type { DrainRunner } from './scale-down/drain-runner.ts';
import { undoLeftovers, withFreedNodes } from './scale-down/deletion-taint.ts';
import { withOwners } from './scale-down/removal-safety.ts';
import type { RoomMaker } from './scale-down/room-maker.ts';
import type { PreemptionResponder } from './scale-down/spot-preemption.ts';
import { runRepackTurn } from './scale-up/repack-turn.ts';
import { runScaleUpTurn } from './scale-up/provisioning-request-turn.ts';
import { type AnsweredRecord, type LoopReport, type LoopTriggerCause, NO_REPACKS, type RepackReport } from '../domain/loop-report.ts';
import { budgetedBeforeRestart } from '../planning/facts/removal-budgets.ts';
import { assumedPodsOf, runRemovalTurn } from './scale-down/removal-turn.ts';
import { NOTHING_DONE, type RoundsOutcome } from './scale-up/rounds.ts';
import type { UnansweredIncreases } from './scale-up/unanswered-increases.ts';
import { updateSoftTaints } from './scale-down/soft-taint.ts';
import { Steps } from './steps.ts';
import { inFlightByGroup } from '../planning/state/increases/increase-records.ts';

interface RunOnceInput {
  readonly loopId: number;
  readonly trigger: LoopTriggerCause;
  readonly state: LoopState;
  /** What an earlier process remembered; undefined if nothing is known, or after the first observation. */
  readonly saved: SavedMemory | undefined;
  /** Groups whose backoffs end now, since an operator asked; `all`: those of all groups. */
  readonly released: ReadonlySet<string> | 'all' | undefined;
  readonly snapshot: ClusterSnapshot;
  readonly runner: DrainRunner;
  readonly responder: PreemptionResponder;
  readonly rooms: RoomMaker;
  readonly unanswered: UnansweredIncreases;
  readonly statuses: CapacityStatuses;
  readonly deps: LoopDeps;
  readonly settings: LoopOptions;
  /** Fires when nothing new may begin. Work under way continues. */
  readonly stopping: AbortSignal;
}

/** The result of the steps so far. Each step replaces it. */
interface Progress extends Omit<RoundsOutcome, 'observation'> {
  readonly observation: Observation | undefined;
  readonly removed: readonly RemovalOutcome[];
  readonly answered: readonly AnsweredRecord[];
  readonly scaleDown: ScaleDownPlan | undefined;
  readonly repacks: RepackReport;
}

/** Runs one loop. Never throws: the report contains every failure. */
export async function runOnce(input: RunOnceInput, signal: AbortSignal): Promise<LoopReport> {
  const { deps, loopId, trigger } = input;
  const log = deps.log.child({ loopId });
  const scoped: RunOnceInput = { ...input, deps: { ...deps, log } };
  const startedAtMs = deps.clock.now();
  const startMonotonicMs = deps.clock.monotonic();
  const steps = new Steps({ ...deps, log });
  deps.turns.begin();
  const progress = await runSteps(scoped, steps, { startedAtMs, signal });
  const durationMs = deps.clock.monotonic() - startMonotonicMs;
  const outcome = isStopping(input, signal) && progress.rounds.length === 0 ? 'cancelled' : outcomeOf(steps, progress, deps.policy);
  deps.metrics.loop.trigger.inc({ trigger });
  deps.metrics.loop.completed.inc({ outcome });
  deps.metrics.loop.duration.observe({ step: 'total' }, durationMs / 1000);
  if (outcome === 'completed') deps.metrics.loop.lastCompleted.set(deps.clock.now() / 1000);
  const { stepMs, failures } = steps;
  return { loopId, trigger, startedAtMs, durationMs, ...progress, stepMs, failures, outcome, prices: deps.policy.scaleUp };
}

/** After a request to stop, plans are no longer carried out. */
function isStopping({ stopping }: RunOnceInput, signal: AbortSignal): boolean {
  return signal.aborted || stopping.aborted;
}

/**
 * A loop with a stale view of the cluster counts as failed, even if every step succeeds: a restart opens new watches. Stale
 * Azure data is no such reason, since a restart would lose what is known.
 */
function outcomeOf(steps: Steps, { observation, rounds }: Progress, policy: Policy): LoopReport['outcome'] {
  if (steps.reactions().has('exit')) return 'exit';
  if (observation === undefined || rounds.length === 0) return 'failed';
  return stalenessProblem(observation.cluster, policy.scaleUp.maxClusterStalenessMs) === undefined ? 'completed' : 'failed';
}

async function runSteps(
  input: RunOnceInput,
  steps: Steps,
  run: { readonly startedAtMs: number; readonly signal: AbortSignal },
): Promise<Progress> {
  const { turns } = input.deps;
  let progress: Progress = {
    ...NOTHING_DONE,
    state: input.state,
    observation: undefined,
    removed: [],
    answered: [],
    scaleDown: undefined,
    repacks: NO_REPACKS,
  };
  const observed = await steps.run('observe', () => observe(input, run.startedAtMs));
  if ('error' in observed) return progress;
  await turns.next();
  const reduced = await steps.run('reduce', () => updateState(input, observed.value));
  if ('error' in reduced) return { ...progress, observation: observed.value };
  const observation = plannedObservation(observed.value, reduced.value.state, input.deps);
  progress = { ...progress, ...reduced.value, observation };
  await turns.next();
  const undone = await steps.run('leftovers', () => undoEarlierRun(input, progress, run.signal));
  if (!('error' in undone)) progress = undone.value;
  await steps.run('preemption', () => respondToPreemptions(input, progress, run.signal));
  progress = await scaleUp(input, steps, progress, run.signal);
  progress = await scaleDown(input, steps, progress, run.signal);
  progress = await repack(input, steps, progress, run.signal);
  await turns.next();
  await steps.run('sync-counts', () => syncCounts(input, progress, run.signal));
  await steps.run('capacity', () => writeCapacityStatuses(input, progress, run.signal));
  await turns.next();
  await steps.run('publish', () => publish(progress, input.deps));
  return progress;
}

/** Each part is frozen before other work has its turn. That the cloud's may be some milliseconds newer is as if its answer had come sooner. */
async function observe({ deps, loopId, snapshot, statuses }: RunOnceInput, nowMs: number): Promise<Observation> {
  const { turns } = deps;
  const whole = deps.cluster.observe(nowMs);
  await turns.next();
  const view = withOnDemandShares(withOwners(deps.cloud.withoutStopped(whole), deps.owners));
  const cluster = { ...view, capacity: statuses.overlay(view.capacity) };
  await turns.next();
  await turns.finish(deps.cloud.prepare(cluster, nowMs));
  await turns.next();
  const cloud = deps.cloud.observe(cluster, nowMs);
  await turns.next();
  await turns.finish(snapshot.syncInSlices(cluster));
  return { loopId, nowMs, cluster, cloud };
}

async function updateState(input: RunOnceInput, observation: Observation): Promise<Pick<Progress, 'state' | 'removed' | 'answered'>> {
  const { deps, runner, unanswered, state: known, saved } = input;
  const removed = runner.collect();
  const answered = unanswered.collect();
  const state = saved === undefined ? known : recallMemory(known, saved, observation, deps.policy.scaleDown);
  const { policy, names, turns } = deps;
  const afterRemovals = reduceRemovals(reduceAnswers(state, answered, observation, policy), removed, observation.nowMs);
  const followed = reduceObservation(afterRemovals, observation, policy);
  await turns.next();
  const released = withReleased(followed, input.released, observation);
  const reduced = await turns.finish(checkPromises({ state: released, before: state, observation, policy, names }));
  for (const node of newForeignDeletionTaints(afterRemovals, reduced, deps.deletionOwner(), observation)) {
    const nodeGroup = observation.cloud.groupOfNode.get(node);
    if (nodeGroup !== undefined) deps.log.warn({ node, nodeGroup }, 'Node is being deleted by another component; not touched for now');
  }
  if (!isFirstLoop(known)) return { state: reduced, removed, answered };
  // In the first loop of a process, removals of an earlier process count in the window too.
  const { maxEmptyRemovalsPerWindow, ...rules } = deps.policy.scaleDown;
  const before = removalsBeforeRestart(observation, rules);
  const emptyBefore = removalsBeforeRestart(observation, { ...rules, maxRemovalsPerWindow: maxEmptyRemovalsPerWindow ?? 0 });
  // guard: a restart gives no budget of removals a second time
  const budgetedRemovals =
    rules.budgets.length === 0 ? [] : budgetedBeforeRestart(reduced.budgetedRemovals, groupsOfTaintedNodes(observation, rules));
  runner.recall(before, emptyBefore, budgetedRemovals);
  const { removals, emptyRemovals } = reduced;
  return {
    state: { ...reduced, removals: [...before, ...removals], emptyRemovals: [...emptyBefore, ...emptyRemovals], budgetedRemovals },
    removed,
    answered,
  };
}

function withReleased(state: LoopState, released: RunOnceInput['released'], { cloud, nowMs }: Observation): LoopState {
  if (released === undefined) return state;
  const groups = cloud.groups.filter(({ id }) => released === 'all' || released.has(id));
  return endClosures(state, groups, nowMs);
}

async function undoEarlierRun({ deps, runner, snapshot }: RunOnceInput, progress: Progress, signal: AbortSignal): Promise<Progress> {
  const { observation, state } = progress;
  if (observation === undefined) return progress;
  const { tainter, events, clock, log, policy, turns } = deps;
  const { cordon } = policy.drain;
  const ours = { state, inFlight: runner.inFlight(), cordon, self: deps.deletionOwner() };
  const freed = await undoLeftovers({ observation, ...ours, tainter, events, clock, log }, signal);
  if (freed.length === 0) return progress;
  const cluster = withFreedNodes(observation.cluster, freed, cordon);
  await turns.finish(snapshot.syncInSlices(cluster));
  return { ...progress, observation: { ...observation, cluster } };
}

async function respondToPreemptions(
  { runner, responder }: RunOnceInput,
  { observation, state }: Progress,
  signal: AbortSignal,
): Promise<void> {
  if (observation === undefined) return;
  await responder.respond(observation, new Set([...runner.inFlight(), ...state.deleting.keys()]), signal);
}

async function scaleUp(input: RunOnceInput, steps: Steps, progress: Progress, signal: AbortSignal): Promise<Progress> {
  const { observation, state } = progress;
  if (observation === undefined || isStopping(input, signal)) return progress;
  let latest: Progress = progress;
  const keep = (outcome: RoundsOutcome): void => {
    latest = { ...progress, ...outcome };
  };
  await steps.run('scale-up', () => runScaleUpTurn({ ...input, observation, state, keep }, signal));
  return latest;
}

async function scaleDown(input: RunOnceInput, steps: Steps, progress: Progress, signal: AbortSignal): Promise<Progress> {
  const { observation } = progress;
  if (observation === undefined || isStopping(input, signal)) return progress;
  const over = AbortSignal.any([signal, input.stopping]);
  const planned = await steps.run('scale-down', () => runRemovalTurn({ ...input, ...progress, observation, over }));
  if ('error' in planned || planned.value === undefined) return progress;
  const { plan, state, removed } = planned.value;
  const { tainter, log, clock, policy } = input.deps;
  await steps.run('soft-taint', () => updateSoftTaints({ plan, observation, tainter, rules: policy.scaleDown, clock, log }, signal));
  return { ...progress, scaleDown: plan, state, removed: [...progress.removed, ...removed] };
}

async function repack(input: RunOnceInput, steps: Steps, progress: Progress, signal: AbortSignal): Promise<Progress> {
  const { observation, scaleDown: plan } = progress;
  const assumed = assumedPodsOf(progress.rounds);
  if (observation === undefined || plan === undefined || assumed === 'unknown' || isStopping(input, signal)) return progress;
  const over = AbortSignal.any([signal, input.stopping]);
  const moves = { isMoving: input.rooms.isBusy, endedMoves: input.rooms.collect() };
  const made = await steps.run('repack', () =>
    runRepackTurn({ ...input, ...progress, ...moves, observation, plan, assumed, over }, signal),
  );
  if ('error' in made || made.value === undefined) return progress;
  const { move, ...turn } = made.value;
  if (move !== undefined && !isStopping(input, signal)) input.rooms.begin(move);
  return { ...progress, ...turn };
}

/** Not while anything of ours goes on in a group: an increase that is not over, or a node that is leaving. */
async function syncCounts(input: RunOnceInput, { observation, state, rounds, scaleDown }: Progress, signal: AbortSignal): Promise<void> {
  const { cloud } = input.deps;
  if (observation === undefined || isStopping(input, signal)) return;
  const leaving = [...input.runner.inFlight(), ...state.deleting.keys(), ...(scaleDown?.removals ?? []).map(({ node }) => node)];
  const busy = new Set([
    ...inFlightByGroup(state).keys(),
    ...rounds.flatMap(({ increases }) => increases.map(({ outcome }) => outcome.group)),
    ...leaving.flatMap((node) => observation.cloud.groupOfNode.get(node) ?? []),
  ]);
  await cloud.syncCounts(busy, signal);
}

async function writeCapacityStatuses(
  { deps, statuses }: RunOnceInput,
  { observation, state, answers }: Progress,
  signal: AbortSignal,
): Promise<void> {
  if (observation === undefined) return;
  const { policy, names } = deps;
  await statuses.write(capacityStatusWrites({ observation, state, policy, names, answers }), signal);
  if (policy.capacity.requests) await statuses.remove(expiredRequests(observation, policy.capacity), signal);
}

function publish({ observation, state, rounds, podsWait }: Progress, { gauges, policy }: LoopDeps): void {
  if (observation === undefined) return;
  gauges.observation(observation, state, policy);
  const last = rounds.at(-1);
  // While requests and pods take turns, the gauges keep the result of the pods' last turn. They would flap otherwise.
  if (last !== undefined && !podsWait) gauges.verdicts(last.plan, observation.nowMs);
}
