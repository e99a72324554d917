/**
 * Packing decides which groups get how many new nodes for the pods without a place. It estimates every group, lets the
 * expanders choose one, counts its nodes as present, and repeats for the remaining pods; so one plan may spill over from a
 * full group to the next. Must not know why a group may not grow, or how a size is written.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import { isWhole } from '../../../domain/node-group.ts';
import type { ScoredOption } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { rotate } from '../../../lib/collections.ts';
import { compareText } from '../../../lib/comparison.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { chooseOption } from '../../expanders/expander.ts';
import { placeOnCapacity } from '../groups/existing-capacity.ts';
import { hasFreeNodes } from '../groups/quotas.ts';
import { areSimilar, shareEvenly } from '../groups/similar-groups.ts';
import { variantsForPods, type GroupTemplate } from '../groups/template-node.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { Expansion, type ExpandInput, type ExpansionResult } from './expansion.ts';
import { type ExpandOption, scoreOption } from './option-score.ts';
import { SharedEstimates } from './shared-estimates.ts';
import {
  areOneOption,
  type Family,
  findFamilies,
  hasInterdependentPods,
  hasZonalPods,
  makeOption,
  membersOf,
  takeOption,
  type TurnInput,
} from './turn-options.ts';

/** The most rounds per turn. The next loop plans what remains. */
const MAX_ROUNDS = 200;

/** Options of earlier rounds whose estimates still hold, by group. */
type ValidOptions = Map<NodeGroupId, ExpandOption>;

export function* expandGroups({ turns, ...input }: ExpandInput): SlicedWork<ExpansionResult> {
  const expansion = new Expansion(input);
  const firstOptions = new Map<NodeGroupId, ScoredOption>();
  const preferred = input.templates.filter(({ group }) => group.blocks.choice === undefined);
  let ranOutOfRounds = false;
  for (const [at, groups] of turns.entries()) {
    const estimates = new SharedEstimates(groups, input.templates, input.capacity.snapshot);
    yield;
    const turn: TurnInput = { ...input, expansion, groups, keepsNodes: at < turns.length - 1, estimates };
    // Earlier turns may have left room on their new nodes.
    if (at > 0) yield* retryPods(turn, groups);
    ranOutOfRounds = (yield* serveTurn({ ...turn, templates: preferred }, firstOptions)) || ranOutOfRounds;
    const needsLastResort = preferred.length < input.templates.length && groups.some(({ pods }) => pods.length > 0);
    // guard: a stockout that another cluster reports keeps no pod pending that no other pool can take
    if (needsLastResort) ranOutOfRounds = (yield* serveTurn(turn, firstOptions)) || ranOutOfRounds;
  }
  return expansion.result(firstOptions, ranOutOfRounds);
}

/** Returns whether rounds or time ran out before all pods that can be helped were helped. */
function* serveTurn(input: TurnInput, firstOptions: Map<NodeGroupId, ScoredOption>): SlicedWork<boolean> {
  const oneOption = areOneOption(input);
  const alone = input.templates.map((template): Family => [template]);
  const families = oneOption || hasZonalPods(input) ? findFamilies(input) : alone;
  const valid: ValidOptions = new Map();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const interdependent = hasInterdependentPods(input);
    yield;
    const found = yield* findOptions(input, oneOption || hasZonalPods(input) ? families : alone, valid);
    const all = input.groups.reduce((sum, group) => sum + group.pods.length, 0);
    const options = input.allOrNothing ? found.filter(({ scored }) => scored.pods >= all) : found;
    for (const option of options) recordFirstOption(firstOptions, option);
    const chosen = chooseOption(
      input.expandersFor(`${oldestServed(input, options)?.uid ?? ''}|${round}`),
      options.map(({ scored }) => scored),
    );
    const option = options.find(({ scored }) => scored === chosen);
    if (option === undefined) return false;
    if (!(yield* takeBalanced(input, valid, option))) yield* takeAndDrop(input, valid, option);
    // New nodes may have made room elsewhere: a spread constraint that refused a present node may admit it now.
    if (interdependent)
      yield* retryPods(
        input,
        input.groups.filter((group) => group.interdependent),
      );
    if (input.expansion.isCutShort) return true;
  }
  return true;
}

/**
 * The oldest pod that an option serves. A choice is named after it: pods without any option, and later pods, do not change what chance
 * chooses.
 */
function oldestServed({ groups }: TurnInput, options: readonly ExpandOption[]): Pod | undefined {
  // Groups whose nodes are alike share what their options place.
  const served = [...new Set(options.map(({ estimate }) => estimate.placed))];
  let oldest: Pod | undefined;
  for (const group of groups) {
    const [first] = group.pods;
    if (first === undefined || (oldest !== undefined && !isOlder(first, oldest))) continue;
    if (served.some((placed) => placed.has(group))) oldest = first;
  }
  return oldest;
}

function isOlder(pod: Pod, than: Pod): boolean {
  return (pod.createdAtMs - than.createdAtMs || compareText(pod.uid, than.uid)) < 0;
}

