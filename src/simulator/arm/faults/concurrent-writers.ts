/** Writers other than the one under observation: real changes, made through the same door. */
import { FOREIGN_WRITER } from '../http/principals.ts';
import { affordable, writeCapacity } from '../compute/set-capacity.ts';
import { noteSetChange } from '../state/world-events-journal.ts';
import { capacityOf, type ArmWorld, type ScaleSet } from '../state/arm-state.ts';

export type ForeignChange = { readonly to: number } | { readonly delta: number };

/**
 * Scales a set as a person in the portal would, as far as the quota goes. Journaled as an event, not as a request.
 * @returns why nothing was done, or undefined.
 */
export function scaleAsForeigner(world: ArmWorld, set: ScaleSet, change: ForeignChange): string | undefined {
  const before = capacityOf(set);
  const after = Math.max(0, 'to' in change ? change.to : before + change.delta);
  if (after === before) return undefined;
  if (!affordable(world, set, after)) return `the quota does not allow ${after} machines in the scale set of pool "${set.pool.name}"`;
  const { id } = writeCapacity(world, set, after, FOREIGN_WRITER);
  noteSetChange(world, set, { why: 'foreignScale', principal: FOREIGN_WRITER, before, opId: id });
  return undefined;
}

/** Lets a waiting foreign writer go first. Call before a judged principal's write of the set is looked at. */
export function applyPendingForeignWrite(world: ArmWorld, set: ScaleSet): void {
  const change = set.ambush;
  set.ambush = undefined;
  if (change !== undefined) scaleAsForeigner(world, set, change);
}
