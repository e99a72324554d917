/**
 * ProvisioningRequests: which one is served next, which bookings still hold, and which requests are over. Upstream `provisioningrequest`,
 * with one difference: room that a consuming pod occupies is not reserved a second time. Pure.
 */
import {
  conditionOf,
  isTrue,
  withCondition,
  type CapacityObjects,
  type CapacityStatus,
  type ObjectProblem,
  type ProvisioningRequest,
} from '../../domain/capacity-objects.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { ClusterView, Observation } from '../../domain/observation.ts';
import { MAX_CLUSTER_PODS } from '../../domain/platform-limits.ts';
import type { Pod } from '../../domain/pod.ts';
import type { CapacityPolicy } from '../../domain/policy.ts';
import { virtualPod } from './buffer-pods.ts';
import { type Closure, nextDurationMs } from '../../lib/closure.ts';
import { compareText } from '../../lib/comparison.ts';

const CHECK = 'check-capacity.autoscaling.x-k8s.io';
const ATOMIC = 'best-effort-atomic-scale-up.autoscaling.x-k8s.io';
/** How long granted room is reserved for pods that do not arrive. */
const BOOKING_MS = 600_000;
/** A request that was never granted fails after this time. A request that is over is deleted after it. */
const WEEK_MS = 7 * 24 * 3_600_000;
/** A pod template may be seen later than the request that names it. */
const TEMPLATE_MS = 60_000;

export function isCheck({ className }: ProvisioningRequest): boolean {
  return className === CHECK;
}

function isServed(request: ProvisioningRequest, policy: CapacityPolicy): boolean {
  if (request.className === ATOMIC) return true;
  const { processorInstance } = request.parameters;
  return isCheck(request) && (processorInstance ?? '') === policy.processorInstance;
}

function isOver({ status }: ProvisioningRequest): boolean {
  return ['Failed', 'BookingExpired', 'CapacityRevoked'].some((type) => isTrue(status, type));
}

/** Requests that may be served now, the oldest first. */
export function dueRequests({ cluster, nowMs }: Observation, state: LoopState, policy: CapacityPolicy): readonly ProvisioningRequest[] {
  const { capacity } = cluster;
  if (!policy.requests) return [];
  return capacity.requests
    .filter((request) => request.problem === undefined && isServed(request, policy) && !isOver(request))
    .filter((request) => !isTrue(request.status, 'Provisioned'))
    .filter(({ ref }) => (state.requests.retries.get(ref.uid)?.untilMs ?? 0) <= nowMs)
    .filter((request) => nowMs - request.ref.createdAtMs <= WEEK_MS && hasTemplates(request, capacity))
    .toSorted((left, right) => left.ref.createdAtMs - right.ref.createdAtMs || compareText(left.ref.uid, right.ref.uid));
}

function hasTemplates({ ref, podSets }: ProvisioningRequest, { podTemplates }: CapacityObjects): boolean {
  return podSets.every(({ podTemplate }) => podTemplates?.has(`${ref.namespace}/${podTemplate}`) === true);
}

/** The pods that the request needs room for. undefined if a pod template is missing. */
export function requestPods(
  request: ProvisioningRequest,
  objects: CapacityObjects,
  nowMs: number,
  origin: 'request' | 'booking' = 'request',
) {
  const pods: Pod[] = [];
  for (const [at, { podTemplate, count }] of request.podSets.entries()) {
    const template = objects.podTemplates?.get(`${request.ref.namespace}/${podTemplate}`);
    if (template === undefined) return undefined;
    for (let index = 0; index < count; index++) {
      const name = `${request.ref.name}-${at}-${index}`;
      pods.push(virtualPod(request.ref, { name, uid: `${request.ref.uid}-${at}-${index}`, shape: template.shape, origin, nowMs }));
    }
  }
  return pods;
}

