/**
 * Advice for pods that no group can take: the smallest change that helps, found by simulation. A change that was not seen to work is
 * never returned. Pure. Must not know where limits are configured, how a change is carried out, or how advice is shown.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { GroupRefusal, PodVerdict } from '../../../domain/reasons.ts';
import { compareText } from '../../../lib/comparison.ts';
import { defined } from '../../../lib/defined.ts';
import { finishAtOnce, type SlicedWork } from '../../../lib/slices.ts';
import { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import { type Advice, type Change, describeChanges, type Fix } from '../fix.ts';
import { stepsFor } from '../fix-steps.ts';
import { workloadOf } from '../removal-changes.ts';
import { addedPoolId } from './apply-changes.ts';
import { type Candidate, candidatesFor, isWaiting } from './candidates.ts';
import type { NodesToAllow } from './remedy.ts';
import { simulate, type Simulation, type Subject } from './simulate.ts';

/** How many sets of changes are simulated for one class of pods. */
const MOST_TRIED = 24;
/** Groups that a new pool is modelled on: the nearest ones. */
const MOST_NEW_POOLS = 3;
/** While a group only needs time, nothing that asks more than a limit of people is advised. */
const SMALL_EFFORT = 2;
/** What is tried beyond a set of changes that helps only some of the pods. */
const FURTHER_EFFORT = 3;

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
    if (verdict.kind !== 'helpless' || (pod.injected === true && pod.holds !== 'buffer')) continue;
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
  const { isLate: _isLate, ...timeless } = input;
  const subject: Subject = { input: { ...timeless, snapshot: snapshotOf(input) }, plan, pods: new Set(pods.map(({ uid }) => uid)) };
  const search = new Search(subject, pods, mostTried);
  const wait = waitFor(verdict.byGroup);
  const ranked = search.candidatesOf(verdict.byGroup);
  const fix = yield* search.firstThatWorks(wait === undefined ? ranked : ranked.filter(({ effort }) => effort <= SMALL_EFFORT));
  return { ...defined({ fix, wait, nearest: fix === undefined ? nearestOf(ranked, verdict.byGroup) : undefined }), tried: search.tried };
}

