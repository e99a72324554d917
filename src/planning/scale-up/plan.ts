/**
 * Scale-up: which groups grow, to what size, for which pods, and why everything else does not. Pure: reads one
 * observation and the loop's memory, and leaves the snapshot as it was. Must not know how a size is written.
 */
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import { bufferPods } from '../capacity-objects/buffer-pods.ts';
import { holdsRoom } from '../state/reserved-room.ts';
import { requestPods } from '../capacity-objects/provisioning-requests.ts';
import { isPlaced, isUnplaced } from './pods/priority-order.ts';
import { byPrecedence, gpuIndexes, isExpendable, reasonToIgnore } from './pods/unschedulable-pods.ts';
import { expectedPods } from './pods/expected-pods.ts';
import type { RequestTurn, ScaleUpInput } from './plan-input.ts';
import { type PlanFor, planFor } from './plan-for-pods.ts';
import { PlanDeadline } from './pods/plan-deadline.ts';

/**
 * Decides which groups grow, for which pods, and says why for every pending pod and every group.
 * @throws AutoscalerError `config` when the policy's list of expanders is not valid.
 */
export function planScaleUp(input: ScaleUpInput): ScaleUpPlan {
  const { observation, policy } = input;
  const asking: Pod[] = [];
  const verdicts = ignoredPods(input, asking);
  if (input.request !== undefined) return planForRequest(input, input.request, { asking, verdicts });
  const how = { waiting: [], last: [], byPriority: true, timer: new PlanDeadline(input.isLate) };
  const foreseen = expectedPods(observation, policy.scaleUp, asking.length);
  const buffers = buffered(input, asking.length + foreseen.pods.length);
  if (policy.scaleUp.proactive !== true && policy.capacity?.bufferInjection !== true) return planFor(input, asking, verdicts, how);
  const plan = yieldingRoom(input, [...asking, ...foreseen.pods], { buffers: buffers.pods, verdicts, how });
  const injected = foreseen.pods.length + buffers.pods.length;
  return { ...plan, injection: { injected, skipped: foreseen.skipped + buffers.skipped } };
}

/** The plan of a loop that is a request's: pods keep what room they have, and what they lack waits for the next loop. */
function planForRequest(
  input: ScaleUpInput,
  { uid }: RequestTurn,
  { asking, verdicts }: { readonly asking: readonly Pod[]; readonly verdicts: Map<Pod, PodVerdict> },
): ScaleUpPlan {
  const { observation } = input;
  const { capacity = {} } = observation.cluster;
  const request = capacity.requests?.find(({ ref }) => ref.uid === uid);
  const pods = request === undefined ? [] : (requestPods(request, capacity, observation.nowMs) ?? []);
  const waiting = asking.toSorted(byPrecedence);
  const timer = new PlanDeadline(input.isLate);
  return planFor(input, pods, verdicts, { waiting, last: buffered(input, 0).pods, byPriority: false, timer });
}

/**
 * Packing goes by size, so that where capacity is short a buffer could get the node that a pod needs: then the plan is made
 * again without buffers, and stands when it helps more pods.
 */
function yieldingRoom(
  input: ScaleUpInput,
  asking: readonly Pod[],
  { buffers, verdicts, how }: { readonly buffers: readonly Pod[]; readonly verdicts: ReadonlyMap<Pod, PodVerdict>; readonly how: PlanFor },
): ScaleUpPlan {
  const plan = planFor(input, [...asking, ...buffers], verdicts, how);
  if (!buffers.some((pod) => isPlaced(plan, pod)) || !asking.some((pod) => isUnplaced(plan, pod))) return plan;
  const without = planFor(input, asking, verdicts, how);
  return helpedIn(without) > helpedIn(plan) ? { ...without, held: 'unknown' } : plan;
}

function helpedIn({ verdicts }: ScaleUpPlan): number {
  return [...verdicts].filter(([pod, { kind }]) => kind === 'triggered' && !holdsRoom(pod)).length;
}

/** Pods of buffers, as many as may be injected beside the pods that ask already. */
function buffered({ observation, policy }: ScaleUpInput, asking: number): { readonly pods: readonly Pod[]; readonly skipped: number } {
  const { capacity } = observation.cluster;
  if (policy.capacity?.bufferInjection !== true || capacity === undefined) return { pods: [], skipped: 0 };
  const wanted = bufferPods(capacity, observation.nowMs).filter((pod) => !isExpendable(pod, policy.scaleUp));
  const allowed = Math.max(0, (policy.scaleUp.podInjectionLimit ?? Number.POSITIVE_INFINITY) - asking);
  return { pods: wanted.slice(0, allowed), skipped: Math.max(0, wanted.length - allowed) };
}

/** How many pods ask for room of their own accord. */
export function askingPods(input: Pick<ScaleUpInput, 'observation' | 'policy' | 'names'>): number {
  const asking: Pod[] = [];
  ignoredPods(input, asking);
  return asking.length;
}

/** Sorts the pending pods into those that ask for room and the verdicts on the others. */
function ignoredPods(
  { observation, policy, names }: Pick<ScaleUpInput, 'observation' | 'policy' | 'names'>,
  asking: Pod[],
): Map<Pod, PodVerdict> {
  const verdicts = new Map<Pod, PodVerdict>();
  const gpus = gpuIndexes(names);
  for (const pod of observation.cluster.pendingPods) {
    const consumes = policy.capacity?.requests === true && pod.consumes !== undefined;
    const reason = consumes ? 'consumes-request' : reasonToIgnore(pod, observation.nowMs, policy.scaleUp, gpus);
    if (reason === undefined) asking.push(pod);
    else verdicts.set(pod, { kind: 'ignored', reason });
  }
  return verdicts;
}
