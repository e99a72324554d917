/**
 * A loop that is a request's: the capacity that it asks for is looked for or ordered, as a whole or not at all, and it is
 * told. Loops of requests and loops of pods take turns when both wait. Decides nothing itself.
 */
import type { ProvisioningRequest } from '../../domain/capacity-objects.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import {
  answeredStatus,
  dueRequests,
  isCheck,
  rememberTurn,
  type RequestOutcome,
} from '../../planning/capacity-objects/provisioning-requests.ts';
import { rememberOrder } from '../../planning/capacity-objects/request-orders.ts';
import { askingPods, planScaleUp } from '../../planning/scale-up/plan.ts';
import type { StatusWish } from '../capacity-objects/statuses.ts';
import type { LoopDeps } from '../deps/loop-deps.ts';
import type { IncreaseRecord, ScaleUpRound } from '../../domain/loop-report.ts';
import { planTimer, rememberIncreases, runScaleUpRounds, type RoundsInput } from './rounds.ts';
import { executeScaleUp } from './execute.ts';

/** Serves requests or pods, whoever's turn it is. */
export async function runTurn(input: RoundsInput, signal: AbortSignal): Promise<void> {
  const { observation, state, deps, keep } = input;
  const { capacity } = deps.policy;
  const due = capacity === undefined ? [] : dueRequests(observation, state, capacity);
  if (due.length === 0) return runScaleUpRounds({ ...input, state: theirsNext(state) }, signal);
  const podsWait = askingPods({ observation, policy: deps.policy, names: deps.names }) > 0;
  if (!podsWait || state.requests?.served !== true) return serve(input, { due, podsWait }, signal);
  return runScaleUpRounds({ ...input, state: theirsNext(state), keep: (outcome) => keep({ ...outcome, unsettled: true }) }, signal);
}

function theirsNext(state: LoopState): LoopState {
  return state.requests?.served === true ? { ...state, requests: { ...state.requests, served: false } } : state;
}

interface Queue {
  readonly due: readonly ProvisioningRequest[];
  readonly podsWait: boolean;
}

async function serve(input: RoundsInput, { due, podsWait }: Queue, signal: AbortSignal): Promise<void> {
  const { deps, observation, keep } = input;
  const { capacity } = deps.policy;
  const [first] = due;
  if (first === undefined || capacity === undefined) return;
  const turns = isCheck(first) ? due.filter(isCheck).slice(0, capacity.checksPerLoop) : [first];
  const endsAt = deps.clock.monotonic() + capacity.checksTimeboxMs;
  const over = AbortSignal.any([signal, input.stopping]);
  const granted: string[] = [];
  const rounds: ScaleUpRound[] = [];
  const answers: StatusWish[] = [];
  let { state } = input;
  for (const request of turns) {
    if (over.aborted || (rounds.length > 0 && deps.clock.monotonic() >= endsAt)) return;
    const plan = planTurn(input, { uid: request.ref.uid, granted: [...granted] }, state);
    // What a later turn would add is what the first one has added already.
    const increases =
      rounds.length > 0 ? [] : await executeScaleUp({ plan, observation, deps, namespace: input.settings.namespace }, signal);
    const outcome = outcomeOf(plan, increases);
    if (outcome === 'found' || outcome === 'provisioned') granted.push(request.ref.uid);
    rounds.push({ plan, increases });
    answers.push({ ref: request.ref, before: request.status, after: answeredStatus(request, outcome, observation.nowMs) });
    state = rememberTurn(rememberIncreases(state, increases, observation, deps.policy), request.ref.uid, outcome, {
      policy: capacity,
      nowMs: observation.nowMs,
    });
    say(request, outcome, deps);
    if (outcome === 'provisioned' && !isCheck(request)) state = rememberOrder(state, request.ref.uid, increases, observation.nowMs);
    const unsettled = podsWait || due.length > rounds.length;
    // Kept at once: what was written must be remembered even when the next turn fails.
    keep({ observation, state, rounds: [...rounds], unsettled, answers: [...answers], podsWait });
  }
}

function planTurn(
  { deps, observation, snapshot }: RoundsInput,
  request: { readonly uid: string; readonly granted: readonly string[] },
  state: LoopState,
) {
  const { policy, names, journal } = deps;
  const plan = planScaleUp({ observation, state, policy, names, snapshot, request, isLate: planTimer(deps) });
  journal.record({ observation, stateBefore: state, scaleUp: [plan], scaleDown: undefined, policy, request });
  return plan;
}

/** A conflict, a plan that was cut short or one that could not be made says nothing of the request: it is tried again. */
function outcomeOf(plan: ScaleUpPlan, increases: readonly IncreaseRecord[]): RequestOutcome {
  const verdicts = [...plan.verdicts].filter(([pod]) => pod.holds === 'request').map(([, verdict]) => verdict);
  // A cluster that nobody may grow is no answer, but it is one that people want to see.
  if (verdicts.some(({ kind }) => kind === 'waiting')) return 'unchecked';
  if (verdicts.some(({ kind }) => kind === 'helpless')) return plan.cutShortAfter === undefined ? 'not-found' : 'undecided';
  if (verdicts.every(({ kind }) => kind !== 'triggered')) return 'found';
  const writes = increases.filter(({ increase }) => increase.cause === 'pods').map(({ outcome }) => outcome.kind);
  if (writes.every((kind) => kind === 'accepted')) return 'provisioned';
  return writes.includes('failed') || writes.includes('refused') ? 'not-found' : 'undecided';
}

function say({ ref, className }: ProvisioningRequest, outcome: RequestOutcome, { log }: LoopDeps): void {
  log.info({ namespace: ref.namespace, request: ref.name, className, outcome }, 'a request for capacity had its turn');
}
