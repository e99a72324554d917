/** From what the groups grew by to the plan that is carried out, with a reason for everything else. */
import { needsDevices } from '../../domain/devices.ts';
import { describeBlock } from '../../domain/group-blocks.ts';
import { type NodeGroupId, podName } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { type Increase, NOTHING_PLANNED, type ScaleUpPlan, type SkippedGroup } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { FitReason, GroupRefusal, PodVerdict, SkipReason } from '../../domain/reasons.ts';
import { compareBy } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import { withAttachLimits } from '../../scheduling/volumes/attachments.ts';
import { isHeadroom, reservedPods } from '../state/assumed-pods.ts';
import { type ExistingCapacity, TIME_IS_UP } from './groups/existing-capacity.ts';
import { knownVariants, type GroupTemplate, makeTemplate, templateRefusals } from './groups/template-node.ts';
import { reasonAgainstMore } from './groups/group-eligibility.ts';
import { isPlanFull } from './groups/quotas.ts';
import type { ExpansionResult } from './packing/expansion.ts';
import { type ScaleUpContext, growthOf, plannedSize } from './plan-context.ts';
import type { EquivalenceGroup } from './pods/equivalence-groups.ts';
import { inTurns } from './pods/search-order.ts';
import type { StartingGang } from './pods/starting-gangs.ts';
import { refusalsOnNewNode, topologyReasons, type RefusalsOnNewNode } from './refusals-by-others.ts';
import { byPrecedence } from './pods/unschedulable-pods.ts';

/** What growing the groups came to. */
export interface PlanOutcome {
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
  readonly expansion: ExpansionResult;
  readonly templates: readonly GroupTemplate[];
}

/** A plan whose increases can be carried out, while the pods that stay pending wait for their explanation. */
export interface DecidedPlan extends ScaleUpPlan {
  /** If undefined, there is nothing to explain. */
  readonly unexplained: Unexplained | undefined;
  /** Gangs that the plan buys nothing for. */
  readonly held: readonly HeldGang[];
}

/** A gang with too few pods that found a place in the plan `failed`. */
export interface HeldGang extends StartingGang {
  /** With the pods that run already. */
  readonly placed: number;
  readonly failed: DecidedPlan;
  /** Whether the loop had a plan left for it beside the others. */
  readonly hasTurn: boolean;
}

/** What explains the pods without a place, as far as one loop does. It needs the snapshot no more. */
interface Unexplained {
  readonly refusals: RefusalInput;
  readonly templates: ReadonlyMap<NodeGroupId, GroupTemplate>;
  readonly groups: readonly EquivalenceGroup[];
}

const UNEXPLAINED_DETAIL = 'more kinds of pods stay pending than one loop explains: a later loop explains this one';
const UNEXPLAINED: PodVerdict = { kind: 'waiting', detail: UNEXPLAINED_DETAIL, leftOut: 'explanation' };

/**
 * Leaves every pod that found no place without an explanation, and prepares as many as one loop gives: pods that had none come first, and
 * namespaces take turns. What other pods refuse is found here, where the snapshot has them.
 */
export function* prepareExplanation(
  context: ScaleUpContext,
  { skips, expansion, templates }: PlanOutcome,
  unplaced: readonly EquivalenceGroup[],
  { snapshot, verdicts }: ExistingCapacity,
): SlicedWork<Unexplained | undefined> {
  const { policy } = context.input;
  const pending = unplaced.filter(({ pods }) => pods.length > 0);
  if (pending.length === 0) return undefined;
  for (const { pods } of pending) for (const pod of pods) verdicts.set(pod, UNEXPLAINED);
  const groups = groupsToExplain(context, pending);
  const judged = judgedTemplates(context, templates);
  const endedEarly = endedEarlyBecause(expansion, policy.scaleUp.maxNodesPerScaleUp);
  const byOthers =
    endedEarly === undefined ? yield* refusalsByOthers(groups, judged, refusalsOnNewNode(snapshot)) : new Map<never, never>();
  const stops = new Map([...skips, ...stopsOf(context, expansion, templates)]);
  return { refusals: { context, stops, endedEarly, byOthers }, templates: judged, groups };
}

