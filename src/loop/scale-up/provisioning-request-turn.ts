/**
 * A loop that serves ProvisioningRequests instead of pods: capacity is checked or requested as a whole or not at all, and the
 * result becomes the request's status. If both wait, requests and pods take turns. Must not know how a plan is made.
 */
import type { ProvisioningRequest } from '../../domain/capacity-objects.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import { NOTHING_DECIDED } from '../../domain/ports/records.ts';
import {
  statusAfterTurn,
  dueRequests,
  isCheck,
  rememberTurn,
  type RequestOutcome,
} from '../../planning/capacity-objects/provisioning-requests.ts';
import { madeForRequest } from '../../planning/state/increases/requests-of-increases.ts';
import { countUnschedulablePods, decideScaleUpInSlices } from '../../planning/scale-up/plan.ts';
import { FIRST_PLAN, type RequestTurn } from '../../planning/scale-up/plan-input.ts';
import { type DecidedPlan, explainPlanInSlices } from '../../planning/scale-up/plan-result.ts';
import type { StatusWrite } from '../capacity-objects/capacity-statuses.ts';
import type { LoopDeps } from '../deps/loop-deps.ts';
import type { IncreaseRecord, ScaleUpRound } from '../../domain/loop-report.ts';
import { NOTHING_DONE, planningTimer, rememberIncreases, runScaleUpRounds, type RoundsInput } from './rounds.ts';
import { executeScaleUp } from './execute.ts';

/** Serves requests or pods, by turns. */
export async function runScaleUpTurn(input: RoundsInput, signal: AbortSignal): Promise<void> {
  const { observation, state, deps, keep } = input;
  const { capacity } = deps.policy;
  const due = capacity === undefined ? [] : dueRequests(observation, state, capacity);
  if (due.length === 0) return runScaleUpRounds({ ...input, state: withPodsNext(state) }, signal);
  const podsWait = countUnschedulablePods({ observation, state, policy: deps.policy, names: deps.names }) > 0;
  if (!podsWait || !state.requests.served) return serveRequests(input, { due, podsWait }, signal);
  return runScaleUpRounds({ ...input, state: withPodsNext(state), keep: (outcome) => keep({ ...outcome, replanSoon: true }) }, signal);
}

function withPodsNext(state: LoopState): LoopState {
  return state.requests.served ? { ...state, requests: { ...state.requests, served: false } } : state;
}

interface Queue {
  readonly due: readonly ProvisioningRequest[];
  readonly podsWait: boolean;
}

async function serveRequests(input: RoundsInput, { due, podsWait }: Queue, signal: AbortSignal): Promise<void> {
  const { deps, observation, keep } = input;
  const { capacity } = deps.policy;
  const [first] = due;
  if (first === undefined || capacity === undefined) return;
  const turns = isCheck(first) ? due.filter(isCheck).slice(0, capacity.checksPerLoop) : [first];
  const endsAt = deps.clock.monotonic() + capacity.checksTimeboxMs;
  const over = AbortSignal.any([signal, input.stopping]);
  const granted: string[] = [];
  const rounds: ScaleUpRound[] = [];
  const answers: StatusWrite[] = [];
  let { state } = input;
  for (const request of turns) {
    if (over.aborted || (rounds.length > 0 && deps.clock.monotonic() >= endsAt)) return;
    const turn = { uid: request.ref.uid, granted: [...granted] };
    const decided = await decideTurn(input, turn, state, over);
    if (decided === undefined) return;
    // Only the first turn writes: the increases of later turns would be the same.
    // The status says what became of the whole request, so its writes are waited for.
    const writes = { plan: decided, observation, deps, namespace: input.settings.namespace, unanswered: undefined };
    const increases = rounds.length > 0 ? [] : await executeScaleUp(writes, signal);
    const plan = await deps.turns.finish(explainPlanInSlices(decided));
    deps.journal.record({
      ...NOTHING_DECIDED,
      observation,
      stateBefore: state,
      scaleUp: [plan],
      scaleDown: undefined,
      policy: deps.policy,
      request: turn,
    });
    const outcome = requestOutcome(plan, increases);
    if (outcome === 'found' || outcome === 'provisioned') granted.push(request.ref.uid);
    rounds.push({ plan, increases });
    answers.push({ ref: request.ref, before: request.status, after: statusAfterTurn(request, outcome, observation.nowMs) });
    state = rememberTurn(rememberIncreases(state, increases, observation, deps.policy), request.ref.uid, outcome, {
      policy: capacity,
      nowMs: observation.nowMs,
    });
    logTurn(request, outcome, deps);
    if (outcome === 'provisioned' && !isCheck(request))
      state = { ...state, increases: madeForRequest(state.increases, request.ref.uid, increases, observation.loopId) };
    const replanSoon = podsWait || due.length > rounds.length;
    // Kept at once: writes must be remembered even if the next turn fails.
    keep({ ...NOTHING_DONE, observation, state, rounds: [...rounds], replanSoon, answers: [...answers], podsWait });
  }
}

function decideTurn(
  { deps, observation, snapshot }: RoundsInput,
  request: RequestTurn,
  state: LoopState,
  over: AbortSignal,
): Promise<DecidedPlan | undefined> {
  const { policy, names } = deps;
  const input = { ...FIRST_PLAN, observation, state, policy, names, snapshot, request, isLate: planningTimer(deps, 0) };
  return deps.turns.finishUnless(over, decideScaleUpInSlices(input));
}

/** A conflict, or a plan that failed or was cut short, is no result for the request: it is tried again. */
function requestOutcome(plan: ScaleUpPlan, increases: readonly IncreaseRecord[]): RequestOutcome {
  const verdicts = [...plan.verdicts].filter(([pod]) => pod.origin === 'request').map(([, verdict]) => verdict);
  // If the cluster may not grow, the request remains open, but its status shows it.
  if (verdicts.some(({ kind }) => kind === 'waiting')) return 'unchecked';
  if (verdicts.some(({ kind }) => kind === 'helpless')) return plan.cutShortAfter === undefined ? 'not-found' : 'undecided';
  if (verdicts.every(({ kind }) => kind !== 'triggered')) return 'found';
  const writes = increases.filter(({ increase }) => increase.cause === 'pods').map(({ outcome }) => outcome);
  if (writes.every(({ kind }) => kind === 'accepted')) return 'provisioned';
  return writes.some(isRefused) ? 'not-found' : 'undecided';
}

/** A group that was only busy may take the same write in the next loop. */
function isRefused(outcome: IncreaseOutcome): boolean {
  return outcome.kind === 'failed' || (outcome.kind === 'refused' && outcome.busy !== true);
}

function logTurn({ ref, className }: ProvisioningRequest, outcome: RequestOutcome, { log }: LoopDeps): void {
  log.info({ namespace: ref.namespace, request: ref.name, className, outcome }, 'ProvisioningRequest evaluated');
}
