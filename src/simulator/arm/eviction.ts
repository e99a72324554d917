/** Azure taking Spot machines back: a notice, then they vanish and the capacity falls. */
import { FOREIGN_WRITER } from './ambush.ts';
import type { ArmReply, ArmRequest } from './messages.ts';
import { entityNotFound, armError } from './errors.ts';
import { param } from './messages.ts';
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
  const notice = world.draws.latency(`evict|${set.name}|${set.etag}`, world.knobs.evictionNotice);
  later(world, notice, () => {
    const vms = chosen.filter((vm) => vm.provisioningState !== 'Deleting' && set.vms.get(vm.key) === vm);
    if (vms.length > 0) acceptRemoval(world, set, { vms, forced: true, principal: FOREIGN_WRITER, named: true });
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
