/** Advice for pods that no group can take: the smallest change that gives them nodes. Must not know how advice is shown. */
import { isReal, type Pod } from '../../../domain/pod.ts';
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { GroupRefusal, PodVerdict } from '../../../domain/reasons.ts';
import { compareText } from '../../../lib/comparison.ts';
import { defined } from '../../../lib/defined.ts';
import { finishAtOnce, type SlicedWork } from '../../../lib/slices.ts';
import { NEVER_LATE } from '../../scale-up/pods/try-limits.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import { isHeadroom } from '../../state/assumed-pods.ts';
import { workloadOf } from '../changes/workload.ts';
import { candidatesAfter, isWaiting, type PoolCandidate, rankedCandidates } from './candidates.ts';
import { type Advice, fixOf } from './fix.ts';
import { search } from './search.ts';
import { modelOf, simulate, type Subject } from './simulate.ts';

/** How many sets of changes are simulated for one class of pods. */
const MOST_TRIED = 24;
/** While a group only needs time, nothing that asks more than a limit of people is advised. */
const SMALL_EFFORT = 2;

type Helpless = Extract<PodVerdict, { readonly kind: 'helpless' }>;

/** Pods that stay pending for the same reasons: they share one verdict. */
export interface HelplessClass {
  readonly verdict: Helpless;
  readonly pods: readonly Pod[];
}

/** By the verdicts of a plan, which do not change: each answer about one of 20,000 pods asks for them. */
const known = new WeakMap<ScaleUpPlan['verdicts'], readonly HelplessClass[]>();

/** The classes of a plan; those with the most pods first. */
export function helplessClasses({ verdicts }: Pick<ScaleUpPlan, 'verdicts'>): readonly HelplessClass[] {
  const classes = known.get(verdicts) ?? classesIn(verdicts);
  known.set(verdicts, classes);
  return classes;
}

function classesIn(verdicts: ScaleUpPlan['verdicts']): readonly HelplessClass[] {
  const classes = new Map<Helpless, Pod[]>();
  for (const [pod, verdict] of verdicts) {
    // The room that a buffer asks for is helped as pods are; other pods that do not exist yet come with their controllers.
    if (verdict.kind !== 'helpless' || (!isReal(pod) && (pod.origin !== 'buffer' || isHeadroom(pod)))) continue;
    const pods = classes.get(verdict);
    if (pods === undefined) classes.set(verdict, [pod]);
    else pods.push(pod);
  }
  return [...classes].map(([verdict, pods]) => ({ verdict, pods })).sort((left, right) => right.pods.length - left.pods.length);
}

export interface AdviceInput {
  readonly input: ScaleUpInput;
  /** What `planScaleUp` returned for the input. */
  readonly plan: ScaleUpPlan;
  /** Default: {@link MOST_TRIED}. */
  readonly mostTried?: number;
}

/** Advice for one class. Simulates with the input's snapshot and leaves it as found; the time limit of the input does not apply. */
export function adviseClass(input: AdviceInput, helpless: HelplessClass): Advice {
  return finishAtOnce(adviseClassInSlices(input, helpless));
}

/** The same in slices. Nothing else may use the input's snapshot before it ends. */
export function* adviseClassInSlices(
  { input, plan, mostTried = MOST_TRIED }: AdviceInput,
  { verdict, pods }: HelplessClass,
): SlicedWork<Advice> {
  const [pod] = pods;
  if (pod === undefined) return { tried: 0 };
  const subject: Subject = {
    input: { ...input, isLate: NEVER_LATE, snapshot: input.snapshot ?? modelOf(input) },
    plan,
    pods: new Set(pods.map(({ uid }) => uid)),
  };
  const { observation } = input;
  const wait = waitFor(verdict.byGroup);
  const ranked = rankedCandidates(verdict.byGroup, pod.shape, input);
  const { found, tried } = yield* search({
    candidates: wait === undefined ? ranked : ranked.filter(({ effort }) => effort <= SMALL_EFFORT),
    mostTried,
    // A node for each pending pod, or for each of the class if they do not exist.
    mostNodes: Math.max(observation.cluster.pendingPods.length, pods.length),
    simulate: (changes) => simulate(subject, changes),
    solvedBy: ({ proof }) => proof.pods / proof.of,
    newNodesIn: ({ newNodes }) => newNodes,
    extend: ({ candidate, result }) => candidatesAfter(candidate, result, pod.shape, input),
  });
  if (found === undefined) return { ...defined({ wait, nearest: nearestOf(ranked, verdict.byGroup) }), tried };
  const { changes, result } = found;
  return { fix: fixOf({ changes, proof: result.proof, observation, workload: workloadOf(pod) }), ...defined({ wait }), tried };
}

/** The group that needs time and nothing else; of several, the one whose time is known and ends first. */
function waitFor(refusals: readonly GroupRefusal[]): Advice['wait'] {
  const waiting = refusals.filter((refusal) => isWaiting(refusal) && (refusal.fit ?? []).length === 0);
  const timed = waiting.map(({ group, skip }) => ({
    group,
    ...(skip !== undefined && 'untilMs' in skip ? { untilMs: skip.untilMs } : {}),
  }));
  return timed.sort((left, right) => (left.untilMs ?? Infinity) - (right.untilMs ?? Infinity) || compareText(left.group, right.group))[0];
}

function nearestOf(ranked: readonly PoolCandidate[], refusals: readonly GroupRefusal[]): NodeGroupId | undefined {
  const [first] = ranked;
  if (first !== undefined) return first.group.id;
  const byObstacles = [...refusals].sort((left, right) => obstacles(left) - obstacles(right) || compareText(left.group, right.group));
  return byObstacles[0]?.group;
}

function obstacles({ fit = [], skip }: GroupRefusal): number {
  return fit.length + (skip === undefined ? 0 : 1);
}
