/**
 * The turn of repacking in a loop: plans the next steps, requests new nodes, and takes both into the memory. Old nodes are removed by the
 * plan of removals, which reads that memory. Must not know how a set is found.
 */
import { isReservation } from '../../planning/state/assumed-pods.ts';
import type { IncreaseRecord, RepackReport, ScaleUpRound } from '../../domain/loop-report.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import { type AssumedPod, type Increase, NOTHING_PLANNED, type ScaleDownPlan, type ScaleUpPlan } from '../../domain/plan.ts';
import { optionsOf } from '../../domain/policy.ts';
import type { RepackPolicy } from '../../domain/repack.ts';
import { describePurpose } from '../../planning/explain/pod-owners.ts';
import { sickPools } from '../../planning/facts/sick-nodes.ts';
import { makeScaleDownContext, REMOVALS_ALONE } from '../../planning/scale-down/plan-context.ts';
import { planRepacks, type RepackDecision } from '../../planning/scale-down/repack/repack.ts';
import { noteRepackIncrease } from '../../planning/scale-down/repack/repack-memory.ts';
import { type EndedMoves, planRoom, type RoomDecision, type RoomMove, withFailedTry } from '../../planning/scale-down/room/room.ts';
import { withMoves } from '../../planning/scale-down/repacked-nodes.ts';
import { repacksAny } from '../../planning/scale-down/repack/repack-rules.ts';
import { nominatedPods, planWithAssumedPods, withAssumedPods } from '../../planning/state/assumed-pods.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import type { LoopDeps, LoopOptions } from '../deps/loop-deps.ts';
import { executeScaleUp } from './execute.ts';
import { rememberIncreases } from './rounds.ts';
import type { UnansweredIncreases } from './unanswered-increases.ts';

export interface RepackTurnInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly rounds: readonly ScaleUpRound[];
  /** Of the same loop. */
  readonly plan: ScaleDownPlan;
  /** Pods that its removals counted on nodes to which they are not bound. */
  readonly assumed: readonly AssumedPod[];
  readonly snapshot: ClusterSnapshot;
  readonly deps: LoopDeps;
  readonly settings: LoopOptions;
  readonly unanswered: UnansweredIncreases;
  /** Pods are being moved to make room. */
  readonly isMoving: boolean;
  /** Moves for room that ended since the last loop. */
  readonly endedMoves: EndedMoves;
  /** Fires when nothing new may begin. */
  readonly over: AbortSignal;
}

export interface RepackTurn {
  readonly state: LoopState;
  readonly rounds: readonly ScaleUpRound[];
  readonly repacks: RepackReport;
  /** Pods to move now, so that another one fits. */
  readonly move: RoomMove | undefined;
}

/** undefined: no pool is repacked, none has a sick node, room is made in none, or the loop is over. */
export async function runRepackTurn(given: RepackTurnInput, signal: AbortSignal): Promise<RepackTurn | undefined> {
  const { observation, deps, over, endedMoves } = given;
  const { nowMs } = observation;
  const tried = endedMoves.failed.reduce((memory, failed) => withFailedTry(memory, failed, nowMs), given.state.repacks);
  // A pod that made room is not moved again soon where repacking is on.
  const repacks = withMoves(tried, endedMoves.moved, { groups: observation.cloud.groups, policy: deps.policy });
  const state = repacks === given.state.repacks ? given.state : { ...given.state, repacks };
  const input = { ...given, state };
  const { groups } = observation.cloud;
  const { running, closures, moved, left, rooms } = state.repacks;
  const isIdle = running.length + closures.size + moved.length + left.size + rooms.size === 0;
  const isOn =
    repacksAny(groups, deps.policy) || groups.some((group) => optionsOf(group, deps.policy).makeRoom) || sickPools(observation).length > 0;
  if (isIdle && !isOn) return undefined;
  const decision = await deps.turns.finishUnless(over, planTurn(input));
  if (decision === undefined || over.aborted) return undefined;
  const { begun, ended, memory, increase, move } = decision;
  const decided = { ...state, repacks: memory };
  if (increase === undefined) return { state: decided, rounds: input.rounds, repacks: { begun, ended }, move };
  const records = await request(increase, input, signal);
  const remembered = rememberIncreases(decided, records, observation, deps.policy);
  const noted = noteIncrease(decision, records[0], deps.policy.repack, nowMs);
  return {
    state: { ...remembered, repacks: noted.memory },
    rounds: withRecords(input.rounds, records),
    repacks: { begun, ended: [...ended, ...noted.ended] },
    move,
  };
}

