/**
 * What one loop remembers for the next, and how it changes. Each reducer takes a state and returns the next one; no value is edited. Must
 * not know how the world is observed or changed.
 * Idea: state.
 */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { AnsweredRecord } from '../../domain/loop-report.ts';
import type {
  BudgetedRemoval,
  FollowedInstances,
  GroupTimes,
  LoopState,
  NodeInDeletion,
  RememberedUnremovable,
} from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { IncreaseOutcome, RemovalOutcome } from '../../domain/outcome.ts';
import type { Increase, UnremovableNode, ScaleDownPlan } from '../../domain/plan.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import type { UnremovableReason } from '../../domain/reasons.ts';
import { NOTHING_REPACKED } from '../../domain/repack.ts';
import { trackHeldGroups } from './held-groups.ts';
import { noteEvictions, withoutDisproved } from './stockouts.ts';
import { withoutForgotten } from './increases/increase-records.ts';
import { reduceDeletions, trackDeletionTaints } from './deletions.ts';
import { close, failIncrease, forgetOldClosures, withAccepted } from './closures.ts';
import { type GroupFailure, refusalRow, refusedIncrease } from './failed-increases.ts';
import { trackIncreases } from './in-flight-increases.ts';
import { rememberAccepted, trackAccepted } from './accepted-increases.ts';
import { followIncreases } from './increases/follow-increases.ts';
import { withoutSent } from './increases/late-answers.ts';
import { followRequests } from './increases/requests-of-increases.ts';
import { LONG_AGO_MS, noteFollowedWriters, settleScaleUpTimes } from './increases/scale-up-times.ts';
import { trackUnregistered } from './unregistered.ts';

/** The state of a new process. */
export function emptyLoopState(nowMs: number): LoopState {
  const longAgo = nowMs - LONG_AGO_MS;
  return {
    unneededSince: new Map(),
    unremovable: new Map(),
    backoffs: new Map(),
    stockouts: [],
    increases: new Map(),
    knowsAccepted: false,
    readyTimes: new Map(),
    startTimes: new Map(),
    broken: new Map(),
    brokenZones: new Map(),
    deleting: new Map(),
    lastScaleUpMs: longAgo,
    lastScaleDownMs: longAgo,
    lastScaleDownFailureMs: longAgo,
    groupTimes: new Map(),
    requests: { served: false, retries: new Map() },
    removals: [],
    emptyRemovals: [],
    budgetedRemovals: [],
    unregisteredSince: undefined,
    heldGroups: new Map(),
    deletionTaints: new Map(),
    stopped: undefined,
    repacks: NOTHING_REPACKED,
    targets: new Map(),
    evictions: new Map(),
  };
}

/** The first reducer of a loop: takes in cloud events, joined nodes and expired entries. Call it once per observation, before planning. */
export function reduceObservation(state: LoopState, observation: Observation, policy: Policy): LoopState {
  const { nowMs } = observation;
  const afterEvents = failuresOf(observation).reduce((next, failure) => failIncrease(next, failure, policy), state);
  const increased = trackIncreases(afterEvents, { observation, before: state.increases }, policy);
  const accepted = trackAccepted(increased, { observation, before: state }, policy);
  const settled = settleScaleUpTimes(noteFollowedWriters(accepted, observation), state, observation);
  const windowStart = nowMs - policy.scaleDown.removalWindowMs;
  const reduced: LoopState = {
    ...forgetOldClosures(
      { ...settled, stockouts: withoutDisproved(settled.stockouts, groupsWithSuccess(observation), nowMs) },
      nowMs,
      policy.backoff,
    ),
    increases: withoutForgotten(followRequests(followIncreases(settled.increases, observation), settled, observation), nowMs),
    deleting: reduceDeletions(settled, observation, policy),
    unregisteredSince: trackUnregistered(settled, observation, policy),
    deletionTaints: trackDeletionTaints(state, observation),
    heldGroups: trackHeldGroups(state, observation),
    unremovable: new Map([...settled.unremovable].filter(([name, entry]) => entry.untilMs > nowMs && observation.cluster.nodes.has(name))),
    removals: settled.removals.filter((startMs) => startMs > windowStart),
    emptyRemovals: settled.emptyRemovals.filter((startMs) => startMs > windowStart),
    budgetedRemovals: settled.budgetedRemovals.filter(({ startedAtMs }) => startedAtMs > windowStart),
  };
  return noteEvictions(reduced, observation, policy.scaleUp);
}