function snapshotOf({ snapshot, names, observation }: ScaleUpInput): ClusterSnapshot {
  if (snapshot !== undefined) return snapshot;
  const own = new ClusterSnapshot({ names });
  own.sync(observation.cluster);
  return own;
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

function nearestOf(ranked: readonly RankedCandidate[], refusals: readonly GroupRefusal[]): NodeGroupId | undefined {
  const [first] = ranked;
  if (first !== undefined) return first.group.id;
  const byObstacles = [...refusals].sort((left, right) => obstacles(left) - obstacles(right) || compareText(left.group, right.group));
  return byObstacles[0]?.group;
}

function obstacles({ fit = [], skip }: GroupRefusal): number {
  return fit.length + (skip === undefined ? 0 : 1);
}

interface RankedCandidate extends Candidate {
  readonly group: NodeGroup;
}

interface TriedCandidate {
  readonly candidate: RankedCandidate;
  readonly changes: readonly Change[];
  readonly simulation: Simulation;
}

/** One search for one class; it counts what it tries. */
class Search {
  readonly #subject: Subject;
  readonly #pods: readonly Pod[];
  readonly #most: number;
  readonly #groups: ReadonlyMap<NodeGroupId, NodeGroup>;
  readonly #seen = new Set<string>();
  tried = 0;

  constructor(subject: Subject, pods: readonly Pod[], most: number) {
    this.#subject = subject;
    this.#pods = pods;
    this.#most = most;
    this.#groups = new Map(subject.input.observation.cloud.groups.map((group) => [group.id, group]));
  }

  /** Of all groups that need more than time; least effort first. */
  candidatesOf(refusals: readonly GroupRefusal[]): readonly RankedCandidate[] {
    const all = refusals.filter((refusal) => !isWaiting(refusal)).flatMap((refusal) => this.#candidatesFor(refusal));
    const elsewhere = all.filter(({ addsPool }) => addsPool).sort(byEffort);
    return [...all.filter(({ addsPool }) => !addsPool), ...elsewhere.slice(0, MOST_NEW_POOLS)].sort(byEffort);
  }

  /**
   * The first set that helps every pod; else, of those that help some, the one that helps most. A set that meets a further obstacle
   * returns to the queue with the change against that, too.
   */
  *firstThatWorks(candidates: readonly RankedCandidate[]): SlicedWork<Fix | undefined> {
    const queue = [...candidates];
    let best: TriedCandidate | undefined;
    for (let next = queue.shift(); next !== undefined && this.#isWorthTrying(next, best); next = queue.shift()) {
      const tried = yield* this.#try(next);
      if (tried === undefined) continue;
      const { pods, of } = tried.simulation.proof;
      if (pods > (best?.simulation.proof.pods ?? 0)) best = tried;
      if (pods === of) break;
      queue.push(...this.#extended(next, tried.simulation));
      queue.sort(byEffort);
    }
    return best === undefined ? undefined : yield* this.#tightened(best);
  }

  /** Once some pods are helped, only a little more effort is spent on the others. */
  #isWorthTrying({ effort }: RankedCandidate, best: TriedCandidate | undefined): boolean {
    return this.tried < this.#most && (best === undefined || effort <= best.candidate.effort + FURTHER_EFFORT);
  }

  /** undefined: it was tried before. */
  *#try(candidate: RankedCandidate): SlicedWork<TriedCandidate | undefined> {
    const changes = candidate.changesFor(this.#manyNodes());
    return this.#isKnown(changes) ? undefined : { candidate, changes, simulation: yield* this.#simulate(changes) };
  }

  /** A node for each pending pod, or for each of the class if they do not exist: more are never needed. */
  #manyNodes(): NodesToAllow {
    const all = Math.max(this.#subject.input.observation.cluster.pendingPods.length, this.#pods.length);
    return { of: () => all, all };
  }

  #simulate(changes: readonly Change[]): SlicedWork<Simulation> {
    this.tried += 1;
    return simulate(this.#subject, changes);
  }

  #isKnown(changes: readonly Change[]): boolean {
    const key = JSON.stringify(changes);
    if (this.#seen.has(key)) return true;
    this.#seen.add(key);
    return false;
  }

  #candidatesFor(refusal: GroupRefusal, group = this.#groups.get(refusal.group)): readonly RankedCandidate[] {
    const [pod] = this.#pods;
    if (pod === undefined || group === undefined) return [];
    const { observation, names, policy } = this.#subject.input;
    const quotas = observation.cluster.capacity?.quotas ?? [];
    return candidatesFor({ refusal, group, shape: pod.shape, quotas, names, observation, limits: policy.scaleUp }).map((candidate) => ({
      ...candidate,
      group,
    }));
  }

  /** With the changes against what the group, or the new pool, still has. Their numbers count on top of the nodes that were added. */
  #extended({ group, effort, addsPool, changesFor }: RankedCandidate, simulation: Simulation): readonly RankedCandidate[] {
    const target = addsPool ? addedPoolId(group.id) : group.id;
    const refusal = simulation.refusals?.find((each) => each.group === target);
    if (refusal === undefined || isWaiting(refusal)) return [];
    const before = countAdded(simulation);
    const further = this.#candidatesFor(refusal, group).filter((more) => !more.addsPool);
    return further.map((more) => ({
      group,
      addsPool,
      effort: effort + more.effort,
      changesFor: (nodes) => {
        const rest = { of: (id: NodeGroupId) => Math.max(0, nodes.of(id) - before), all: Math.max(0, nodes.all - before) };
        return [...changesFor(nodes), ...more.changesFor(rest)];
      },
    }));
  }

  /** The same changes with the lowest limits that help as many pods; as tried, if the number of nodes misleads. */
  *#tightened({ candidate, changes, simulation }: TriedCandidate): SlicedWork<Fix> {
    const { pods } = simulation.proof;
    const simulated = new Map<number, TriedCandidate>();
    const simulateWith = (fewer: readonly Change[]): SlicedWork<Simulation> => this.#simulate(fewer);
    const holdsFor = function* (nodes: number): SlicedWork<boolean> {
      const fewer = candidate.changesFor({ of: () => nodes, all: nodes });
      const tried = { candidate, changes: fewer, simulation: yield* simulateWith(fewer) };
      simulated.set(nodes, tried);
      return tried.simulation.proof.pods >= pods;
    };
    const isFixed = JSON.stringify(candidate.changesFor({ of: () => 1, all: 1 })) === JSON.stringify(changes);
    const least = isFixed ? undefined : yield* leastThatHolds(countAdded(simulation), holdsFor);
    const chosen = (least === undefined ? undefined : simulated.get(least)) ?? { changes, simulation };
    const [pod] = this.#pods;
    const steps = stepsFor(chosen.changes, {
      groups: this.#groups,
      ...defined({ workload: pod === undefined ? undefined : workloadOf(pod) }),
    });
    return { changes: chosen.changes, steps, text: describeChanges(chosen.changes), proof: chosen.simulation.proof };
  }
}

function countAdded({ added }: Simulation): number {
  return [...added.values()].reduce((sum, count) => sum + Math.max(0, count), 0);
}

/** The least number from 1 to `most` that holds, given that all above it do; undefined if not even `most` holds. */
function* leastThatHolds(most: number, holds: (nodes: number) => SlicedWork<boolean>): SlicedWork<number | undefined> {
  if (most < 1 || !(yield* holds(most))) return undefined;
  // As a rule the number is right: then one more question shows it.
  let high = most;
  let low = most > 1 && !(yield* holds(most - 1)) ? most : 1;
  if (low === 1) high = Math.max(1, most - 1);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (yield* holds(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}

function byEffort(left: RankedCandidate, right: RankedCandidate): number {
  return left.effort - right.effort || compareText(left.group.id, right.group.id);
}
