/**
 * Chooses groups to grow until no pod is left that any of them can help: estimate every group, let the expanders pick
 * one, count its nodes as there, and plan the rest again. So one plan may spill over from a full group to the next.
 */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import { isWhole, type NodeGroup } from '../../domain/node-group.ts';
import type { ScoredOption } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ClusterSnapshot } from '../../scheduling/cluster-snapshot.ts';
import { chooseOption, type Expander } from '../expanders/expander.ts';
import { levelOut } from './balance.ts';
import { estimateTied, type Member, type TiedEstimate } from './estimate-tied.ts';
import { estimate, type Estimate } from './estimate.ts';
import type { EquivalenceGroup } from './equivalence-groups.ts';
import { nodesAllowed, spend, type Headroom } from './limits.ts';
import { scoreOption, type Scoring } from './score.ts';
import { familiesOf, mindsZones } from './siblings.ts';
import { areSimilar, type Likeness } from './similar-groups.ts';
import { variantsFor, type GroupTemplate } from './template-node.ts';

/** A plan is not worth more rounds than this; what remains is planned in the next loop. */
const MAX_ROUNDS = 200;

export interface GrowInput {
  readonly snapshot: ClusterSnapshot;
  readonly templates: readonly GroupTemplate[];
  readonly groups: readonly EquivalenceGroup[];
  readonly scoring: Scoring;
  readonly expanders: readonly Expander[];
  readonly headroom: Headroom;
  /** Size of a group with what was planned before: the minimum size. */
  readonly sizeOf: (group: NodeGroupId) => number;
  /** The size that it may have after this plan: its maximum, or less. */
  readonly ceilingOf: (group: NodeGroup) => number;
  /** The nodes of this plan that stand in the snapshot; filled as it grows. */
  readonly planned: Map<NodeName, NodeGroupId>;
  /** Places pods that find a place on nodes there are, those of earlier rounds included; answers those that did not. */
  readonly retry: (pods: readonly Pod[]) => readonly Pod[];
  /** Asked before each estimate but the first, with how many were made: when it says so, no other is. */
  readonly isLate: (made: number) => boolean;
  /** Which group is estimated first, so that groups beyond the time of one plan have their turn in another. */
  readonly turn: number;
  readonly likeness: Likeness;
  /** Either one option serves every pod, or nothing grows. Absent: each as far as it goes. */
  readonly allOrNothing?: boolean;
  /** Whether growth is spread over similar groups. */
  readonly balance: boolean;
}

export interface Growth {
  /** New nodes and their pods per group. */
  readonly grown: ReadonlyMap<NodeGroupId, { readonly nodes: number; readonly pods: readonly Pod[]; readonly zoneBound: number }>;
  /** The first option of every group that had one. */
  readonly options: ReadonlyMap<NodeGroupId, ScoredOption>;
  readonly headroom: Headroom;
  /** The rounds, or the time, ran out before the pods that can be helped did. */
  readonly unfinished: boolean;
  /** The time was up after so many estimates; absent: it was not. */
  readonly cutShortAfter?: number;
  /** Groups that were estimated at least once. */
  readonly judged: ReadonlySet<NodeGroupId>;
}

interface Option {
  readonly template: GroupTemplate;
  /** Set: siblings planned as one, the template first among them. */
  readonly family?: readonly Member[];
  readonly estimate: Estimate;
  readonly scored: ScoredOption;
  /** What the estimate was allowed; it stands while that is the same. */
  readonly limit: number;
}

/** What grows while the plan is made. */
interface Progress {
  readonly grown: Map<NodeGroupId, { readonly nodes: number; readonly pods: readonly Pod[]; readonly zoneBound: number }>;
  readonly standing: Map<NodeGroupId, Option>;
  readonly judged: Set<NodeGroupId>;
  headroom: Headroom;
  late: boolean;
  /** Estimates so far. */
  made: number;
  /** Packings kept so far: makes the names of the next one's nodes its own. */
  kept: number;
}

