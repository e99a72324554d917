/** Groups that came and went between two registrations, and why they went. Pure. */
import type { CloudEvent } from '../../domain/observation.ts';
import type { Registered, Registration } from './registry.ts';

/** `isListed`: whether Azure still lists the set, or the size, that a group was made of. */
export function comingsOf(
  before: Registration | undefined,
  after: Registration,
  atMs: number,
  isListed: (group: Registered) => boolean,
): readonly CloudEvent[] {
  if (before === undefined || before === after) return [];
  const came = [...after.byId.keys()].filter((id) => !before.byId.has(id));
  const went = [...before.byId.values()].filter(({ id }) => !after.byId.has(id));
  return [
    ...came.map((group) => ({ kind: 'group-appeared' as const, group, atMs })),
    ...went.map((group) => ({ kind: 'group-vanished' as const, group: group.id, because: goneBecause(group, after, isListed), atMs })),
  ];
}

function goneBecause(group: Registered, { groups, skipped }: Registration, isListed: (group: Registered) => boolean): string {
  const other = groups.get(group.key);
  if (other !== undefined) return `its machines are those of the node group "${other.id}"`;
  const reason = skipped.get(group.key) ?? skipped.get(group.id);
  if (reason !== undefined) return reason;
  return isListed(group) ? 'it is neither named nor selected by a rule' : 'Azure lists it no more';
}
