/**
 * Packing decides which groups get how many new nodes for the pods without a place. It estimates every group, lets the
 * expanders choose one, counts its nodes as present, and repeats for the remaining pods; so one plan may spill over from a
 * full group to the next. Must not know why a group may not grow, or how a size is written.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import { isWhole } from '../../../domain/node-group.ts';
import type { ScoredOption } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { chooseOption } from '../../expanders/expander.ts';
import { areSimilar, shareEvenly } from '../groups/similar-groups.ts';
import { variantsForPods, type GroupTemplate } from '../groups/template-node.ts';
import { dependsOnZones } from '../groups/zonal-siblings.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { estimate, type Estimate } from './estimate.ts';
import {
  areOneOption,
  findFamilies,
  findFamilyOptions,
  keepPacking,
  takeFamily,
  tryPacking,
  visitFrom,
  type TurnInput,
} from './expand-siblings.ts';
import { Expansion, type ExpandInput, type ExpansionResult } from './expansion.ts';
import { atomicEstimate, scoreOption, type ExpandOption } from './option-score.ts';

/** The most rounds per turn. The next loop plans what remains. */
const MAX_ROUNDS = 200;

/** Options of earlier rounds whose estimates still hold, by group. */
type ValidOptions = Map<NodeGroupId, ExpandOption>;

export function expandGroups({ turns, ...input }: ExpandInput): ExpansionResult {
  const expansion = new Expansion(input);
  const firstOptions = new Map<NodeGroupId, ScoredOption>();
  let ranOutOfRounds = false;
  turns.forEach((groups, at) => {
    const turn: TurnInput = { ...input, expansion, groups, keepsNodes: at < turns.length - 1 };
    // Earlier turns may have left room on their new nodes.
    if (at > 0) retryPods(turn, groups);
    ranOutOfRounds = serveTurn(turn, firstOptions) || ranOutOfRounds;
  });
  return expansion.result(firstOptions, ranOutOfRounds);
}

/** Returns whether rounds or time ran out before all pods that can be helped were helped. */
function serveTurn(input: TurnInput, firstOptions: Map<NodeGroupId, ScoredOption>): boolean {
  const oneOption = areOneOption(input);
  const families = oneOption || input.groups.some((group) => group.interdependent && dependsOnZones(group)) ? findFamilies(input) : [];
  const valid: ValidOptions = new Map();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const interdependent = hasInterdependentPods(input);
    const found = oneOption || hasZonalPods(input) ? findFamilyOptions(input, families) : findOptions(input, valid);
    const all = input.groups.reduce((sum, group) => sum + group.pods.length, 0);
    const options = input.allOrNothing ? found.filter(({ scored }) => scored.pods >= all) : found;
    for (const option of options) recordFirstOption(firstOptions, option);
    const chosen = chooseOption(
      input.expanders,
      options.map(({ scored }) => scored),
    );
    const option = options.find(({ scored }) => scored === chosen);
    if (option === undefined) return false;
    takeChosen(input, valid, option);
    // New nodes may have made room elsewhere: a spread constraint that refused a present node may admit it now.
    if (interdependent)
      retryPods(
        input,
        input.groups.filter((group) => group.interdependent),
      );
    if (input.expansion.isCutShort) return true;
  }
  return true;
}

/** All members of a family share the option. */
function recordFirstOption(first: Map<NodeGroupId, ScoredOption>, { template, family = [], scored }: ExpandOption): void {
  for (const { group } of [template, ...family.map((member) => member.template)]) {
    if (!first.has(group.id)) first.set(group.id, { ...scored, group: group.id });
  }
}

function takeChosen(input: TurnInput, valid: ValidOptions, option: ExpandOption): void {
  if (option.family !== undefined && option.family.length > 1) {
    takeFamily(input, option.family);
    valid.clear();
  } else if (!takeBalanced(input, valid, option)) takeOption(input, valid, option);
}

/** Whether nodes have to be planned one by one: pods are left whose places depend on other pods' places. */
function hasInterdependentPods({ groups }: TurnInput): boolean {
  return groups.some((group) => group.interdependent && group.pods.length > 0);
}

