/**
 * Azure taking Spot machines back: a notice of thirty seconds, then they vanish and the capacity falls, or, by the set's
 * policy, they are deallocated and keep their place in the capacity.
 */
import { FOREIGN_WRITER } from './ambush.ts';
import type { ArmReply, ArmRequest } from './messages.ts';
import { entityNotFound, armError } from './errors.ts';
import { param } from './messages.ts';
import { pickText } from './json.ts';
import { deallocate } from './lifecycle.ts';
import { acceptRemoval } from './scaling.ts';
import { notFound, setOf } from './scale-sets.ts';
import { later, type ArmWorld, type ScaleSet } from './world-state.ts';

export interface Eviction {
  /** How many, the newest first. Default: one. */
  readonly count?: number;
  readonly instanceIds?: readonly string[];
}

export function evict(world: ArmWorld, set: ScaleSet, { count, instanceIds }: Eviction): void {
  const running = [...set.vms.values()].filter((vm) => vm.provisioningState === 'Succeeded').toReversed();
  const chosen = instanceIds === undefined ? running.slice(0, count ?? 1) : running.filter((vm) => instanceIds.includes(vm.key));
  const noticeMs = world.draws.latency(`evict|${set.name}|${set.etag}`, world.knobs.evictionNotice);
  const spot = set.pool.priority === 'Spot';
  if (spot) for (const vm of chosen) world.park.tellPreempt(vm, world.clock.now() + noticeMs / world.clock.speed);
  later(world, noticeMs, () => {
    const vms = chosen.filter((vm) => vm.provisioningState !== 'Deleting' && set.vms.get(vm.key) === vm);
    if (vms.length === 0) return;
    if (spot && pickText(set.document, 'properties', 'virtualMachineProfile', 'evictionPolicy') === 'Deallocate') {
      for (const vm of vms) deallocate(world, vm);
      return;
    }
    // The hardware is taken away at once; the resource goes a little later.
    if (spot) for (const vm of vms) world.park.tell({ kind: 'stopped', vm });
    acceptRemoval(world, set, { vms, forced: true, principal: FOREIGN_WRITER, named: true });
  });
}

/** A client asks for the eviction of one instance: 204, and it happens later. Only Spot machines can be evicted. */
export function simulateEviction(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  const id = param(request, 'instance');
  if (!set.vms.has(id)) return entityNotFound();
  if (set.pool.priority !== 'Spot')
    return armError(409, 'OperationNotAllowed', 'Simulate eviction is supported for Spot virtual machines only.');
  evict(world, set, { instanceIds: [id] });
  return { status: 204 };
}