export function grow(input: GrowInput): Growth {
  const progress: Progress = {
    grown: new Map(),
    standing: new Map(),
    judged: new Set(),
    headroom: input.headroom,
    late: false,
    made: 0,
    kept: 0,
  };
  const first = new Map<NodeGroupId, ScoredOption>();
  const families = input.groups.some((group) => group.tied && mindsZones(group)) ? findFamilies(input) : [];
  let unfinished = true;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const tied = hasTied(input);
    const found = hasZonal(input) ? findFamilyOptions(input, progress, families) : findOptions(input, progress);
    const all = input.groups.reduce((sum, group) => sum + group.pods.length, 0);
    const options = input.allOrNothing === true ? found.filter(({ scored }) => scored.pods >= all) : found;
    for (const option of options) rememberFirst(first, option);
    const chosen = chooseOption(
      input.expanders,
      options.map(({ scored }) => scored),
    );
    const option = options.find(({ scored }) => scored === chosen);
    unfinished = option !== undefined;
    if (option === undefined) break;
    take(input, progress, option);
    if (tied) retryTied(input);
    if (progress.late) break;
  }
  const { grown, headroom, judged, late, made } = progress;
  const cut = late ? { cutShortAfter: made } : {};
  return { grown, options: first, headroom, unfinished: unfinished || late, judged, ...cut };
}

/** Siblings that are planned as one share the option. */
function rememberFirst(first: Map<NodeGroupId, ScoredOption>, { template, family = [], scored }: Option): void {
  for (const { group } of [template, ...family.map((member) => member.template)]) {
    if (!first.has(group.id)) first.set(group.id, { ...scored, group: group.id });
  }
}

function take(input: GrowInput, progress: Progress, option: Option): void {
  if (option.family !== undefined && option.family.length > 1) takeFamily(input, progress, option.family);
  else if (!takeBalanced(input, progress, option)) takeOption(input, progress, option);
}

/** Whether pods are left whose places depend on each other's. */
function hasTied({ groups }: GrowInput): boolean {
  return groups.some((group) => group.tied && group.pods.length > 0);
}

/** The same of pods that mind which zone others are in. */
function hasZonal({ groups }: GrowInput): boolean {
  return groups.some((group) => group.tied && group.pods.length > 0 && mindsZones(group));
}

/** Siblings that cost the same and that the user's own order does not tell apart. */
function findFamilies({ templates, likeness, scoring }: GrowInput): readonly (readonly GroupTemplate[])[] {
  const preference = (group: GroupTemplate['group']): string => `${scoring.priorityOf(group)} ${scoring.priceOf(group)}`;
  const wholes = templates.filter(({ group }) => isWhole(group)).map((template) => [template]);
  const others = templates.filter(({ group }) => !isWhole(group));
  return [...familiesOf(others, likeness.ignoredLabels, preference), ...wholes];
}

function findFamilyOptions(input: GrowInput, progress: Progress, families: readonly (readonly GroupTemplate[])[]): readonly Option[] {
  return inTurn(families, input.turn, (family): readonly Option[] => {
    const members = family.map((template) => ({ template, limit: limitOf(input, progress, template) })).filter(({ limit }) => limit > 0);
    const [first] = members;
    if (first === undefined) return [];
    const { template } = first;
    if (
      isTooLate(
        input,
        progress,
        members.map((member) => member.template),
      )
    )
      return [];
    const packed = packFamily(input, members, { turn: progress.kept, headroom: progress.headroom });
    const found = asBought(packed, template, first.limit);
    const scored = scoreOption(template, found, input.scoring);
    return scored.pods > 0 ? [{ template, family: members, estimate: found, limit: first.limit, scored }] : [];
  });
}

/** A try that leaves no trace. */
function packFamily(
  input: GrowInput,
  members: readonly Member[],
  how: { readonly turn: number; readonly headroom: Headroom },
): TiedEstimate {
  input.snapshot.fork();
  const found = estimateTied(input.groups, members, { ...familyLimits(members, how), keep: false }, input.snapshot);
  input.snapshot.revert();
  return found;
}