/** Whether pods are left whose places depend on the zones of other pods. */
function hasZonalPods({ groups }: TurnInput): boolean {
  return groups.some((group) => group.interdependent && group.pods.length > 0 && dependsOnZones(group));
}

function takeOption(input: TurnInput, valid: ValidOptions, option: ExpandOption): void {
  const interdependent = hasInterdependentPods(input);
  const kept = interdependent || input.keepsNodes ? keepOption(input, option) : option.estimate;
  input.expansion.finishPacking();
  input.expansion.addNodes(option.template, kept);
  dropInvalid(valid, option, interdependent);
}

function keepOption(input: TurnInput, { template, limit }: ExpandOption): Estimate {
  return atomicEstimate(keepPacking(input, [{ template, limit }], limit), template, limit);
}

/**
 * Shares the chosen option's nodes among the groups similar to it. Each group takes what its share of nodes holds, by an
 * estimate of its own, so that zones and rules between pods stay true. The next round plans what the shares left over.
 * Returns whether anything was taken.
 */
function takeBalanced(input: TurnInput, valid: ValidOptions, option: ExpandOption): boolean {
  const { expansion } = input;
  const alike = input.balance && !input.allOrNothing ? similarTo(input, option) : [];
  if (alike.length < 2) return false;
  const sizes = alike.map(({ group }) => ({ id: group.id, size: expansion.sizeOf(group.id), maxSize: expansion.ceilingOf(group.id) }));
  const shares = shareEvenly(sizes, option.estimate.nodes);
  let taken = false;
  for (const template of alike) {
    const limit = Math.min(shares.get(template.group.id) ?? 0, expansion.allowedByLimits(template));
    if (limit < 1) continue;
    const share = makeOption(input, template, limit);
    if (share.scored.pods === 0) continue;
    takeOption(input, valid, share);
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

function findOptions(input: TurnInput, valid: ValidOptions): readonly ExpandOption[] {
  const { expansion } = input;
  return visitFrom(input.templates, input.rotation, (template): readonly ExpandOption[] => {
    const { id } = template.group;
    const limit = expansion.nodesLeft(template);
    if (limit < 1) return [];
    const known = valid.get(id);
    const isValid = known !== undefined && (known.limit === limit || known.estimate.nodes < Math.min(limit, known.limit));
    if (!isValid && !expansion.startEstimate([template])) return [];
    const option = isValid ? { ...known, limit } : makeOption(input, template, limit);
    valid.set(id, option);
    return option.scored.pods > 0 ? [option] : [];
  });
}

function makeOption(input: TurnInput, template: GroupTemplate, limit: number): ExpandOption {
  const packed = hasInterdependentPods(input) ? tryPacking(input, [{ template, limit }], limit) : estimate(input.groups, template, limit);
  const found = atomicEstimate(packed, template, limit);
  return { template, estimate: found, limit, scored: scoreOption(template, found, input.scoring) };
}

/** Places pods on nodes of the snapshot if possible; these pods need no new node any more. */
function retryPods(input: TurnInput, groups: readonly EquivalenceGroup[]): void {
  const waiting = groups.filter((group) => group.pods.length > 0);
  if (waiting.length === 0) return;
  const left = new Set(input.retry(waiting.flatMap((group) => group.pods)));
  for (const { pods } of waiting) keepOnly(pods, left);
}

/** Works in place and keeps the order. `splice` is no choice: there may be more pods than a call takes arguments. */
function keepOnly(pods: Pod[], left: ReadonlySet<Pod>): void {
  let kept = 0;
  for (const pod of pods) if (left.has(pod)) pods[kept++] = pod;
  pods.length = kept;
}

/** An estimate holds until a pod that it placed has a place. With interdependent pods no estimate holds. */
function dropInvalid(valid: ValidOptions, chosen: ExpandOption, interdependent: boolean): void {
  for (const [id, option] of valid) {
    const touched = [...option.estimate.placed.keys()].some((group) => chosen.estimate.placed.has(group));
    if (interdependent || touched || option === chosen) valid.delete(id);
  }
}
