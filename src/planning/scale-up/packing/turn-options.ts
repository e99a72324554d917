/** Options of one turn: what a group, or a family of groups, would serve with how many nodes; and how an option is taken. */
import { isWhole } from '../../../domain/node-group.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { withForkInSlices } from '../../../scheduling/snapshot/snapshot.ts';
import { freeAmong } from '../groups/quotas.ts';
import { similarFamilies } from '../groups/similar-groups.ts';
import type { GroupTemplate } from '../groups/template-node.ts';
import { dependsOnZones, zonalFamilies } from '../groups/zonal-siblings.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import type { ExpandInput, Expansion } from './expansion.ts';
import { atomicEstimate, scoreOption, type ExpandOption } from './option-score.ts';
import { packNewNodes, type PackedNodes } from './pack-new-nodes.ts';
import type { FamilyMember } from './place-pods.ts';
import type { SharedEstimates } from './shared-estimates.ts';

/** One turn of a plan: the pods that are served together. */
export interface TurnInput extends Omit<ExpandInput, 'turns'> {
  readonly expansion: Expansion;
  readonly groups: readonly EquivalenceGroup[];
  /** Whether new nodes always go into the snapshot: pods of a later turn may use what is left of them. */
  readonly keepsNodes: boolean;
  readonly estimates: SharedEstimates;
}

/** Groups that are planned as one. A group alone is a family of one. */
export type Family = readonly GroupTemplate[];

/**
 * The families as long as pods are left whose places depend on the zones of other pods, or if similar groups are one option. They have
 * the same price and the same priority of the user's rules.
 */
export function findFamilies(input: TurnInput): readonly Family[] {
  const { templates, similarity, scoring } = input;
  const atomic = templates.filter(({ group }) => isWhole(group)).map((template) => [template]);
  const others = templates.filter(({ group }) => !isWhole(group));
  const findAlike = areOneOption(input) ? similarFamilies : zonalFamilies;
  return [...findAlike(others, similarity, scoring.preferenceOf), ...atomic];
}

/** Whether similar groups are one option, whatever their zones. */
export function areOneOption({ allOrNothing, balance }: Pick<ExpandInput, 'allOrNothing' | 'balance'>): boolean {
  return allOrNothing && balance;
}

/** Whether nodes have to be planned one by one: pods are left whose places depend on other pods' places. */
export function hasInterdependentPods({ groups }: Pick<TurnInput, 'groups'>): boolean {
  return groups.some((group) => group.interdependent && group.pods.length > 0);
}

/** Whether pods are left whose places depend on the zones of other pods. */
export function hasZonalPods({ groups }: Pick<TurnInput, 'groups'>): boolean {
  return groups.some((group) => group.interdependent && group.pods.length > 0 && dependsOnZones(group));
}

/** Undefined if no member may grow. */
export function membersOf(input: TurnInput, family: Family): readonly [FamilyMember, ...FamilyMember[]] | undefined {
  const { expansion } = input;
  const [first, ...rest] = family
    .map((template) => ({ template, limit: Math.min(expansion.nodesLeft(template), paidLimit(input, family)) }))
    .filter(({ limit }) => limit > 0);
  return first === undefined ? undefined : [first, ...rest];
}

/**
 * An option of nodes that cost nothing has no others if prices are compared, so that the next round compares what the rest costs. Options that serve all
 * pods or none are whole.
 */
function paidLimit({ expansion, scoring, allOrNothing }: TurnInput, [template, ...others]: Family): number {
  if (template === undefined || others.length > 0 || allOrNothing || isWhole(template.group) || !scoring.comparesPrices) return Infinity;
  const free = freeAmong(expansion.free, template, Infinity);
  // guard: an option of paid nodes buys no others
  return free > 0 ? free : Infinity;
}

/** Leaves the snapshot as it was. */
export function* makeOption(input: TurnInput, family: readonly [FamilyMember, ...FamilyMember[]]): SlicedWork<ExpandOption> {
  const [{ template, limit }] = family;
  const { snapshot } = input.capacity;
  const packed = yield* input.estimates.find(family, nodesAllowed(input, family), () =>
    withForkInSlices(snapshot, () => pack(input, family, false)),
  );
  const estimate = atomicEstimate(packed, template, limit);
  yield;
  return { template, family, estimate, limit, scored: scoreOption(template, estimate, input.scoring, input.expansion.free) };
}

/**
 * Counts the nodes of the option. If other pods may depend on them, it is packed once more, to stay in the snapshot: what is counted is
 * what the snapshot holds.
 */
export function* takeOption(input: TurnInput, { family, estimate, limit }: ExpandOption): SlicedWork<void> {
  const { expansion } = input;
  const stays = family.length > 1 || input.keepsNodes || hasInterdependentPods(input);
  const kept = stays ? yield* pack(input, family, true) : undefined;
  for (const [name, group] of kept?.added ?? []) input.capacity.planned.set(name, group);
  expansion.finishPacking();
  input.estimates.clear();
  (kept?.shares ?? [estimate]).forEach((share, index) => {
    const template = family[index]?.template;
    if (template !== undefined && share.placed.size > 0) expansion.addNodes(template, atomicEstimate(share, template, limit));
  });
}

function pack(input: TurnInput, family: readonly FamilyMember[], keep: boolean): SlicedWork<PackedNodes> {
  const { groups, expansion, capacity } = input;
  return packNewNodes(groups, family, { nodes: nodesAllowed(input, family), prefix: expansion.nodeNamePrefix, keep }, capacity.snapshot);
}

function nodesAllowed({ expansion }: TurnInput, family: readonly FamilyMember[]): number {
  return Math.min(...family.map(({ template }) => expansion.allowedByLimits(template)));
}
