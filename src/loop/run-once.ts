/**
 * One loop, in order: observe, take in what happened, undo leftovers, grow, shrink, mark, publish. A step that fails is
 * counted and the rest goes on where it still makes sense; nothing here kills the daemon but an error that says exit.
 */
import type { LoopState } from '../domain/loop-state.ts';
import type { Observation } from '../domain/observation.ts';
import type { RemovalOutcome } from '../domain/outcome.ts';
import type { HeldRoom, ScaleDownPlan } from '../domain/plan.ts';
import type { Policy } from '../domain/policy.ts';
import { arrivingPods, withHeldRoom } from '../planning/state/reserved-room.ts';
import { tooStale } from '../planning/state/cluster-health.ts';
import { planScaleDown } from '../planning/scale-down/plan.ts';
import { newMarksOfOthers } from '../planning/state/deletions.ts';
import { reduceObservation, reduceRemovals, reduceScaleDownPlan } from '../planning/state/loop-state.ts';
import { removedBefore } from '../planning/state/after-restart.ts';
import type { ClusterSnapshot } from '../scheduling/snapshot/cluster-snapshot.ts';
import { capacityWishes, outdatedRequests, type CapacityStatuses, type StatusWish } from './capacity-objects/statuses.ts';
import type { LoopDeps, LoopSettings } from './deps/loop-deps.ts';
import type { DrainRunner } from './scale-down/drain-runner.ts';
import { undoLeftovers } from './scale-down/deletion-taint.ts';
import { withOwners } from './scale-down/removal-safety.ts';
import type { PreemptionResponder } from './scale-down/spot-preemption.ts';
import { runTurn } from './scale-up/provisioning-request-turn.ts';
import type { LoopReport, LoopTriggerCause, ScaleUpRound } from '../domain/loop-report.ts';
import { executeScaleDown } from './scale-down/execute.ts';
import type { RoundsOutcome } from './scale-up/rounds.ts';
import { updateSoftTaints } from './scale-down/soft-taint.ts';
import { Steps } from './steps.ts';
import { withFork } from '../scheduling/snapshot/fork.ts';

export interface RunOnceInput {
  readonly loopId: number;
  readonly trigger: LoopTriggerCause;
  readonly state: LoopState;
  readonly snapshot: ClusterSnapshot;
  readonly runner: DrainRunner;
  readonly responder: PreemptionResponder;
  /** Absent: nobody who asks for capacity is answered. */
  readonly statuses?: CapacityStatuses | undefined;
  readonly deps: LoopDeps;
  readonly settings: LoopSettings;
  /** Fires when nothing new shall be begun; what is under way goes on. */
  readonly stopping: AbortSignal;
}

/** What the loop has come to so far; replaced as the steps go. */
interface Progress {
  readonly state: LoopState;
  readonly observation: Observation | undefined;
  readonly removed: readonly RemovalOutcome[];
  readonly rounds: readonly ScaleUpRound[];
  readonly scaleDown: ScaleDownPlan | undefined;
  readonly unsettled: boolean;
  readonly answers?: readonly StatusWish[];
  readonly podsWait?: boolean;
}

/** Never throws: the report says what failed. */
export async function runOnce(input: RunOnceInput, signal: AbortSignal): Promise<LoopReport> {
  const { deps, loopId, trigger } = input;
  const log = deps.log.child({ loopId });
  const scoped: RunOnceInput = { ...input, deps: { ...deps, log } };
  const startedAtMs = deps.clock.now();
  const startMonotonicMs = deps.clock.monotonic();
  const steps = new Steps({ ...deps, log });
  const progress = await advance(scoped, steps, { startedAtMs, signal });
  const durationMs = deps.clock.monotonic() - startMonotonicMs;
  const outcome = isOver(input, signal) && progress.rounds.length === 0 ? 'cancelled' : outcomeOf(steps, progress, deps.policy);
  deps.metrics.loop.trigger.inc({ trigger });
  deps.metrics.loop.completed.inc({ outcome });
  deps.metrics.loop.duration.observe({ step: 'total' }, durationMs / 1000);
  if (outcome === 'completed') deps.metrics.loop.lastCompleted.set(deps.clock.now() / 1000);
  const { stepMs, failures } = steps;
  return { loopId, trigger, startedAtMs, durationMs, ...progress, stepMs, failures, outcome, prices: deps.policy.scaleUp };
}

