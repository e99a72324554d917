/** Writers other than the client under test. They make real changes through the same code. */
import { FOREIGN_WRITER } from '../http/principals.ts';
import { beginOperation } from '../compute/operations.ts';
import { acceptRemoval, affordable, livingVms, setKey, writeCapacity } from '../compute/set-capacity.ts';
import { deallocateVm, startVm } from '../compute/vm-lifecycle.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import { capacityOf, type ArmWorld, type ScaleSet } from '../state/arm-state.ts';

export type ForeignChange = { readonly to: number } | { readonly delta: number };

/**
 * Scales a set as a person in the portal would, within the quota. The journal records it as an event, not as a request.
 * @returns why nothing was done, or undefined.
 */
export function scaleAsForeigner(world: ArmWorld, set: ScaleSet, change: ForeignChange): string | undefined {
  const before = capacityOf(set);
  const after = Math.max(0, 'to' in change ? change.to : before + change.delta);
  if (after === before) return undefined;
  if (!affordable(world, set, after)) return `the quota does not allow ${after} instances in the scale set of pool "${set.pool.name}"`;
  const { id } = writeCapacity(world, set, after, FOREIGN_WRITER);
  recordSetChange(world, set, { why: 'foreignScale', principal: FOREIGN_WRITER, before, opId: id });
  return undefined;
}

/** Deletes instances as another autoscaler would, in one call. @returns why nothing was done, or undefined. */
export function deleteAsForeigner(world: ArmWorld, set: ScaleSet, instanceIds: readonly string[]): string | undefined {
  const vms = instanceIds.flatMap((id) => set.vms.get(id.toLowerCase()) ?? []);
  const before = capacityOf(set);
  if (vms.length < instanceIds.length) return `an instance to delete does not exist in pool "${set.pool.name}"`;
  const { id } = acceptRemoval(world, set, { vms, forced: false, principal: FOREIGN_WRITER, named: true });
  recordSetChange(world, set, { why: 'foreignDelete', principal: FOREIGN_WRITER, before, opId: id });
  return undefined;
}

/** Starts or deallocates instances as a person with the CLI would. @returns why nothing was done, or undefined. */
export function changePowerAsForeigner(world: ArmWorld, set: ScaleSet, action: 'start' | 'deallocate', count = 1): string | undefined {
  const from = action === 'start' ? 'deallocated' : 'running';
  const vms = livingVms(set)
    .filter(({ power }) => power === from)
    .slice(0, count);
  if (vms.length < count) return `pool "${set.pool.name}" has no ${count} instances that are ${from}`;
  for (const vm of vms) (action === 'start' ? startVm : deallocateVm)(world, vm);
  const { id } = beginOperation(world, {
    kind: action,
    pool: set.pool.name,
    setKey: setKey(set),
    principal: FOREIGN_WRITER.clientId,
    pending: vms,
    retryAfterSeconds: world.knobs.retryAfterSeconds.deallocate,
  });
  recordSetChange(world, set, { why: 'foreignPower', principal: FOREIGN_WRITER, before: capacityOf(set), opId: id });
  return undefined;
}

/** Applies the pending change of a foreign writer. Call it before a client's write of the set is handled. */
export function applyPendingForeignWrite(world: ArmWorld, set: ScaleSet): void {
  const change = set.pendingForeignWrite;
  set.pendingForeignWrite = undefined;
  if (change !== undefined) scaleAsForeigner(world, set, change);
}
