/**
 * Chooses groups to grow until no pod is left that any of them can help: estimate every group, let the expanders pick
 * one, count its nodes as there, and plan the rest again. So one plan may spill over from a full group to the next.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import { isWhole } from '../../../domain/node-group.ts';
import type { ScoredOption } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { chooseOption } from '../../expanders/expander.ts';
import { shareEvenly, areSimilar } from '../groups/similar-groups.ts';
import { estimateInterdependent } from './estimate-interdependent.ts';
import { estimate, type Estimate } from './estimate.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { findFamilies, findFamilyOptions, takeFamily } from './expand-siblings.ts';
import {
  asBought,
  count,
  inTurn,
  isTooLate,
  limitOf,
  sizeIn,
  tiedLimits,
  type Growth,
  type GrowInput,
  type Option,
  type Progress,
} from './expansion.ts';
import { nodesAllowed } from '../groups/limits.ts';
import { scoreOption } from './option-score.ts';
import { dependsOnZones } from '../groups/zonal-siblings.ts';
import { variantsForPods, type GroupTemplate } from '../groups/template-node.ts';
import { withFork } from '../../../scheduling/snapshot/fork.ts';

/** A plan is not worth more rounds than this; what remains is planned in the next loop. */
const MAX_ROUNDS = 200;

type Firsts = Map<NodeGroupId, ScoredOption>;

/** Pods of an earlier turn are served before those of a later one get any node. */
export interface GrowRequest extends Omit<GrowInput, 'groups' | 'keeps'> {
  readonly turns: readonly (readonly EquivalenceGroup[])[];
}

export function grow({ turns, ...request }: GrowRequest): Growth {
  const progress: Progress = {
    grown: new Map(),
    standing: new Map(),
    judged: new Set(),
    headroom: request.headroom,
    kept: 0,
  };
  const options: Firsts = new Map();
  let unfinished = false;
  turns.forEach((groups, turn) => {
    const input = { ...request, groups, keeps: turn < turns.length - 1 };
    // What those before have left on their new nodes.
    if (turn > 0) retryIn(input, groups);
    progress.standing.clear();
    unfinished = serve(input, progress, options) || unfinished;
  });
  const { grown, headroom, judged } = progress;
  const { cutShortAfter } = request.timer;
  const cut = cutShortAfter === undefined ? {} : { cutShortAfter };
  return { grown, options, headroom, unfinished: unfinished || cutShortAfter !== undefined, judged, ...cut };
}

/** Answers whether it ended before the pods that can be helped did. */
function serve(input: GrowInput, progress: Progress, first: Firsts): boolean {
  const together = input.together === true;
  const families = together || input.groups.some((group) => group.interdependent && dependsOnZones(group)) ? findFamilies(input) : [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const tied = hasTied(input);
    const found = together || hasZonal(input) ? findFamilyOptions(input, progress, families) : findOptions(input, progress);
    const all = input.groups.reduce((sum, group) => sum + group.pods.length, 0);
    const options = input.allOrNothing === true ? found.filter(({ scored }) => scored.pods >= all) : found;
    for (const option of options) rememberFirst(first, option);
    const chosen = chooseOption(
      input.expanders,
      options.map(({ scored }) => scored),
    );
    const option = options.find(({ scored }) => scored === chosen);
    if (option === undefined) return false;
    take(input, progress, option);
    if (tied) retryTied(input);
    if (input.timer.cutShortAfter !== undefined) return true;
  }
  return true;
}

/** Siblings that are planned as one share the option. */
function rememberFirst(first: Firsts, { template, family = [], scored }: Option): void {
  for (const { group } of [template, ...family.map((member) => member.template)]) {
    if (!first.has(group.id)) first.set(group.id, { ...scored, group: group.id });
  }
}

function take(input: GrowInput, progress: Progress, option: Option): void {
  if (option.family !== undefined && option.family.length > 1) takeFamily(input, progress, option.family);
  else if (!takeBalanced(input, progress, option)) takeOption(input, progress, option);
}

/** Whether nodes have to be planned one by one: pods are left whose places depend on each other's. */
function hasTied({ groups }: GrowInput): boolean {
  return groups.some((group) => group.interdependent && group.pods.length > 0);
}

/** The same of pods that mind which zone others are in. */
function hasZonal({ groups }: GrowInput): boolean {
  return groups.some((group) => group.interdependent && group.pods.length > 0 && dependsOnZones(group));
}

function takeOption(input: GrowInput, progress: Progress, option: Option): void {
  const tied = hasTied(input);
  const kept = tied || input.keeps ? keepNodes(input, option, progress.kept) : option.estimate;
  progress.kept += 1;
  count(progress, option.template, kept);
  forgetChanged(progress.standing, option, tied);
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
  const shares = shareEvenly(levels, option.estimate.nodes);
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
        [...estimate.placed.keys()].every((group) => variantsForPods(group, other) !== 0)),
  );
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
  const limits = { ...tiedLimits(how.limit, how.turn), keep: false };
  return withFork(input.snapshot, () => estimateInterdependent(input.groups, [{ template, limit: how.limit }], limits, input.snapshot));
}

/** The same packing once more, to stay in the snapshot: what is counted is what stands there. */
function keepNodes(input: GrowInput, { template, limit }: Option, turn: number): Estimate {
  const limits = tiedLimits(limit, turn);
  const kept = estimateInterdependent(input.groups, [{ template, limit }], { ...limits, keep: true }, input.snapshot);
  for (const [name, group] of kept.added) input.planned.set(name, group);
  return asBought(kept, template, limit);
}

/** New nodes may have made room elsewhere: a spread constraint that refused a present node may admit it now. */
function retryTied(input: GrowInput): void {
  retryIn(
    input,
    input.groups.filter((group) => group.interdependent),
  );
}

/** What is placed asks for nothing any more. */
function retryIn(input: GrowInput, groups: readonly EquivalenceGroup[]): void {
  const waiting = groups.filter((group) => group.pods.length > 0);
  if (waiting.length === 0) return;
  const left = new Set(input.retry(waiting.flatMap((group) => group.pods)));
  for (const { pods } of waiting) keepOnly(pods, left);
}

/** In place, and in their order: there may be more of them than a call takes arguments. */
function keepOnly(pods: Pod[], left: ReadonlySet<Pod>): void {
  let kept = 0;
  for (const pod of pods) if (left.has(pod)) pods[kept++] = pod;
  pods.length = kept;
}

/** An estimate stands until a pod that it counted on is gone; with pods that look at each other, never. */
function forgetChanged(standing: Map<NodeGroupId, Option>, chosen: Option, tied: boolean): void {
  for (const [id, option] of standing) {
    const touched = [...option.estimate.placed.keys()].some((group) => chosen.estimate.placed.has(group));
    if (tied || touched || option === chosen) standing.delete(id);
  }
}
