/** Groups that are one per zone, or similar, estimated and grown as one family. A group alone is a family of one. */
import { isWhole } from '../../../domain/node-group.ts';
import { withFork } from '../../../scheduling/snapshot/snapshot.ts';
import { similarFamilies } from '../groups/similar-groups.ts';
import type { GroupTemplate } from '../groups/template-node.ts';
import { zonalFamilies } from '../groups/zonal-siblings.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { estimateInterdependent, type FamilyMember, type InterdependentEstimate } from './estimate-interdependent.ts';
import type { ExpandInput, Expansion } from './expansion.ts';
import { atomicEstimate, scoreOption, type ExpandOption } from './option-score.ts';

/** One turn of a plan: the pods that are served together. */
export interface TurnInput extends Omit<ExpandInput, 'turns'> {
  readonly expansion: Expansion;
  readonly groups: readonly EquivalenceGroup[];
  /** Whether new nodes always go into the snapshot: pods of a later turn may use what is left of them. */
  readonly keepsNodes: boolean;
}

/** Families of zonal or similar groups that have the same price and the same priority of the user's rules. */
export function findFamilies(input: TurnInput): readonly (readonly GroupTemplate[])[] {
  const { templates, similarity, scoring } = input;
  const preference = (group: GroupTemplate['group']): string => `${scoring.priorityOf(group)} ${scoring.priceOf(group)}`;
  const atomic = templates.filter(({ group }) => isWhole(group)).map((template) => [template]);
  const others = templates.filter(({ group }) => !isWhole(group));
  const findAlike = areOneOption(input) ? similarFamilies : zonalFamilies;
  return [...findAlike(others, similarity, preference), ...atomic];
}

/** Whether similar groups are one option, whatever their zones. */
export function areOneOption({ allOrNothing, balance }: Pick<ExpandInput, 'allOrNothing' | 'balance'>): boolean {
  return allOrNothing && balance;
}

export function findFamilyOptions(input: TurnInput, families: readonly (readonly GroupTemplate[])[]): readonly ExpandOption[] {
  const { expansion } = input;
  return visitFrom(families, input.rotation, (family): readonly ExpandOption[] => {
    const members = family.map((template) => ({ template, limit: expansion.nodesLeft(template) })).filter(({ limit }) => limit > 0);
    const [first] = members;
    if (first === undefined || !expansion.startEstimate(members.map((member) => member.template))) return [];
    const { template, limit } = first;
    const estimate = atomicEstimate(tryPacking(input, members, familyLimit(expansion, members)), template, limit);
    const scored = scoreOption(template, estimate, input.scoring);
    return scored.pods > 0 ? [{ template, family: members, estimate, limit, scored }] : [];
  });
}

export function takeFamily(input: TurnInput, members: readonly FamilyMember[]): void {
  const { expansion } = input;
  const kept = keepPacking(input, members, familyLimit(expansion, members));
  expansion.finishPacking();
  kept.shares.forEach((share, index) => {
    const template = members[index]?.template;
    if (template !== undefined && share.placed.size > 0) expansion.addNodes(template, share);
  });
}

function familyLimit(expansion: Expansion, members: readonly FamilyMember[]): number {
  return Math.min(...members.map(({ template }) => expansion.allowedByLimits(template)));
}

/** Packs at most `nodes` new nodes and leaves the snapshot as it was. */
export function tryPacking(input: TurnInput, members: readonly FamilyMember[], nodes: number): InterdependentEstimate {
  const limits = { nodes, prefix: input.expansion.nodeNamePrefix, keep: false };
  return withFork(input.snapshot, () => estimateInterdependent(input.groups, members, limits, input.snapshot));
}

/** Packs once more, to stay in the snapshot: what is counted is what the snapshot holds. */
export function keepPacking(input: TurnInput, members: readonly FamilyMember[], nodes: number): InterdependentEstimate {
  const limits = { nodes, prefix: input.expansion.nodeNamePrefix, keep: true };
  const kept = estimateInterdependent(input.groups, members, limits, input.snapshot);
  for (const [name, group] of kept.added) input.planned.set(name, group);
  return kept;
}

/** Visits the items from index `start` on (modulo their number), then those before; returns the results in the items' order. */
export function visitFrom<Item, Found>(items: readonly Item[], start: number, visit: (item: Item) => readonly Found[]): readonly Found[] {
  const first = items.length === 0 ? 0 : start % items.length;
  const behind = items.slice(first).flatMap(visit);
  return [...items.slice(0, first).flatMap(visit), ...behind];
}
