/**
 * The power state of pools. AKS deletes the VMs of a pool that is stopped, alone or with its cluster, and remembers its count. A
 * start creates as many VMs with new names.
 */
import { isPoweredOff, isVmsPool, poolSize } from '../state/agent-pool-document.ts';
import { aksError } from '../http/errors.ts';
import type { JsonObject } from '../http/json.ts';
import type { ArmReply } from '../http/messages.ts';
import type { AgentPool, ArmWorld } from '../state/arm-state.ts';

export function isStopped(world: ArmWorld, pool: AgentPool): boolean {
  return world.clusterStopped || isPoweredOff(pool.properties);
}

/** The number of VMs that the provider wants in a pool now. */
export function targetSize(world: ArmWorld, pool: AgentPool): number {
  return isStopped(world, pool) ? 0 : poolSize(pool);
}

/** A write may repeat the count 0 that a stopped pool shows; it is no change. */
export function withoutShownZero({ properties }: AgentPool, given: JsonObject): JsonObject {
  if (!isPoweredOff(properties) || given['count'] !== 0) return given;
  const { count: _count, ...rest } = given;
  return rest;
}

/** The provisioning state of an operation that changes the power state. undefined: the power state does not change. */
export function powerChange(before: JsonObject, after: JsonObject): 'Starting' | 'Stopping' | undefined {
  if (isPoweredOff(before) === isPoweredOff(after)) return undefined;
  return isPoweredOff(after) ? 'Stopping' : 'Starting';
}

/** Refuses every change of a stopped pool except its start. System pools and pools without a scale set cannot be stopped. */
export function refusePower(world: ArmWorld, pool: AgentPool, next: JsonObject): ArmReply | undefined {
  if (world.clusterStopped)
    return aksError(409, 'OperationNotAllowed', 'The managed cluster is stopped. Start it to change its agent pools.');
  if (powerChange(pool.properties, next) !== 'Stopping') return undefined;
  if (pool.properties['mode'] === 'System') return aksError(400, 'BadRequest', 'A system agent pool cannot be stopped.');
  return isVmsPool(pool) ? aksError(400, 'BadRequest', 'Only agent pools of type VirtualMachineScaleSets can be stopped.') : undefined;
}
