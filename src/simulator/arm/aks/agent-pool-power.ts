/**
 * Whether pools are switched on. AKS deletes the machines of a pool that is stopped, by itself or with its cluster, and keeps its
 * count; when it starts, as many others come, by other names.
 */
import { isVmsPool, poolSize } from '../state/agent-pool-document.ts';
import { aksError } from '../http/errors.ts';
import { pick, type JsonObject } from '../http/json.ts';
import type { ArmReply } from '../http/messages.ts';
import type { AgentPool, ArmWorld } from '../state/arm-state.ts';

function isOff(properties: JsonObject): boolean {
  return pick(properties, 'powerState', 'code') === 'Stopped';
}

export function isStopped(world: ArmWorld, pool: AgentPool): boolean {
  return world.clusterStopped || isOff(pool.properties);
}

/** How many machines the provider wants a pool to have now. */
export function wantedOf(world: ArmWorld, pool: AgentPool): number {
  return isStopped(world, pool) ? 0 : poolSize(pool);
}

/** What an operation that takes a pool from one state to the other is called while it runs; undefined: it does not. */
export function powerChange(before: JsonObject, after: JsonObject): 'Starting' | 'Stopping' | undefined {
  if (isOff(before) === isOff(after)) return undefined;
  return isOff(after) ? 'Stopping' : 'Starting';
}

/** Only what runs can be changed, but for being started; pools that run the system stay on, and those without a scale set cannot be stopped. */
export function refusePower(world: ArmWorld, pool: AgentPool, next: JsonObject): ArmReply | undefined {
  if (world.clusterStopped)
    return aksError(409, 'OperationNotAllowed', 'The managed cluster is stopped. Start it to change its agent pools.');
  if (powerChange(pool.properties, next) !== 'Stopping') return undefined;
  if (pool.properties['mode'] === 'System') return aksError(400, 'BadRequest', 'A system agent pool cannot be stopped.');
  return isVmsPool(pool) ? aksError(400, 'BadRequest', 'Only agent pools of type VirtualMachineScaleSets can be stopped.') : undefined;
}