type TurnDecision = RepackDecision &
  Pick<RepackTurn, 'move'> & {
    /** The node that the increase makes room on. undefined: it is another increase. */
    readonly asked: NonNullable<RoomDecision['increase']>['asked'] | undefined;
  };

/** What came of the request for new nodes. */
function noteIncrease({ memory, asked }: TurnDecision, record: IncreaseRecord | undefined, rules: RepackPolicy, nowMs: number) {
  if (record === undefined) return { memory, ended: [] };
  if (asked === undefined) return noteRepackIncrease(memory, record, rules, nowMs);
  const why = whyNone(record);
  return { memory: why === undefined ? memory : withFailedTry(memory, { ...asked, why, waitMs: 0 }, nowMs), ended: [] };
}

/** undefined: the node was requested, or would be but for a dry run. */
function whyNone({ increase: { group }, outcome }: IncreaseRecord): string | undefined {
  const what = `no node of pool ${group} was requested for its pods`;
  if (outcome.kind === 'failed') return `${what}: ${outcome.error.message}`;
  if (outcome.kind === 'refused') return `${what}: ${outcome.reason}`;
  return outcome.kind === 'conflict' ? `${what}: another writer changed its size` : undefined;
}

function planTurn({
  observation,
  state,
  plan,
  assumed,
  snapshot,
  rounds,
  deps,
  isMoving,
}: RepackTurnInput): Generator<undefined, TurnDecision> {
  const { policy, names } = deps;
  const counted = [...assumed, ...nominatedPods({ observation, state })];
  const seen = withAssumedPods(observation, counted);
  return planWithAssumedPods(counted, snapshot, function* () {
    const context = makeScaleDownContext({ ...REMOVALS_ALONE, observation: seen, state, policy, names, snapshot, inSequence: true });
    const decision = yield* planRepacks({ context, names, plan, podsWait: hasComingPods(rounds.at(-1)?.plan) });
    const room = yield* planRoom({ context, names, plan, memory: decision.memory, busy: isMoving });
    // A loop requests one node beside those of its pods: that for room waits for the next one.
    const waits = room.increase !== undefined && decision.increase !== undefined;
    const memory = waits || room.rooms === decision.memory.rooms ? decision.memory : { ...decision.memory, rooms: room.rooms };
    const { increase, asked } =
      decision.increase === undefined && room.increase !== undefined ? room.increase : { ...decision, asked: undefined };
    return { ...decision, memory, increase, asked, move: room.move };
  });
}

/** Pods that no group can help wait for a person, however long. */
const AT_REST: ReadonlySet<string> = new Set(['helpless', 'ignored']);

function hasComingPods(plan: ScaleUpPlan | undefined): boolean {
  if (plan === undefined) return true;
  for (const [pod, { kind }] of plan.verdicts) if (!isReservation(pod) && !AT_REST.has(kind)) return true;
  return false;
}

async function request(increase: Increase, input: RepackTurnInput, signal: AbortSignal): Promise<readonly IncreaseRecord[]> {
  const { observation, deps, settings, unanswered } = input;
  const summary = `+${increase.to - increase.from} ${increase.group} for ${describePurpose(increase)}`;
  const plan: ScaleUpPlan = { ...NOTHING_PLANNED, increases: [increase], summary };
  return executeScaleUp({ plan, observation, deps, namespace: settings.namespace, unanswered }, signal);
}

/** Observers find the increase with those of the last round, whose verdicts stay the last ones. */
function withRecords(rounds: readonly ScaleUpRound[], records: readonly IncreaseRecord[]): readonly ScaleUpRound[] {
  const last = rounds.at(-1);
  return last === undefined ? rounds : [...rounds.slice(0, -1), { ...last, increases: [...last.increases, ...records] }];
}