function takeFamily(input: GrowInput, progress: Progress, members: readonly Member[]): void {
  const limits = familyLimits(members, { turn: progress.kept, headroom: progress.headroom });
  const found = estimateTied(input.groups, members, { ...limits, keep: true }, input.snapshot);
  for (const [name, group] of found.added) input.planned.set(name, group);
  progress.kept += 1;
  progress.standing.clear();
  found.shares.forEach((share, index) => {
    const template = members[index]?.template;
    if (template !== undefined && share.placed.size > 0) count(progress, template, share);
  });
}

function familyLimits(members: readonly Member[], { turn, headroom }: { readonly turn: number; readonly headroom: Headroom }) {
  const allowed = members.map(({ template }) => nodesAllowed(headroom, template.template));
  return tiedLimits(Math.min(...allowed), turn);
}

function takeOption(input: GrowInput, progress: Progress, option: Option): void {
  const tied = hasTied(input);
  if (tied) keepTied(input, option, progress.kept);
  progress.kept += 1;
  count(progress, option.template, option.estimate);
  forgetChanged(progress.standing, option, tied);
}

/** Takes the pods and the nodes of an estimate over into what is planned. */
function count(progress: Progress, { group, template }: GroupTemplate, estimate: Estimate): void {
  const pods = takePods(estimate);
  const sum = progress.grown.get(group.id) ?? { nodes: 0, pods: [], zoneBound: 0 };
  const { nodes, zoneBound } = estimate;
  progress.grown.set(group.id, { nodes: sum.nodes + nodes, pods: sum.pods.concat(pods), zoneBound: sum.zoneBound + zoneBound });
  progress.headroom = spend(progress.headroom, template, nodes);
}

/**
 * The chosen option's nodes, shared out among the groups similar to it: each takes what its share of nodes holds, by an
 * estimate of its own, so that zones and rules between pods stay true. Answers whether anything was taken; what the
 * shares left over is planned in the next round.
 */
function takeBalanced(input: GrowInput, progress: Progress, option: Option): boolean {
  const alike = input.balance ? similarTo(input, option) : [];
  if (alike.length < 2) return false;
  const levels = alike.map(({ group }) => ({ id: group.id, size: sizeIn(input, progress, group.id), maxSize: input.ceilingOf(group) }));
  const shares = levelOut(levels, option.estimate.nodes);
  let taken = false;
  for (const template of alike) {
    const limit = Math.min(shares.get(template.group.id) ?? 0, nodesAllowed(progress.headroom, template.template));
    if (limit < 1) continue;
    const share = makeOption(input, template, { limit, tied: hasTied(input), turn: progress.kept });
    if (share.scored.pods === 0) continue;
    takeOption(input, progress, share);
    taken = true;
  }
  return taken;
}

/** The option's own group and those that are as good for every pod that it would help; by id. */
function similarTo(input: GrowInput, { template, estimate }: Option): readonly GroupTemplate[] {
  return input.templates.filter(
    (other) =>
      other === template ||
      (!isWhole(template.group) &&
        !isWhole(other.group) &&
        areSimilar(template, other, input.likeness) &&
        [...estimate.placed.keys()].every((group) => variantsFor(group, other) !== 0)),
  );
}

function sizeIn(input: GrowInput, { grown }: Progress, id: NodeGroupId): number {
  return input.sizeOf(id) + (grown.get(id)?.nodes ?? 0);
}

/** How many nodes the group may still add; not more than the limits of cluster and plan allow. */
function limitOf(input: GrowInput, progress: Progress, { group, template }: GroupTemplate): number {
  const toMaximum = input.ceilingOf(group) - sizeIn(input, progress, group.id);
  const allowed = nodesAllowed(progress.headroom, template);
  // All or nothing: a part is of no use.
  return isWhole(group) && allowed < toMaximum ? 0 : Math.min(toMaximum, allowed);
}

/** A group that grows to its maximum buys, and is weighed with, all the nodes up to there. */
function asBought(estimate: Estimate, { group }: GroupTemplate, limit: number): Estimate {
  return isWhole(group) && estimate.nodes > 0 ? { ...estimate, nodes: limit } : estimate;
}

