/** Writers other than the one under observation: real changes, made through the same door. */
import type { Principal } from './messages.ts';
import { writeCapacity } from './scaling.ts';
import { capacityOf, type ArmWorld, type ScaleSet } from './world-state.ts';

export const FOREIGN_WRITER: Principal = { clientId: 'foreign-writer', foreign: true };

export type ForeignChange = { readonly to: number } | { readonly delta: number };

/** Scales a set as a person in the portal would. Journaled as an event, not as a request. */
export function scaleAsForeigner(world: ArmWorld, set: ScaleSet, change: ForeignChange): void {
  const before = capacityOf(set);
  const after = Math.max(0, 'to' in change ? change.to : before + change.delta);
  if (after === before) return;
  const operation = writeCapacity(world, set, after, FOREIGN_WRITER);
  world.journal.add({
    seq: world.journal.nextSeq(),
    at: world.clock.now(),
    method: 'EVENT',
    route: 'EVENT foreignScale',
    path: set.resourceId,
    status: 200,
    principal: FOREIGN_WRITER.clientId,
    pool: set.pool.name,
    capacityBefore: before,
    capacityAfter: after,
    opId: operation.id,
  });
}

/** Lets a waiting foreign writer go first. Call before a judged principal's write of the set is looked at. */
export function springAmbush(world: ArmWorld, set: ScaleSet): void {
  const change = set.ambush;
  set.ambush = undefined;
  if (change !== undefined) scaleAsForeigner(world, set, change);
}