/** Groups with an increase that succeeded completely. */
function groupsWithSuccess({ cloud }: Observation): readonly NodeGroup[] {
  const came = new Set(cloud.events.flatMap((event) => (event.kind === 'increase-succeeded' ? [event.group] : [])));
  return came.size === 0 ? [] : cloud.groups.filter(({ id }) => came.has(id));
}

function failuresOf(observation: Observation): readonly GroupFailure[] {
  return observation.cloud.events.flatMap((event) => {
    if (event.kind !== 'increase-failed') return [];
    const { detail, code, message, correlationId } = event.error;
    // Another writer's change is not the group's fault, and neither is our own shutdown.
    if (detail.kind === 'conflict' || detail.kind === 'cancelled') return [];
    const group = observation.cloud.groups.find((candidate) => candidate.id === event.group);
    return [{ groupId: event.group, group, detail, cause: code, message, correlationId, atMs: event.atMs, waitMs: 0 }];
  });
}

/**
 * Takes in the outcome of one capacity write. Conflicts and refusals change nothing: the plan is made again. `group` supplies size, zone
 * and priority of a stockout if the error does not. `followed`: to say later which instances came of it.
 */
export function reduceIncrease(
  state: LoopState,
  result: {
    readonly increase: Increase;
    readonly outcome: IncreaseOutcome;
    readonly group: NodeGroup | undefined;
    readonly followed: FollowedInstances | undefined;
  },
  nowMs: number,
  policy: Policy,
): LoopState {
  const { increase, outcome } = result;
  if (outcome.kind === 'conflict' || outcome.kind === 'refused' || outcome.kind === 'withheld') return state;
  if (outcome.kind === 'failed') {
    const { group: groupId, error } = outcome;
    const row = refusalRow(error.detail);
    // This increase failed; earlier ones are still in flight.
    return row === undefined ? state : close(state, refusedIncrease({ groupId, group: result.group, atMs: nowMs, error }), row, policy);
  }
  const { group, pods } = increase;
  const nodes = Math.max(0, outcome.target - increase.from);
  const started = outcome.kind === 'accepted' ? (outcome.started ?? 0) : 0;
  const expectedByMs = nowMs + optionsOf(result.group, policy).maxProvisionMs;
  return {
    ...state,
    // guard: a group backs off until a write of it is accepted
    backoffs: outcome.kind === 'sent' ? state.backoffs : withAccepted(state.backoffs, increase.group),
    // guard: an increase remembers the pods that it was made for
    increases: rememberAccepted(state.increases, { group, nodes, started, pods, expectedByMs, followed: result.followed }, nowMs),
    knowsAccepted: true,
    targets: new Map([...state.targets, [increase.group, outcome.target]]),
    lastScaleUpMs: nowMs,
    groupTimes: withTimes(state, increase.group, { scaleUpMs: nowMs }),
  };
}

/** Takes in the answers to increases that earlier loops sent. Call it before the observation is taken in. */
export function reduceAnswers(
  state: LoopState,
  answered: readonly AnsweredRecord[],
  { cloud, nowMs }: Observation,
  policy: Policy,
): LoopState {
  return answered.reduce((next, record) => {
    const { outcome, increase } = record;
    if (outcome.kind === 'accepted') return { ...next, backoffs: withAccepted(next.backoffs, increase.group) };
    const group = cloud.groups.find(({ id }) => id === increase.group);
    return reduceIncrease(withoutSent(next, record), { increase, outcome, group, followed: undefined }, nowMs, policy);
  }, state);
}

/** Keeps the timers of nodes that are still unneeded, and remembers which nodes need no new check for a while. */
export function reduceScaleDownPlan(state: LoopState, plan: ScaleDownPlan, observation: Observation): LoopState {
  const remembered = plan.kept.flatMap((kept) => rememberUnremovable(kept, observation.nowMs));
  return { ...state, unneededSince: plan.unneeded, unremovable: new Map([...state.unremovable, ...remembered]) };
}

type Remembered = readonly [NodeName, RememberedUnremovable];

/** Reasons that took a simulation, or a walk over the pods, to find. The others are cheap and checked in every loop. */
const COSTLY_REASONS: ReadonlySet<UnremovableReason> = new Set(['BlockedByPod', 'NoPlaceToMovePods', 'RoomKeptFree']);

function rememberUnremovable(kept: UnremovableNode, nowMs: number): readonly Remembered[] {
  if (!COSTLY_REASONS.has(kept.reason) || kept.recheckAtMs === undefined || kept.recheckAtMs <= nowMs) return [];
  const { reason, recheckAtMs: untilMs, blocker } = kept;
  const detail = reason === 'RoomKeptFree' ? kept.detail : undefined;
  return [[kept.node, { reason, untilMs, blocker, detail }]];
}

