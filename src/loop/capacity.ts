/** What a loop has to say to those who limit, reserve and ask for capacity. Gathers; the words are planning's. */
import type { CapacityObjectRef, CapacityStatus } from '../domain/capacity-objects.ts';
import type { LoopState } from '../domain/loop-state.ts';
import type { Observation } from '../domain/observation.ts';
import type { CapacityPolicy, Policy } from '../domain/policy.ts';
import type { ResourceNames } from '../domain/resources.ts';
import { allowances } from '../planning/buffers/quotas.ts';
import { bufferStatus } from '../planning/buffers/status.ts';
import { quotaStatus } from '../planning/quotas/status.ts';
import { brokenOrder } from '../planning/requests/orders.ts';
import { agedStatus, staleRequests } from '../planning/requests/requests.ts';
import type { StatusWish } from './capacity-statuses.ts';

export interface CapacityInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** What requests were answered in this loop. */
  readonly answers?: readonly StatusWish[];
}

/** Statuses as they should be, those that are so already included. */
export function capacityWishes({ observation, state, policy, names, answers = [] }: CapacityInput): readonly StatusWish[] {
  const { cluster, nowMs } = observation;
  const { capacity: objects } = cluster;
  if (objects === undefined || policy.capacity === undefined) return [];
  const { bufferController: controls, bufferInjection: injects } = policy.capacity;
  const nodes = [...cluster.nodes.values()];
  const quotas = (objects.quotas ?? []).map((quota) => wish(quota, quotaStatus(quota, nodes, names, nowMs)));
  const input = { objects, names, nowMs, controls, injects, allowances: allowances(objects, names) };
  const buffers = (objects.buffers ?? []).map((buffer) => wish(buffer, bufferStatus(buffer, input)));
  return [...answers, ...aged(observation, { state, policy: policy.capacity, answers }), ...buffers, ...quotas];
}

/** Requests that had no turn in this loop, and what time has made of them. */
function aged(
  observation: Observation,
  { state, policy, answers }: { readonly state: LoopState; readonly policy: CapacityPolicy; readonly answers: readonly StatusWish[] },
): readonly StatusWish[] {
  const answered = new Set(answers.map(({ ref }) => ref.uid));
  const others = (observation.cluster.capacity?.requests ?? []).filter(({ ref }) => !answered.has(ref.uid));
  return others.map((request) => wish(request, agedStatus(request, observation, policy, brokenOrder(state, request.ref.uid))));
}

/** Requests that are over for so long that they are deleted. */
export function outdatedRequests(observation: Observation, policy: CapacityPolicy): readonly CapacityObjectRef[] {
  return staleRequests(observation, policy).map(({ ref }) => ref);
}

function wish({ ref, status }: { readonly ref: CapacityObjectRef; readonly status: CapacityStatus }, after: CapacityStatus): StatusWish {
  return { ref, before: status, after };
}
