/** What the AKS provider does to the scale set and the nodes of an agent pool. It is a writer of its own beside all others. */
import { isDeepStrictEqual } from 'node:util';
import { pickObject, type JsonObject } from '../http/json.ts';
import type { Principal } from '../http/messages.ts';
import { limitsOf } from '../state/agent-pool-limits.ts';
import { deallocateDownTo, deallocatesMachines } from './agent-pool-deallocation.ts';
import { isStopped, targetSize } from './agent-pool-power.ts';
import { labelsIn } from './agent-pool-spec.ts';
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

/** The limits of AKS's own autoscaler are those of the last write of the pool. */
export function copyManagedLimits(world: ArmWorld, pool: AgentPool): void {
  const { enableAutoScaling, minCount: min, maxCount: max } = pool.properties;
  if (enableAutoScaling !== true || typeof min !== 'number' || typeof max !== 'number') return;
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  pool.spec = { ...pool.spec, min, max };
  if (set !== undefined) set.pool = pool.spec;
}

/**
 * A write of a pool replaces the labels that clients gave it, also on the nodes that are there: AKS documents `az aks nodepool update --labels` with a look
 * at the nodes right after it (learn.microsoft.com/azure/aks/use-labels, June 2024). VMs begin with the new labels from now on.
 *
 * @returns what gives them to the nodes that are there, for the end of the operation. undefined: the labels are the same.
 */
export function relabelNodes(world: ArmWorld, pool: AgentPool, propertiesBefore: JsonObject): (() => void) | undefined {
  const [before, labels] = [labelsIn(propertiesBefore), labelsIn(pool.properties)];
  if (isDeepStrictEqual(before, labels)) return undefined;
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  pool.spec = { ...pool.spec, labels };
  if (set !== undefined) set.pool = pool.spec;
  const vms = [...(set ?? pool).vms.values()];
  for (const vm of vms) vm.pool = pool.spec;
  const removed = Object.keys(before).filter((key) => labels[key] === undefined);
  return () => {
    for (const vm of vms) world.vmFeed.publishLabels(vm, removed);
  };
}