/** In the order of `pending`. At least one. */
function groupsToExplain({ input }: ScaleUpContext, pending: readonly EquivalenceGroup[]): readonly EquivalenceGroup[] {
  const { observation, state, mostExplained } = input;
  const most = Math.max(1, Math.floor(mostExplained / Math.max(1, observation.cloud.groups.length)));
  // guard: no loop explains more pods than it has time for
  if (pending.length <= most) return pending;
  const first = new Map(pending.flatMap((group) => group.pods.slice(0, 1).map((pod) => [pod, group] as const)));
  // guard: what one loop does not explain is explained by a later one
  const chosen = new Set(inTurns([...first.keys()], state.stopped?.explained).slice(0, most));
  return [...first].filter(([pod]) => chosen.has(pod)).map(([, group]) => group);
}

/** The plan with a verdict for every pod that found no place. Equal pods share one verdict, and so do all pods of a gang. */
export function* explainPlanInSlices({ unexplained, held, ...plan }: DecidedPlan): SlicedWork<ScaleUpPlan> {
  if (unexplained === undefined && held.length === 0) return plan;
  const verdicts = new Map(plan.verdicts);
  if (unexplained !== undefined) yield* explainPods(unexplained, verdicts);
  for (const one of held) {
    const verdict = yield* gangVerdict(one);
    for (const pod of one.pods) verdicts.set(pod, verdict);
  }
  return { ...plan, verdicts };
}

const NO_TURN = 'more groups of pods that start together fail than one loop tries: a later loop tries this one';

/** One verdict for all of its pods: why those that are hardest to place have no place. */
function* gangVerdict({ gang, pods, placed, failed, hasTurn }: HeldGang): SlicedWork<PodVerdict> {
  const { kind, namespace, name, uid, title, minCount: needs } = gang;
  const waiting = (why: string): PodVerdict => ({
    kind: 'waiting',
    detail: `its ${title} starts with ${needs} pods together, and ${placed} have a place: ${why}`,
    leftOut: 'explanation',
  });
  if (!hasTurn) return waiting(NO_TURN);
  const own = new Set(pods);
  const verdicts = new Map(pods.flatMap((pod): [Pod, PodVerdict][] => nonEmpty(pod, failed.verdicts.get(pod))));
  const { unexplained } = failed;
  const groups = unexplained?.groups.filter((group) => group.pods.some((pod) => own.has(pod))) ?? [];
  if (unexplained !== undefined) yield* explainPods({ ...unexplained, groups }, verdicts);
  const all = [...verdicts.values()];
  const helpless = all.flatMap((verdict) => (verdict.kind === 'helpless' ? [verdict.byGroup] : []));
  const byGroup = helpless.sort((left, right) => takersIn(left) - takersIn(right))[0];
  if (byGroup !== undefined) return { kind: 'helpless', byGroup, gang: { kind, namespace, name, uid, title, needs, placed } };
  const open = all.find((verdict) => verdict.kind === 'waiting');
  return waiting(open?.kind === 'waiting' ? open.detail : UNEXPLAINED_DETAIL);
}

function nonEmpty(pod: Pod, verdict: PodVerdict | undefined): [Pod, PodVerdict][] {
  return verdict === undefined ? [] : [[pod, verdict]];
}

/** Groups whose nodes would take the pods. */
function takersIn(byGroup: readonly GroupRefusal[]): number {
  return byGroup.filter(({ fit = [] }) => fit.length === 0).length;
}

function* explainPods({ refusals, templates, groups }: Unexplained, verdicts: Map<Pod, PodVerdict>): SlicedWork<void> {
  const { endedEarly, context } = refusals;
  for (const group of groups) {
    yield;
    const byGroup = context.input.observation.cloud.groups.map((target) => groupRefusal(refusals, group, target, templates.get(target.id)));
    const verdict: PodVerdict =
      endedEarly !== undefined && byGroup.some(({ skip, fit }) => skip === undefined && fit === undefined)
        ? { kind: 'waiting', detail: endedEarly }
        : { kind: 'helpless', byGroup };
    for (const pod of group.pods) verdicts.set(pod, verdict);
  }
}