/** What removals change of the state, while their outcomes are taken in. */
interface RemovalChanges {
  readonly deleting: Map<NodeName, NodeInDeletion>;
  readonly unneededSince: Map<NodeName, number>;
  readonly unremovable: Map<NodeName, RememberedUnremovable>;
  readonly groupTimes: Map<NodeGroupId, GroupTimes>;
  readonly removals: number[];
  readonly emptyRemovals: number[];
  readonly budgetedRemovals: BudgetedRemoval[];
  lastScaleDownMs: number;
  lastScaleDownFailureMs: number;
}

/** Takes in the outcomes of background removals since the last call. A thousand may start at once, so the state is copied once for all. */
export function reduceRemovals(state: LoopState, outcomes: readonly RemovalOutcome[], nowMs: number): LoopState {
  if (outcomes.length === 0) return state;
  const changes: RemovalChanges = {
    deleting: new Map(state.deleting),
    unneededSince: new Map(state.unneededSince),
    unremovable: new Map(state.unremovable),
    groupTimes: new Map(state.groupTimes),
    removals: [...state.removals],
    emptyRemovals: [...state.emptyRemovals],
    budgetedRemovals: [...state.budgetedRemovals],
    lastScaleDownMs: state.lastScaleDownMs,
    lastScaleDownFailureMs: state.lastScaleDownFailureMs,
  };
  for (const outcome of outcomes) takeInRemoval(changes, outcome, nowMs);
  return { ...state, ...changes };
}

function takeInRemoval(changes: RemovalChanges, outcome: RemovalOutcome, nowMs: number): void {
  switch (outcome.kind) {
    case 'started': {
      const { node, group, instance, empty, budgeted, atMs } = outcome;
      changes.deleting.set(node, { group, instance, sinceMs: atMs, sentAtMs: undefined });
      changes.unneededSince.delete(node);
      (empty ? changes.emptyRemovals : changes.removals).push(atMs);
      if (budgeted !== undefined) changes.budgetedRemovals.push({ group, cause: budgeted, startedAtMs: atMs });
      return noteScaleDown(changes, group, atMs);
    }
    case 'deleted':
      noteSent(changes, outcome);
      // The entry stays until the node has gone from the cluster: until then the node must not be a candidate again.
      return noteScaleDown(changes, outcome.group, outcome.atMs);
    case 'undone':
      return takeInUndone(changes, outcome, nowMs);
    case 'instances':
      if (outcome.accepted) for (const _instance of outcome.instances) changes.removals.push(outcome.atMs);
  }
}

function noteSent({ deleting }: RemovalChanges, { node, atMs }: Extract<RemovalOutcome, { kind: 'deleted' }>): void {
  const entry = deleting.get(node);
  if (entry !== undefined) deleting.set(node, { ...entry, sentAtMs: atMs });
}

function noteScaleDown(changes: RemovalChanges, group: NodeGroupId, atMs: number): void {
  changes.lastScaleDownMs = Math.max(changes.lastScaleDownMs, atMs);
  changes.groupTimes.set(group, { ...changes.groupTimes.get(group), scaleDownMs: atMs });
}

function takeInUndone(changes: RemovalChanges, outcome: Extract<RemovalOutcome, { kind: 'undone' }>, nowMs: number): void {
  const { node, group, step, atMs } = outcome;
  changes.deleting.delete(node);
  const reason: UnremovableReason = step === 'evict' || step === 'wait' ? 'BlockedByPod' : 'UnexpectedError';
  const verdict = { reason, untilMs: outcome.retryAtMs, blocker: undefined, detail: `its removal failed (${step}): ${outcome.message}` };
  if (outcome.retryAtMs > nowMs) {
    changes.unremovable.set(node, verdict);
  }
  // As in the Cluster Autoscaler: a failed drain delays that node only. A failed write would affect the next node, too, so it starts the
  // cooldown of all; what only this group must not do starts that of the group.
  if (step !== 'taint' && step !== 'delete') return;
  if (!outcome.ofGroup) changes.lastScaleDownFailureMs = Math.max(changes.lastScaleDownFailureMs, atMs);
  changes.groupTimes.set(group, { ...changes.groupTimes.get(group), scaleDownFailureMs: atMs });
}

/** Outcomes of one group arrive in order of time. */
function withTimes(state: LoopState, group: NodeGroupId, times: GroupTimes): ReadonlyMap<NodeGroupId, GroupTimes> {
  return new Map([...state.groupTimes, [group, { ...state.groupTimes.get(group), ...times }]]);
}