/** All members of a family share the option. */
function recordFirstOption(first: Map<NodeGroupId, ScoredOption>, { family, scored }: ExpandOption): void {
  for (const { template } of family) {
    const { id } = template.group;
    if (!first.has(id)) first.set(id, { ...scored, group: id });
  }
}

/** The estimates begin at the rotation, so that another plan begins where one ended early; the options are in the order of the families. */
function* findOptions(input: TurnInput, families: readonly Family[], valid: ValidOptions): SlicedWork<readonly ExpandOption[]> {
  input.estimates.clear();
  const found = new Map<Family, ExpandOption>();
  for (const family of rotate(families, input.rotation)) {
    const members = membersOf(input, family);
    if (members === undefined) continue;
    const [{ template, limit }] = members;
    const known = members.length === 1 ? valid.get(template.group.id) : undefined;
    const isValid = known !== undefined && (known.limit === limit || known.estimate.nodes < Math.min(limit, known.limit));
    if (!isValid && !input.expansion.startEstimate(members.map((member) => member.template))) continue;
    const option = isValid ? { ...costedAgain(input, known), family: members, limit } : yield* makeOption(input, members);
    if (members.length === 1) valid.set(template.group.id, option);
    if (option.scored.pods > 0) found.set(family, option);
  }
  return families.flatMap((family) => found.get(family) ?? []);
}

/** Of an estimate that holds, nodes that cost nothing may be used up. */
function costedAgain({ scoring, expansion: { free } }: TurnInput, option: ExpandOption): ExpandOption {
  return hasFreeNodes(free) ? { ...option, scored: scoreOption(option.template, option.estimate, scoring, free) } : option;
}

/** An estimate holds until a pod that it placed has a place. With interdependent pods, or families, no estimate holds. */
function* takeAndDrop(input: TurnInput, valid: ValidOptions, chosen: ExpandOption): SlicedWork<void> {
  const noneHolds = chosen.family.length > 1 || hasInterdependentPods(input);
  yield* takeOption(input, chosen);
  for (const [id, option] of valid) {
    if (noneHolds || option === chosen || servesSame(option, chosen)) valid.delete(id);
  }
}

function servesSame({ estimate }: ExpandOption, { estimate: { placed } }: ExpandOption): boolean {
  for (const group of estimate.placed.keys()) if (placed.has(group)) return true;
  return false;
}

/**
 * Shares the chosen option's nodes among the groups similar to it. Each group takes what its share of nodes holds, by an
 * estimate of its own, so that zones and rules between pods stay true. The next round plans what the shares left over.
 * Returns whether anything was taken.
 */
function* takeBalanced(input: TurnInput, valid: ValidOptions, option: ExpandOption): SlicedWork<boolean> {
  const { expansion } = input;
  const alike = input.balance && !input.allOrNothing && option.family.length === 1 ? similarTo(input, option) : [];
  if (alike.length < 2) return false;
  const sizes = alike.map(({ group }) => ({ id: group.id, size: expansion.sizeOf(group.id), maxSize: expansion.ceilingOf(group.id) }));
  const shares = shareEvenly(sizes, option.estimate.nodes);
  let taken = false;
  for (const template of alike) {
    const limit = Math.min(shares.get(template.group.id) ?? 0, expansion.allowedByLimits(template));
    if (limit < 1) continue;
    const share = yield* makeOption(input, [{ template, limit }]);
    if (share.scored.pods === 0) continue;
    yield* takeAndDrop(input, valid, share);
    taken = true;
  }
  return taken;
}

/** The option's own group and those that are as good for every pod that the option would help; ordered by id. */
function similarTo(input: TurnInput, { template, estimate: { placed } }: ExpandOption): readonly GroupTemplate[] {
  return input.templates.filter(
    (other) =>
      other === template ||
      (!isWhole(template.group) &&
        !isWhole(other.group) &&
        areSimilar(template, other, input.similarity) &&
        [...placed.keys()].every((group) => variantsForPods(group, other) !== 0)),
  );
}

/** Places pods on nodes of the snapshot if possible; these pods need no new node any more. */
function* retryPods(input: TurnInput, groups: readonly EquivalenceGroup[]): SlicedWork<void> {
  const waiting = groups.filter((group) => group.pods.length > 0);
  if (waiting.length === 0) return;
  const pods = waiting.flatMap((group) => group.pods);
  const left = yield* placeOnCapacity(input.capacity, pods);
  if (left.length === pods.length) return;
  const unplaced = new Set(left);
  for (const group of waiting) keepOnly(group.pods, unplaced);
}

/** Works in place and keeps the order. `splice` is no choice: there may be more pods than a call takes arguments. */
function keepOnly(pods: Pod[], left: ReadonlySet<Pod>): void {
  let kept = 0;
  for (const pod of pods) if (left.has(pod)) pods[kept++] = pod;
  pods.length = kept;
}
