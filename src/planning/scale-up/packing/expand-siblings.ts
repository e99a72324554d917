/** Groups that are one per zone, or alike, estimated and grown as one. */
import { isWhole } from '../../../domain/node-group.ts';
import { estimateInterdependent, type FamilyMember, type InterdependentEstimate } from './estimate-interdependent.ts';
import { asBought, count, inTurn, isTooLate, limitOf, tiedLimits, type GrowInput, type Option, type Progress } from './expansion.ts';
import { nodesAllowed, type Headroom } from '../groups/limits.ts';
import { scoreOption } from './option-score.ts';
import { zonalFamilies } from '../groups/zonal-siblings.ts';
import { similarFamilies } from '../groups/similar-groups.ts';
import type { GroupTemplate } from '../groups/template-node.ts';
import { withFork } from '../../../scheduling/snapshot/fork.ts';

/** Siblings, or groups that are alike, that cost the same and that the user's own order does not tell apart. */
export function findFamilies({ templates, likeness, scoring, together }: GrowInput): readonly (readonly GroupTemplate[])[] {
  const preference = (group: GroupTemplate['group']): string => `${scoring.priorityOf(group)} ${scoring.priceOf(group)}`;
  const wholes = templates.filter(({ group }) => isWhole(group)).map((template) => [template]);
  const others = templates.filter(({ group }) => !isWhole(group));
  const families = together === true ? similarFamilies(others, likeness, preference) : zonalFamilies(others, likeness, preference);
  return [...families, ...wholes];
}

export function findFamilyOptions(
  input: GrowInput,
  progress: Progress,
  families: readonly (readonly GroupTemplate[])[],
): readonly Option[] {
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
  members: readonly FamilyMember[],
  how: { readonly turn: number; readonly headroom: Headroom },
): InterdependentEstimate {
  const limits = { ...familyLimits(members, how), keep: false };
  return withFork(input.snapshot, () => estimateInterdependent(input.groups, members, limits, input.snapshot));
}

export function takeFamily(input: GrowInput, progress: Progress, members: readonly FamilyMember[]): void {
  const limits = familyLimits(members, { turn: progress.kept, headroom: progress.headroom });
  const found = estimateInterdependent(input.groups, members, { ...limits, keep: true }, input.snapshot);
  for (const [name, group] of found.added) input.planned.set(name, group);
  progress.kept += 1;
  progress.standing.clear();
  found.shares.forEach((share, index) => {
    const template = members[index]?.template;
    if (template !== undefined && share.placed.size > 0) count(progress, template, share);
  });
}

function familyLimits(members: readonly FamilyMember[], { turn, headroom }: { readonly turn: number; readonly headroom: Headroom }) {
  const allowed = members.map(({ template }) => nodesAllowed(headroom, template.template));
  return tiedLimits(Math.min(...allowed), turn);
}