/** What a new node of each group offers, of groups that may not grow, too: made once, and with the pods that every node has. */
function judgedTemplates({ input }: ScaleUpContext, templates: readonly GroupTemplate[]): ReadonlyMap<NodeGroupId, GroupTemplate> {
  const { observation, names } = input;
  const known = new Map(templates.map((template) => [template.group.id, template]));
  for (const group of observation.cloud.groups) {
    if (known.has(group.id) || group.template === undefined) continue;
    known.set(group.id, makeTemplate(group, withAttachLimits(group.template, names), observation.cluster, new Set()));
  }
  return known;
}

/** Why the groups that could grow cannot grow further. */
function stopsOf(
  context: ScaleUpContext,
  expansion: ExpansionResult,
  templates: readonly GroupTemplate[],
): readonly (readonly [NodeGroupId, SkipReason])[] {
  return templates.flatMap(({ group, template }) => {
    const size = plannedSize(context, group, expansion);
    const stop = reasonAgainstMore(growthOf(context, { group, template }, size, expansion.room));
    return stop === undefined ? [] : [[group.id, stop] as const];
  });
}

interface RefusalInput {
  readonly context: ScaleUpContext;
  /** Why a group could not grow, or not grow further. */
  readonly stops: ReadonlyMap<NodeGroupId, SkipReason>;
  /** Why the plan ended before all pods that can be helped were helped: the next loop may help them. */
  readonly endedEarly: string | undefined;
  /** Of pods that found no place although the plan came to its end. */
  readonly byOthers: RefusalsByOthers;
}

/** Every reason: what the pod itself lacks, and why the group may not grow. To wait for a group whose nodes do not fit would not help. */
function groupRefusal(input: RefusalInput, pods: EquivalenceGroup, target: NodeGroup, template: GroupTemplate | undefined): GroupRefusal {
  const { names } = input.context.input;
  const skip = input.stops.get(target.id);
  const alone = template === undefined ? [] : templateRefusals(pods, template, names);
  const fit = template === undefined ? alone : [...alone, ...(input.byOthers.get(pods)?.get(target.id) ?? [])];
  const learned = alone.length === 0 ? {} : defined({ corrected: template?.template.corrected });
  if (skip !== undefined) return { group: target.id, skip, ...(fit.length > 0 ? { fit } : {}), ...learned };
  if (fit.length > 0) return { group: target.id, fit, ...learned };
  return input.endedEarly === undefined ? { group: target.id, fit: topologyReasons(pods) } : { group: target.id };
}

type RefusalsByOthers = ReadonlyMap<EquivalenceGroup, ReadonlyMap<NodeGroupId, readonly FitReason[]>>;

/** Other pods do not refuse pods that only need room. */
function* refusalsByOthers(
  groups: readonly EquivalenceGroup[],
  templates: ReadonlyMap<NodeGroupId, GroupTemplate>,
  onNewNode: RefusalsOnNewNode,
): SlicedWork<RefusalsByOthers> {
  const found = new Map<EquivalenceGroup, ReadonlyMap<NodeGroupId, readonly FitReason[]>>();
  for (const group of groups) {
    const { shape, interdependent, pods } = group;
    const [pod] = pods;
    if (pod === undefined || !(interdependent || needsDevices(shape.devices))) continue;
    yield;
    const reasons = [...templates].map(([id, template]) => {
      const fitsAlone = knownVariants(group, template) !== 0;
      return [id, fitsAlone ? onNewNode.alone(pod, template) : onNewNode.further(pod, template)] as const;
    });
    found.set(group, new Map(reasons));
  }
  return found;
}

