/**
 * Scale-up planning decides which groups grow, to what size, for which pods, and why all other groups do not. Pure: reads
 * one observation and the loop's memory, and leaves the snapshot as it was. Must not know how a size is written.
 */
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import { MAX_CLUSTER_PODS } from '../../domain/platform-limits.ts';
import { finishAtOnce, type SlicedWork } from '../../lib/slices.ts';
import { bufferPods } from '../capacity-objects/buffer-pods.ts';
import { requestPods } from '../capacity-objects/provisioning-requests.ts';
import { allBuffers, hasHeadroom, headroomDemands } from './groups/headroom.ts';
import { inTurns } from './pods/search-order.ts';
import { gpuIndexes, reasonToIgnore } from './pods/unschedulable-pods.ts';
import { expectedPods } from './pods/expected-pods.ts';
import { sortGangs, type StartingGang } from './pods/starting-gangs.ts';
import type { PodsToPlan, RequestTurn, ScaleUpInput } from './plan-input.ts';
import { planForPods } from './plan-for-pods.ts';
import { planWholeGangs } from './plan-whole-gangs.ts';
import { type DecidedPlan, explainPlanInSlices } from './plan-result.ts';
import { TryLimits } from './pods/try-limits.ts';

/** Pending pods that may cause an increase, and the verdicts on those that may not. */
interface SortedPods extends Pick<PodsToPlan, 'pods' | 'ignored'> {
  /** Gangs that have not started. */
  readonly gangs: readonly StartingGang[];
}

/**
 * Decides which groups grow, for which pods, and why, for every pending pod and every group.
 * @throws AutoscalerError `config` if the list of expanders is invalid.
 */
export function planScaleUp(input: ScaleUpInput): ScaleUpPlan {
  return finishAtOnce(planScaleUpInSlices(input));
}

/** The same in slices. Nothing else may use the input's snapshot before it ends. */
export function* planScaleUpInSlices(input: ScaleUpInput): SlicedWork<ScaleUpPlan> {
  return yield* explainPlanInSlices(yield* decideScaleUpInSlices(input));
}

/** The plan without the explanation of pods that stay pending, which {@link explainPlanInSlices} adds after its increases are written. */
export function* decideScaleUpInSlices(input: ScaleUpInput): SlicedWork<DecidedPlan> {
  const tries = new TryLimits(input);
  const sorted = sortPendingPods(input);
  const { request } = input;
  const plan = yield* request === undefined ? planForPending(input, sorted, tries) : planForRequest(input, request, sorted, tries);
  const { retried, searchedUntilLate, cutShortAfter } = tries;
  return { ...plan, retried, cutShortAfter, searchedUntilLate };
}

function* planForPending(input: ScaleUpInput, { pods, ignored, gangs }: SortedPods, tries: TryLimits): SlicedWork<DecidedPlan> {
  const { observation, policy } = input;
  const toPlan: PodsToPlan = { pods, ignored, waiting: [], last: [], byPriority: true, buffersLast: false, tries };
  const expected = expectedPods(observation, policy.scaleUp, pods.length);
  const buffers = injectableBufferPods(input, pods.length + expected.pods.length);
  const injects = policy.scaleUp.proactive || policy.capacity.bufferInjection || hasHeadroom(input);
  if (!injects) return yield* planPods(input, toPlan, gangs);
  const plan = yield* planPods(input, { ...toPlan, pods: [...pods, ...expected.pods, ...buffers.pods] }, gangs);
  const injected = expected.pods.length + buffers.pods.length;
  return { ...plan, injection: { injected, skipped: expected.skipped + buffers.skipped } };
}

function planPods(input: ScaleUpInput, toPlan: PodsToPlan, gangs: readonly StartingGang[]): SlicedWork<DecidedPlan> {
  return gangs.length === 0 ? planForPods(input, toPlan) : planWholeGangs(input, toPlan, gangs);
}

/** The plan of a loop for a ProvisioningRequest: pods keep the room they have; the next loop plans what they lack. */
function planForRequest(
  input: ScaleUpInput,
  { uid }: RequestTurn,
  { pods: waiting, ignored }: SortedPods,
  tries: TryLimits,
): SlicedWork<DecidedPlan> {
  const { observation, state } = input;
  const { capacity } = observation.cluster;
  const request = capacity.requests.find(({ ref }) => ref.uid === uid);
  return planForPods(input, {
    pods: request === undefined ? [] : (requestPods(request, capacity, observation.nowMs) ?? []),
    ignored,
    waiting: inTurns(waiting, state.stopped?.searched),
    last: injectableBufferPods(input, 0).pods,
    byPriority: false,
    buffersLast: false,
    tries,
  });
}

/** Pods of buffers and of headroom, as many as the injection limit allows beside `others` pods. */
function injectableBufferPods(input: ScaleUpInput, others: number): { readonly pods: readonly Pod[]; readonly skipped: number } {
  const { observation, policy } = input;
  const ready = allBuffers(input, headroomDemands(input));
  const allowed = Math.max(0, Math.min(MAX_CLUSTER_PODS, policy.scaleUp.podInjectionLimit) - others);
  const pods = bufferPods(ready, observation.nowMs, Math.min(allowed, MAX_CLUSTER_PODS));
  return { pods, skipped: ready.reduce((sum, { replicas }) => sum + replicas, 0) - pods.length };
}

/** The number of pending pods that may cause an increase. */
export function countUnschedulablePods(input: Pick<ScaleUpInput, 'observation' | 'state' | 'policy' | 'names'>): number {
  return sortPendingPods(input).pods.length;
}

function sortPendingPods(input: Pick<ScaleUpInput, 'observation' | 'state' | 'policy' | 'names'>): SortedPods {
  const { observation, policy, names } = input;
  const pods: Pod[] = [];
  const ignored = new Map<Pod, PodVerdict>();
  const gpus = gpuIndexes(names);
  for (const pod of observation.cluster.pendingPods) {
    const consumes = policy.capacity.requests && pod.annotations.consumes !== undefined;
    const reason = consumes ? 'consumes-request' : reasonToIgnore(pod, input, gpus);
    if (reason === undefined) pods.push(pod);
    else ignored.set(pod, { kind: 'ignored', reason });
  }
  const { asking, ...sorted } = sortGangs(observation.cluster, { asking: pods, ignored });
  return { pods: asking, ...sorted };
}