/** Asked to end: what has been thought out by now is not begun any more. */
function isOver({ stopping }: RunOnceInput, signal: AbortSignal): boolean {
  return signal.aborted || stopping.aborted;
}

/**
 * A loop that sees the cluster as it was long ago decides nothing, however well it runs: it must not keep the process
 * looking healthy, since a new one has new watches. Azure's silence is no such reason: a new process would lose what is known.
 */
function outcomeOf(steps: Steps, { observation, rounds }: Progress, policy: Policy): LoopReport['outcome'] {
  if (steps.reactions().has('exit')) return 'exit';
  if (observation === undefined || rounds.length === 0) return 'failed';
  return tooStale(observation.cluster, policy.scaleUp.maxClusterStalenessMs) === undefined ? 'completed' : 'failed';
}

interface Run {
  readonly startedAtMs: number;
  readonly signal: AbortSignal;
}

async function advance(input: RunOnceInput, steps: Steps, run: Run): Promise<Progress> {
  let progress: Progress = { state: input.state, observation: undefined, removed: [], rounds: [], scaleDown: undefined, unsettled: false };
  const observed = await steps.run('observe', () => observe(input, run.startedAtMs));
  if ('error' in observed) return progress;
  const reduced = await steps.run('reduce', () => takeIn(input, observed.value));
  if ('error' in reduced) return { ...progress, observation: observed.value };
  progress = { ...progress, ...reduced.value, observation: observed.value };
  await steps.run('leftovers', () => undo(input, progress, run.signal));
  await steps.run('preemption', () => respond(input, progress, run.signal));
  progress = await grow(input, steps, progress, run.signal);
  progress = await shrink(input, steps, progress, run.signal);
  await steps.run('capacity', () => answerCapacity(input, progress, run.signal));
  await steps.run('publish', () => publish(progress, input.deps));
  return progress;
}

function observe({ deps, loopId, snapshot, statuses }: RunOnceInput, nowMs: number): Observation {
  const seen = withOwners(deps.cluster.observe(nowMs), deps.owners);
  const { capacity } = seen;
  const cluster = capacity === undefined || statuses === undefined ? seen : { ...seen, capacity: statuses.overlay(capacity) };
  const cloud = deps.cloud.observe(cluster, nowMs);
  snapshot.sync(cluster);
  return { loopId, nowMs, cluster, cloud };
}

function takeIn({ deps, runner, state }: RunOnceInput, observation: Observation): Pick<Progress, 'state' | 'removed'> {
  const removed = runner.collect();
  const afterRemovals = reduceRemovals(state, removed, observation.nowMs);
  const reduced = reduceObservation(afterRemovals, observation, deps.policy);
  for (const node of newMarksOfOthers(afterRemovals, reduced)) {
    const nodeGroup = observation.cloud.groupOfNode.get(node);
    if (nodeGroup !== undefined)
      deps.log.warn({ node, nodeGroup }, 'Somebody else marked a node as to be deleted; it is left to them for now.');
  }
  if (state.targets !== undefined) return { state: reduced, removed };
  // The first loop of a process: what was removed in this window counts, whoever did it.
  const before = removedBefore(observation, deps.policy.scaleDown);
  runner.recall(before);
  return { state: { ...reduced, removals: [...before, ...reduced.removals] }, removed };
}

async function undo({ deps, runner }: RunOnceInput, { observation, state }: Progress, signal: AbortSignal): Promise<void> {
  if (observation === undefined) return;
  const { tainter, events, log, policy } = deps;
  await undoLeftovers({ observation, state, inFlight: runner.inFlight(), tainter, events, log, cordon: policy.drain.cordon }, signal);
}

async function respond({ runner, responder }: RunOnceInput, { observation, state }: Progress, signal: AbortSignal): Promise<void> {
  if (observation === undefined) return;
  await responder.respond(observation, new Set([...runner.inFlight(), ...state.deleting.keys()]), signal);
}

async function grow(input: RunOnceInput, steps: Steps, progress: Progress, signal: AbortSignal): Promise<Progress> {
  const { observation, state } = progress;
  if (observation === undefined || isOver(input, signal)) return progress;
  let grown: Progress = progress;
  const keep = (outcome: RoundsOutcome): void => {
    grown = { ...progress, ...outcome };
  };
  await steps.run('scale-up', () => runTurn({ ...input, observation, state, keep }, signal));
  return grown;
}