/** Looks at the items from `turn` on and then at those before; what comes of them stands in the items' own order. */
function inTurn<Item, Found>(items: readonly Item[], turn: number, look: (item: Item) => readonly Found[]): readonly Found[] {
  const start = items.length === 0 ? 0 : turn % items.length;
  const behind = items.slice(start).flatMap(look);
  return [...items.slice(0, start).flatMap(look), ...behind];
}

/** Once late, always late: what is known by then is what is chosen from. */
function isTooLate(input: GrowInput, progress: Progress, templates: readonly GroupTemplate[]): boolean {
  progress.late ||= progress.made > 0 && input.isLate(progress.made);
  if (progress.late) return true;
  progress.made += 1;
  for (const { group } of templates) progress.judged.add(group.id);
  return false;
}

function findOptions(input: GrowInput, progress: Progress): readonly Option[] {
  const tied = hasTied(input);
  return inTurn(input.templates, input.turn, (template): readonly Option[] => {
    const { id } = template.group;
    const limit = limitOf(input, progress, template);
    if (limit < 1) return [];
    const known = progress.standing.get(id);
    const stands = known !== undefined && (known.limit === limit || known.estimate.nodes < Math.min(limit, known.limit));
    if (!stands && isTooLate(input, progress, [template])) return [];
    const option = stands ? { ...known, limit } : makeOption(input, template, { limit, tied, turn: progress.kept });
    progress.standing.set(id, option);
    return option.scored.pods > 0 ? [option] : [];
  });
}

function makeOption(
  input: GrowInput,
  template: GroupTemplate,
  how: { readonly limit: number; readonly tied: boolean; readonly turn: number },
): Option {
  const packed = how.tied ? tryTied(input, template, how) : estimate(input.groups, template, how.limit);
  const found = asBought(packed, template, how.limit);
  return { template, estimate: found, limit: how.limit, scored: scoreOption(template, found, input.scoring) };
}

function tryTied(input: GrowInput, template: GroupTemplate, how: { readonly limit: number; readonly turn: number }): Estimate {
  input.snapshot.fork();
  const found = estimateTied(
    input.groups,
    [{ template, limit: how.limit }],
    { ...tiedLimits(how.limit, how.turn), keep: false },
    input.snapshot,
  );
  input.snapshot.revert();
  return found;
}

/** The same packing once more, to stay. */
function keepTied(input: GrowInput, { template, limit }: Option, turn: number): void {
  const limits = tiedLimits(limit, turn);
  const { added } = estimateTied(input.groups, [{ template, limit }], { ...limits, keep: true }, input.snapshot);
  for (const [name, group] of added) input.planned.set(name, group);
}

/** Names are one per turn, not per group: the snapshot remembers every host name that it has met. */
function tiedLimits(nodes: number, turn: number) {
  return { nodes, prefix: `new-${turn}` };
}

function takePods({ placed }: Estimate): readonly Pod[] {
  return [...placed].flatMap(([group, count]) => group.pods.splice(0, count));
}

/** New nodes may have made room elsewhere: a spread constraint that refused a present node may admit it now. */
function retryTied(input: GrowInput): void {
  const waiting = input.groups.filter((group) => group.tied && group.pods.length > 0);
  if (waiting.length === 0) return;
  const left = new Set(input.retry(waiting.flatMap((group) => group.pods)));
  for (const group of waiting) {
    const still = group.pods.filter((pod) => left.has(pod));
    group.pods.splice(0, group.pods.length, ...still);
  }
}

/** An estimate stands until a pod that it counted on is gone; with pods that look at each other, never. */
function forgetChanged(standing: Map<NodeGroupId, Option>, chosen: Option, tied: boolean): void {
  for (const [id, option] of standing) {
    const touched = [...option.estimate.placed.keys()].some((group) => chosen.estimate.placed.has(group));
    if (tied || touched || option === chosen) standing.delete(id);
  }
}
