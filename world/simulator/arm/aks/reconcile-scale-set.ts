/** What the AKS provider does to the scale set of an agent pool. It is a writer of its own beside all others. */
import { isDeepStrictEqual } from 'node:util';
import { pickObject, type JsonObject } from '../http/json.ts';
import type { Principal } from '../http/messages.ts';
import { limitsOf } from '../state/agent-pool-limits.ts';
import { deallocateDownTo, deallocatesMachines } from './agent-pool-deallocation.ts';
import { isStopped, targetSize } from './agent-pool-power.ts';
import { AKS_PRINCIPAL } from '../http/principals.ts';
import { acceptModel, affordable, writeCapacity } from '../compute/set-capacity.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import { checkRemoval } from '../state/write-safety-rules.ts';
import { capacityOf, type AgentPool, type ArmWorld } from '../state/arm-state.ts';

/** Copies a pool's tags to its set. The provider's own tags on the set stay. */
export function copyTagsToSet(world: ArmWorld, pool: AgentPool, before: JsonObject): void {
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  const tags = pickObject(pool.properties, 'tags');
  if (set === undefined || isDeepStrictEqual(tags, before)) return;
  const kept = Object.entries(pickObject(set.document, 'tags')).filter(([name]) => before[name] === undefined);
  const next = { ...set.document, tags: { ...Object.fromEntries(kept), ...tags } };
  const { id } = acceptModel(world, set, next, { principal: AKS_PRINCIPAL, conditional: false });
  recordSetChange(world, set, { why: 'retag', principal: AKS_PRINCIPAL, before: capacityOf(set), opId: id });
}

/**
 * Scales the set as a writer of its own, within the quota. A client that lowers the count lets the provider choose which VMs are
 * deleted.
 */
export function copyCountToSet(world: ArmWorld, pool: AgentPool, principal: Principal): void {
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  const goal = targetSize(world, pool);
  if (set !== undefined && deallocatesMachines(pool.properties) && !isStopped(world, pool)) {
    deallocateDownTo(world, set, goal);
    return;
  }
  if (set === undefined || capacityOf(set) === goal || !affordable(world, set, goal)) return;
  const living = new Set([...set.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting'));
  const before = capacityOf(set);
  const { id } = writeCapacity(world, set, goal, AKS_PRINCIPAL);
  recordSetChange(world, set, { why: 'rpReconcile', principal: AKS_PRINCIPAL, before, opId: id });
  const vms = [...living].filter((vm) => vm.provisioningState === 'Deleting');
  const { min } = limitsOf(pool.spec, pool.properties);
  checkRemoval(world, { name: pool.name, min }, { principal, vms, capacityAfter: goal, named: false });
}