async function shrink(input: RunOnceInput, steps: Steps, progress: Progress, signal: AbortSignal): Promise<Progress> {
  const { observation } = progress;
  if (observation === undefined || isOver(input, signal)) return progress;
  const planned = await steps.run('scale-down', () => planAndBegin(input, progress, observation, signal));
  if ('error' in planned || planned.value === undefined) return progress;
  const { plan, state, removed } = planned.value;
  const { tainter, log, clock, policy } = input.deps;
  await steps.run('soft-taint', () => updateSoftTaints({ plan, observation, tainter, rules: policy.scaleDown, clock, log }, signal));
  return { ...progress, scaleDown: plan, state, removed: [...progress.removed, ...removed] };
}

/** Removals are looked at without a pause: meanwhile no lease is renewed. */
function simulationTimer({ clock, policy }: LoopDeps): () => boolean {
  const endsAtMs = clock.monotonic() + (policy.scaleDown.maxSimulationMs ?? Number.POSITIVE_INFINITY);
  return () => clock.monotonic() >= endsAtMs;
}

/** A dry run's wish for nodes may stand for days, and must not hide what it would remove. */
function meansToGrow({ plan, increases }: ScaleUpRound): boolean {
  const isWish = increases.length > 0 && increases.every(({ outcome }) => outcome.kind === 'withheld');
  return plan.increases.length > 0 && !isWish;
}

/** undefined: asked to end before anything was begun. */
function planAndBegin(input: RunOnceInput, progress: Progress, observation: Observation, signal: AbortSignal) {
  const { deps, runner, snapshot } = input;
  const { policy, names, log, metrics } = deps;
  // A scale-up that failed as a whole leaves open what pods need, and may have asked for nodes before it did.
  const last = progress.rounds.at(-1)?.plan;
  const held = last?.held ?? [];
  const isOpen = progress.rounds.length === 0 || held === 'unknown';
  const scaleUpPlanned = isOpen ? 'unknown' : progress.rounds.some(meansToGrow);
  const rooms = [...(held === 'unknown' ? [] : held), ...(last === undefined ? [] : arrivingPods(last))];
  const seen = withHeldRoom(observation, rooms);
  const plan = holding(rooms, snapshot, () =>
    planScaleDown({ observation: seen, state: progress.state, policy, names, snapshot, scaleUpPlanned, isLate: simulationTimer(deps) }),
  );
  if (plan.cutShortAfter !== undefined) metrics.loop.plansCutShort.inc();
  deps.journal.record({ observation: seen, stateBefore: progress.state, scaleUp: [], scaleDown: plan, policy, scaleUpPlanned });
  if (isOver(input, signal)) return undefined;
  const planned = reduceScaleDownPlan(progress.state, plan, observation, policy);
  executeScaleDown({ plan, runner, log, metrics });
  // What has begun is taken in at once: the next loop, and a crash of a later step, must know of it.
  const removed = runner.collect();
  return { plan, removed, state: reduceRemovals(planned, removed, observation.nowMs) };
}

/** The snapshot has the pods for which room is kept while the plan is made, and not after it. */
function holding<Plan>(rooms: readonly HeldRoom[], snapshot: ClusterSnapshot, plan: () => Plan): Plan {
  if (rooms.length === 0) return plan();
  return withFork(snapshot, () => {
    for (const { pod, node } of rooms) snapshot.addPod({ ...pod, nodeName: node }, node);
    return plan();
  });
}

async function answerCapacity(
  { deps, statuses }: RunOnceInput,
  { observation, state, answers = [] }: Progress,
  signal: AbortSignal,
): Promise<void> {
  if (observation === undefined || statuses === undefined) return;
  const { policy, names } = deps;
  await statuses.write(capacityWishes({ observation, state, policy, names, answers }), signal);
  if (policy.capacity?.requests === true) await statuses.remove(outdatedRequests(observation, policy.capacity), signal);
}

function publish({ observation, state, rounds, podsWait = false }: Progress, { gauges }: LoopDeps): void {
  if (observation === undefined) return;
  gauges.observation(observation, state);
  const last = rounds.at(-1);
  // Else the gauges would change from loop to loop while requests and pods take turns: what the pods' last turn found stands.
  if (last !== undefined && !podsWait) gauges.verdicts(last.plan, observation.nowMs);
}