/** The plan, ordered by names. */
export function* buildScaleUpPlan(
  context: ScaleUpContext,
  { skips, expansion, templates }: PlanOutcome,
  verdicts: ReadonlyMap<Pod, PodVerdict>,
): SlicedWork<ScaleUpPlan> {
  const { observation, policy } = context.input;
  const podsByGroup = podsByTriggeredGroup(verdicts);
  const increases: Increase[] = [];
  for (const group of observation.cloud.groups) {
    const pods = podsByGroup.get(group.id) ?? [];
    if (pods.length > 0) yield;
    increases.push(...increaseOf(context, group, expansion, pods));
  }
  yield;
  // Includes groups that only grow to their minimum size.
  const growing = new Set(increases.map(({ group }) => group));
  const unchosen = templates
    .filter(({ group }) => !expansion.added.has(group.id) && !growing.has(group.id))
    .map(({ group }): SkippedGroup => {
      const expander = policy.scaleUp.expanders.join(',');
      const { choice } = group.blocks;
      if (choice !== undefined && !expansion.estimated.has(group.id))
        return { group: group.id, reason: { kind: 'last-resort', detail: describeBlock(choice) } };
      if (expansion.options.has(group.id)) return { group: group.id, reason: { kind: 'not-chosen', expander } };
      const isEstimated = expansion.cutShortAfter === undefined || expansion.estimated.has(group.id);
      return { group: group.id, reason: { kind: isEstimated ? 'no-pod-fits' : 'not-judged' } };
    });
  const skipped = [...skips].map(([group, reason]): SkippedGroup => ({ group, reason })).concat(unchosen);
  skipped.sort(compareBy((item) => item.group));
  return {
    ...NOTHING_PLANNED,
    increases,
    skipped,
    verdicts,
    options: [...expansion.options.values()],
    cutShortAfter: expansion.cutShortAfter,
    notes: context.scoring.notes(observation.cloud.groups),
    reserved: reservedPods({ verdicts }),
    summary: summarizeIncreases(increases, expansion, verdicts),
  };
}

function increaseOf(context: ScaleUpContext, group: NodeGroup, expansion: ExpansionResult, pods: readonly Pod[]): readonly Increase[] {
  const to = plannedSize(context, group, expansion);
  if (!group.target.known || to <= group.target.value) return [];
  const { value: from, version } = group.target;
  return [{ group: group.id, from, to, version, pods: [...pods].sort(byPrecedence), cause: pods.length > 0 ? 'pods' : 'min-size' }];
}

function podsByTriggeredGroup(verdicts: ReadonlyMap<Pod, PodVerdict>): ReadonlyMap<NodeGroupId, readonly Pod[]> {
  const triggering = new Map<NodeGroupId, Pod[]>();
  for (const [pod, verdict] of verdicts) {
    if (verdict.kind !== 'triggered') continue;
    const pods = triggering.get(verdict.group);
    if (pods === undefined) triggering.set(verdict.group, [pod]);
    else pods.push(pod);
  }
  return triggering;
}

/** Why the plan ended early; undefined if it did not. */
function endedEarlyBecause(expansion: ExpansionResult, maxNodes: number): string | undefined {
  if (expansion.cutShortAfter !== undefined) return TIME_IS_UP;
  if (isPlanFull(expansion.room)) return `the limit of ${maxNodes} new nodes per scale-up is reached`;
  return expansion.unfinished ? 'the maximum number of rounds of one plan was reached' : undefined;
}

function countPods(count: number): string {
  return `${count} ${count === 1 ? 'pod' : 'pods'}`;
}

function describePods(pods: readonly Pod[]): string {
  const others = pods.filter((pod) => !isHeadroom(pod)).length;
  if (others === pods.length) return countPods(others);
  return others === 0 ? 'headroom' : `${countPods(others)} and headroom`;
}

function summarizeIncreases(increases: readonly Increase[], expansion: ExpansionResult, verdicts: ReadonlyMap<Pod, PodVerdict>): string {
  let unplaced = 0;
  let first: Pod | undefined;
  for (const [pod, { kind }] of verdicts) {
    if ((kind !== 'helpless' && kind !== 'waiting') || isHeadroom(pod)) continue;
    unplaced += 1;
    first ??= pod;
  }
  const rest = first === undefined ? '' : `; ${countPods(unplaced)} ${unplaced === 1 ? 'stays' : 'stay'} pending, first ${podName(first)}`;
  if (increases.length === 0) return `no scale-up${rest}`;
  const parts = increases.map(({ group, from, to, pods, cause }) => {
    const bound = expansion.added.get(group)?.zoneBound ?? 0;
    const zones = bound === 0 ? '' : `, ${bound} nodes help only if they land in the right zone`;
    return `${group} ${from} -> ${to} (${cause === 'pods' ? describePods(pods) : 'minimum size'}${zones})`;
  });
  return `${parts.join(', ')}${rest}`;
}