/** Pods that stand for granted room that is not used yet. `granted` are requests granted in this loop. */
export function bookedPods({ cluster, nowMs }: Observation, granted: readonly string[] = []): readonly Pod[] {
  const { capacity } = cluster;
  const taken = consumersByRequest(cluster);
  let left = MAX_CLUSTER_PODS;
  return capacity.requests.flatMap((request) => {
    const isGranted = granted.includes(request.ref.uid);
    if (isOver(request) || (!isGranted && !isBookedAt(request.status, nowMs))) return [];
    // All bookings together cannot hold more pods than a cluster can run.
    if (podCount(request) > left) return [];
    left -= podCount(request);
    const pods = requestPods(request, capacity, nowMs, 'booking') ?? [];
    return withoutConsumed(pods, taken.get(requestName(request)) ?? []);
  });
}

function podCount({ podSets }: ProvisioningRequest): number {
  return podSets.reduce((sum, { count }) => sum + count, 0);
}

function isBookedAt(status: CapacityStatus, nowMs: number): boolean {
  const provisioned = conditionOf(status, 'Provisioned');
  return provisioned?.status === 'True' && nowMs - provisioned.sinceMs <= BOOKING_MS;
}

/** Drops one booked pod for each consuming pod that is bound: one with equal requests if there is one, else any. */
function withoutConsumed(claims: readonly Pod[], taken: readonly Pod[]): readonly Pod[] {
  const left = [...claims];
  for (const pod of taken) {
    const alike = left.findIndex(({ shape }) => shape.requests.every((amount, index) => amount === (pod.shape.requests[index] ?? 0)));
    left.splice(Math.max(0, alike), 1);
  }
  return left;
}

/** Bound pods by the request that they consume. */
function consumersByRequest({ podsByNode }: ClusterView): ReadonlyMap<string, readonly Pod[]> {
  const byRequest = new Map<string, Pod[]>();
  for (const pods of podsByNode.values()) {
    for (const pod of pods) {
      const { consumes } = pod.annotations;
      if (consumes === undefined) continue;
      const place = `${pod.namespace}/${consumes}`;
      byRequest.set(place, [...(byRequest.get(place) ?? []), pod]);
    }
  }
  return byRequest;
}

function requestName({ ref }: ProvisioningRequest): string {
  return `${ref.namespace}/${ref.name}`;
}

/** The result of a request's turn. `undecided`: no result yet. `unchecked`: the plan could not be made. */
export type RequestOutcome = 'found' | 'provisioned' | 'not-found' | 'undecided' | 'unchecked';

/** The status after a turn. */
export function statusAfterTurn(request: ProvisioningRequest, outcome: RequestOutcome, nowMs: number): CapacityStatus {
  const observedGeneration = request.ref.generation;
  if (outcome === 'undecided') return request.status;
  const accepted = withCondition(
    request.status,
    { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'The request is being served.', observedGeneration },
    nowMs,
  );
  const withResult = (type: string, status: 'True' | 'False', reason: string, message: string): CapacityStatus =>
    withCondition(accepted, { type, status, reason, message, observedGeneration }, nowMs);
  if (outcome === 'found') return withResult('Provisioned', 'True', 'CapacityIsFound', 'There is room for all of its pods.');
  if (outcome === 'provisioned')
    return withResult('Provisioned', 'True', 'CapacityIsProvisioned', 'Nodes for all of its pods were requested.');
  if (outcome === 'unchecked')
    return withResult('Provisioned', 'False', 'FailedToCheckCapacity', 'The capacity could not be checked; the check is retried.');
  const message = 'There is no room for all of its pods.';
  if (isCheck(request) && request.parameters['noRetry'] === 'true') return withResult('Failed', 'True', 'CapacityIsNotFound', message);
  return withResult('Provisioned', 'False', 'CapacityIsNotFound', message);
}

