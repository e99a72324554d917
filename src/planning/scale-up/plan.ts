/**
 * Scale-up: which groups grow, to what size, for which pods, and why everything else does not. Pure: reads one
 * observation and the loop's memory, and leaves the snapshot as it was. Must not know how a size is written.
 */
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import { bufferPods } from '../buffers/inject.ts';
import { holdsRoom } from '../held-room.ts';
import { requestPods } from '../requests/requests.ts';
import { byPrecedence, gpuIndexes, isExpendable, priorityOf, reasonToIgnore } from './classify-pods.ts';
import { injectPods } from './proactive.ts';
import type { RequestTurn, ScaleUpInput } from './plan-input.ts';
import { planFor } from './plan-pods.ts';

/**
 * Decides which groups grow, for which pods, and says why for every pending pod and every group.
 * @throws AutoscalerError `config` when the policy's list of expanders is not valid.
 */
export function planScaleUp(input: ScaleUpInput): ScaleUpPlan {
  const { observation, policy } = input;
  const asking: Pod[] = [];
  const verdicts = ignoredPods(input, asking);
  if (input.request !== undefined) return planForRequest(input, input.request, { asking, verdicts });
  const foreseen = injectPods(observation, policy.scaleUp, asking.length);
  const buffers = buffered(input, asking.length + foreseen.pods.length);
  if (policy.scaleUp.proactive !== true && policy.capacity?.bufferInjection !== true) return planByPriority(input, asking, verdicts);
  const plan = yieldingRoom(input, [...asking, ...foreseen.pods], { buffers: buffers.pods, verdicts });
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
  return planFor(input, [...pods], verdicts, { waiting, last: buffered(input, 0).pods });
}

/** Each try may leave other pods behind than the one before; it does not go on for ever. */
const MAX_TRIES = 3;

/**
 * Packing goes by size. Where that leaves a pod without a place and gives one of lower priority a new node, the plan is made
 * again, step by step for the priorities that were passed over, and stands when it serves the higher ones better.
 */
function planByPriority(input: ScaleUpInput, asking: readonly Pod[], verdicts: ReadonlyMap<Pod, PodVerdict>): ScaleUpPlan {
  let best = planFor(input, [...asking], new Map(verdicts));
  let last = best;
  let steps: readonly number[] = [];
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    // Also those of a try that was no better: what came first in it may have taken what still higher ones need.
    const more = passedOver(last, asking).filter((priority) => !steps.includes(priority));
    if (more.length === 0) return best;
    steps = [...steps, ...more].sort((left, right) => right - left);
    last = planFor(input, [...asking], new Map(verdicts), { waiting: [], last: [], steps });
    if (servesBetter(last, best, asking)) best = last;
  }
  return best;
}

/** Priorities of pods that stay behind although one of lower priority gets a new node. */
function passedOver(plan: ScaleUpPlan, asking: readonly Pod[]): readonly number[] {
  const lowest = asking.reduce((least, pod) => (isHelped(plan, pod) ? Math.min(least, priorityOf(pod)) : least), Infinity);
  return [...new Set(asking.filter((pod) => isStuck(plan, pod)).map(priorityOf))].filter((priority) => priority > lowest);
}

/** Of the highest priority that the two plans do not serve alike, fewer pods stay behind. */
function servesBetter(plan: ScaleUpPlan, before: ScaleUpPlan, asking: readonly Pod[]): boolean {
  const gain = new Map<number, number>();
  for (const pod of asking) {
    const change = Number(isStuck(before, pod)) - Number(isStuck(plan, pod));
    if (change !== 0) gain.set(priorityOf(pod), (gain.get(priorityOf(pod)) ?? 0) + change);
  }
  const decisive = [...gain].filter(([, change]) => change !== 0).sort(([left], [right]) => right - left)[0];
  return decisive !== undefined && decisive[1] > 0;
}

function isStuck({ verdicts }: ScaleUpPlan, pod: Pod): boolean {
  const kind = verdicts.get(pod)?.kind;
  return kind === 'helpless' || kind === 'waiting';
}

function isHelped({ verdicts }: ScaleUpPlan, pod: Pod): boolean {
  return verdicts.get(pod)?.kind === 'triggered';
}

/**
 * Packing goes by size, so that where capacity is short a buffer could get the node that a pod needs: then the plan is made
 * again without buffers, and stands when it helps more pods.
 */
function yieldingRoom(
  input: ScaleUpInput,
  asking: readonly Pod[],
  { buffers, verdicts }: { readonly buffers: readonly Pod[]; readonly verdicts: ReadonlyMap<Pod, PodVerdict> },
): ScaleUpPlan {
  const plan = planByPriority(input, [...asking, ...buffers], verdicts);
  if (!buffers.some((pod) => isHelped(plan, pod)) || !asking.some((pod) => isStuck(plan, pod))) return plan;
  const without = planByPriority(input, asking, verdicts);
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
