/**
 * Plans gangs as a whole: nothing is bought for a gang that cannot start with it. The plan is made with all pods. Gangs with
 * too few pods that found a place are then held, and the plan is made again without them; if there are several, each is tried again beside the
 * others. Must not know how pods are packed.
 */
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import { rotate } from '../../lib/collections.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import { planForPods } from './plan-for-pods.ts';
import type { PodsToPlan, ScaleUpInput } from './plan-input.ts';
import type { DecidedPlan, HeldGang } from './plan-result.ts';
import { isUnplaced } from './pods/priority-order.ts';
import { type StartingGang, placedIn } from './pods/starting-gangs.ts';

/** A gang that is held may leave less room than it took, so others may fail for want of it; after this many times all are held. */
const MOST_STEPS = 3;

interface GangPlan {
  readonly plan: DecidedPlan;
  /** Each with the plan in which it failed. */
  readonly held: ReadonlyMap<StartingGang, HeldGang>;
}

/** Leaves the snapshot as found. */
export function* planWholeGangs(input: ScaleUpInput, toPlan: PodsToPlan, gangs: readonly StartingGang[]): SlicedWork<DecidedPlan> {
  const first = yield* planForPods(input, toPlan);
  const failed = failedIn(first, gangs);
  if (failed.length === 0) return first;
  const rest = yield* planWithout(input, toPlan, { plan: first, gangs, failed });
  const { plan, held } = failed.length === 1 ? rest : yield* tryEach(input, toPlan, rest, rotate(failed, input.observation.loopId));
  // guard: nothing is bought for a part of a gang that cannot start
  return withHeld(plan, [...held.values()]);
}

function failedIn(plan: ScaleUpPlan, gangs: readonly StartingGang[]): readonly StartingGang[] {
  return gangs.filter((gang) => placedIn(plan, gang) < gang.gang.minCount);
}

interface FailedPlan {
  readonly plan: DecidedPlan;
  readonly gangs: readonly StartingGang[];
  readonly failed: readonly StartingGang[];
}

/** The plan without the gangs that failed, and without those that then fail. */
function* planWithout(input: ScaleUpInput, toPlan: PodsToPlan, first: FailedPlan): SlicedWork<GangPlan> {
  const held = new Map(first.failed.map((gang) => [gang, heldIn(first.plan, gang)]));
  if (changesNothing(first)) return { plan: first.plan, held };
  for (let step = 1; ; step++) {
    const plan = yield* planHolding(input, toPlan, held);
    const failed = failedIn(
      plan,
      first.gangs.filter((gang) => !held.has(gang)),
    );
    if (failed.length === 0) return { plan, held };
    const toHold = step < MOST_STEPS ? failed : first.gangs.filter((gang) => !held.has(gang));
    for (const gang of toHold) held.set(gang, heldIn(plan, gang));
  }
}

/** Nothing was bought, and every other pod has a place: without the gangs that failed, the plan is the same. */
function changesNothing({ plan, failed }: FailedPlan): boolean {
  if (plan.increases.length > 0) return false;
  const ofFailed = new Set(failed.flatMap(({ pods }) => pods));
  return [...plan.verdicts.keys()].every((pod) => ofFailed.has(pod) || !isUnplaced(plan, pod));
}

/**
 * Gangs that failed together may have taken each other's room: each is tried with those that have a place, as long as the loop may make
 * plans. The first of them is another one in every loop.
 */
function* tryEach(input: ScaleUpInput, toPlan: PodsToPlan, rest: GangPlan, failed: readonly StartingGang[]): SlicedWork<GangPlan> {
  let { plan } = rest;
  const held = new Map(rest.held);
  const planned = [...held.keys()];
  for (const gang of failed) {
    const last = held.get(gang);
    if (last === undefined) continue;
    held.delete(gang);
    const hasTurn: boolean = toPlan.tries.startRetry();
    const next: DecidedPlan | undefined = hasTurn ? yield* planHolding(input, toPlan, held) : undefined;
    const isWhole = next !== undefined && failedIn(next, [gang, ...planned.filter((one) => !held.has(one))]).length === 0;
    if (next !== undefined && isWhole && isNoWorse(next, plan, held)) plan = next;
    else held.set(gang, next === undefined ? { ...last, hasTurn } : heldIn(next, gang));
  }
  return { plan, held };
}

/** Whether each pod that has a place in the one plan has one in the other. Gangs that are held do not count. */
function isNoWorse(next: DecidedPlan, plan: DecidedPlan, held: ReadonlyMap<StartingGang, HeldGang>): boolean {
  const heldPods = new Set([...held.keys()].flatMap(({ pods }) => pods));
  return [...plan.verdicts.keys()].every((pod) => heldPods.has(pod) || isUnplaced(plan, pod) || !isUnplaced(next, pod));
}

function* planHolding(input: ScaleUpInput, toPlan: PodsToPlan, held: ReadonlyMap<StartingGang, HeldGang>): SlicedWork<DecidedPlan> {
  const pods = new Set([...held.keys()].flatMap((gang) => gang.pods));
  const waiting = [...pods].map((pod): readonly [Pod, PodVerdict] => [pod, HELD]);
  toPlan.tries.startOver();
  return yield* planForPods(input, {
    ...toPlan,
    pods: toPlan.pods.filter((pod) => !pods.has(pod)),
    ignored: new Map([...toPlan.ignored, ...waiting]),
  });
}

const HELD: PodVerdict = {
  kind: 'waiting',
  detail: 'the group of pods that it starts with has no place as a whole',
  leftOut: 'explanation',
};

function heldIn(failed: DecidedPlan, gang: StartingGang): HeldGang {
  return { ...gang, placed: placedIn(failed, gang), failed, hasTurn: true };
}

/** None of the pods of a held gang keeps a place, also if the plan was not made again. */
function withHeld(plan: DecidedPlan, held: readonly HeldGang[]): DecidedPlan {
  const verdicts = new Map(plan.verdicts);
  for (const { pods } of held) for (const pod of pods) verdicts.set(pod, HELD);
  return { ...plan, verdicts, held };
}
