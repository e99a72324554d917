/** Whether a group is at rest, as far as its view shows. Must not know who asks. */
import type { NodeGroup } from '../../domain/node-group.ts';

/** Whether no change is known to run in the group. `inFlight`: our changes that have not ended. */
export function isGroupSettled({ target, instances, blocks }: NodeGroup, inFlight: number): boolean {
  if (!target.known || !target.confirmed || inFlight > 0 || blocks.change !== undefined) return false;
  return instances?.every(({ state }) => state === 'running' || state === 'deallocated') === true;
}
