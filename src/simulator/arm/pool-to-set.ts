/** What the provider does to the scale set of an agent pool, as a writer of its own beside all others. */
import { isDeepStrictEqual } from 'node:util';
import { poolSize } from './agent-pool-document.ts';
import { pickObject, type JsonObject } from './json.ts';
import type { Principal } from './messages.ts';
import { limitsOf } from './pool-limits.ts';
import { acceptModel, writeCapacity } from './scaling.ts';
import { judgeRemoval } from './write-judge.ts';
import { capacityOf, type AgentPool, type ArmWorld } from './world-state.ts';

/** The provider itself, when it acts on scale sets. */
export const AKS_PRINCIPAL: Principal = { clientId: 'aks-resource-provider', foreign: true };

/** A pool's tags are its set's, beside those that the provider keeps on it. */
export function copyTagsToSet(world: ArmWorld, pool: AgentPool, before: JsonObject): void {
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  const tags = pickObject(pool.properties, 'tags');
  if (set === undefined || isDeepStrictEqual(tags, before)) return;
  const kept = Object.entries(pickObject(set.document, 'tags')).filter(([name]) => before[name] === undefined);
  acceptModel(
    world,
    set,
    { ...set.document, tags: { ...Object.fromEntries(kept), ...tags } },
    { principal: AKS_PRINCIPAL, conditional: false },
  );
}

/** The provider scales the set as a writer of its own. A client that lowers the count leaves the choice of victims to it. */
export function copyCountToSet(world: ArmWorld, pool: AgentPool, principal: Principal): void {
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  if (set === undefined) return;
  const before = new Set([...set.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting'));
  if (capacityOf(set) !== poolSize(pool)) writeCapacity(world, set, poolSize(pool), AKS_PRINCIPAL);
  const victims = [...before].filter((vm) => vm.provisioningState === 'Deleting');
  judgeRemoval(
    world,
    { name: pool.name, min: limitsOf(pool.spec, pool.properties).min },
    { principal, vms: victims, capacityAfter: poolSize(pool), named: false },
  );
}