/** The status after time passed, pods arrived, or nodes failed (`broken`). Returns the present status itself if nothing changes. */
export function statusOverTime(
  request: ProvisioningRequest,
  { cluster, nowMs }: Observation,
  policy: CapacityPolicy,
  broken: string | undefined,
): CapacityStatus {
  const { status, ref } = request;
  if (isOver(request) || !isServed(request, policy)) return status;
  const withResult = (type: string, reason: string, message: string): CapacityStatus =>
    withCondition(status, { type, status: 'True', reason, message, observedGeneration: ref.generation }, nowMs);
  if (isTrue(status, 'Provisioned')) {
    const wanted = podCount(request);
    if ((consumersByRequest(cluster).get(requestName(request)) ?? []).length >= wanted)
      return withResult('BookingExpired', 'CapacityBookingConsumed', 'All of its pods are bound to nodes.');
    if (!isBookedAt(status, nowMs))
      return withResult('BookingExpired', 'CapacityReservationTimeExpired', 'Capacity reservation time is expired');
    if (broken !== undefined) return withResult('CapacityRevoked', 'CapacityIsNotFound', `Not all of its nodes could be added: ${broken}`);
    if (lacksTemplate(request, cluster) && nowMs - (conditionOf(status, 'Provisioned')?.sinceMs ?? nowMs) > TEMPLATE_MS)
      return withResult('Failed', 'FailedToBookCapacity', 'A pod template that it names no longer exists.');
    return status;
  }
  const problem = problemOverTime(request, cluster, nowMs - ref.createdAtMs);
  return problem === undefined ? status : withResult('Failed', problem.reason, problem.message);
}

/** Why a request that was not granted can never be. */
function problemOverTime(request: ProvisioningRequest, cluster: ClusterView, ageMs: number): ObjectProblem | undefined {
  if (request.problem !== undefined) return request.problem;
  if (ageMs > WEEK_MS) return { reason: 'Expired', message: 'ProvisioningRequest is expired' };
  return !lacksTemplate(request, cluster) || ageMs <= TEMPLATE_MS
    ? undefined
    : { reason: 'FailedToCreatePods', message: 'A pod template that it names does not exist.' };
}

/** Whether a template is certainly missing. If templates cannot be read, none counts as missing. */
function lacksTemplate({ ref, podSets }: ProvisioningRequest, { capacity }: ClusterView): boolean {
  const templates = capacity.podTemplates;
  return templates !== undefined && podSets.some(({ podTemplate }) => !templates.has(`${ref.namespace}/${podTemplate}`));
}

/** Requests that are over for so long that they are deleted. */
export function staleRequests({ cluster, nowMs }: Observation, policy: CapacityPolicy): readonly ProvisioningRequest[] {
  const ended = ({ status }: ProvisioningRequest): number =>
    Math.min(
      ...['Failed', 'BookingExpired'].map((type) => (isTrue(status, type) ? (conditionOf(status, type)?.sinceMs ?? Infinity) : Infinity)),
    );
  return cluster.capacity.requests.filter((request) => isServed(request, policy) && nowMs - ended(request) > WEEK_MS);
}

/** Doubles the wait after each turn without room, up to a limit. The oldest entries are dropped first. */
export function rememberTurn(
  state: LoopState,
  uid: string,
  outcome: RequestOutcome,
  input: { readonly policy: CapacityPolicy; readonly nowMs: number },
): LoopState {
  const retries = new Map<string, Closure>(state.requests.retries);
  const before = retries.get(uid);
  retries.delete(uid);
  if (outcome === 'not-found') {
    const { requestInitialBackoffMs, requestMaxBackoffMs } = input.policy;
    const durationMs = nextDurationMs({ firstMs: requestInitialBackoffMs, longestMs: requestMaxBackoffMs }, before);
    retries.set(uid, { durationMs, untilMs: input.nowMs + durationMs });
  }
  const oldest = retries.keys().next().value;
  if (retries.size > input.policy.requestBackoffs && oldest !== undefined) retries.delete(oldest);
  return { ...state, requests: { ...state.requests, served: true, retries } };
}
