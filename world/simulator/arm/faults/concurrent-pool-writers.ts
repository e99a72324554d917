/** Another writer of agent pools. It makes real changes through the same code as a PUT. */
import { isVmsPool, manualScale, poolSize } from '../state/agent-pool-document.ts';
import { acceptPool } from '../aks/agent-pools.ts';
import type { ForeignChange } from './concurrent-writers.ts';
import { pickObject, type JsonObject } from '../http/json.ts';
import { isIdle, refuseProperties } from '../aks/agent-pool-validation.ts';
import { FOREIGN_WRITER } from '../http/principals.ts';
import { recordPoolChange } from '../state/world-events-journal.ts';
import type { AgentPool, ArmWorld } from '../state/arm-state.ts';

export type ForeignPoolChange = ForeignChange & { readonly vmSize?: string };

/** Scales a pool with a scale set: its count, which AKS copies to the set. @returns why nothing was done, or undefined. */
function scaleCountAsForeigner(world: ArmWorld, pool: AgentPool, change: ForeignChange): string | undefined {
  const before = poolSize(pool);
  const count = Math.max(0, 'to' in change ? change.to : before + change.delta);
  const next = { ...pool.properties, count };
  if (count === before || refuseProperties(world, pool, next) !== undefined) return `AKS refuses ${count} VMs in pool "${pool.name}"`;
  const { id } = acceptPool(world, pool, next, FOREIGN_WRITER);
  recordPoolChange(world, pool, { why: 'foreignScale', principal: FOREIGN_WRITER, before, opId: id });
  return undefined;
}

/**
 * Scales one size, by default the first, as a person with the command line would. The journal records it as an event.
 * @returns why nothing was done, or undefined.
 */
export function scalePoolAsForeigner(world: ArmWorld, pool: AgentPool, change: ForeignPoolChange): string | undefined {
  if (!isVmsPool(pool)) return scaleCountAsForeigner(world, pool, change);
  const scale = manualScale(pool.properties);
  const size = (change.vmSize ?? scale[0]?.size ?? pool.spec.vmSize).toLowerCase();
  const before = scale.find((entry) => entry.size.toLowerCase() === size)?.count ?? 0;
  const after = Math.max(0, 'to' in change ? change.to : before + change.delta);
  const next = withManual(
    pool,
    scale.map((entry) => (entry.size.toLowerCase() === size ? { ...entry, count: after } : entry)),
  );
  if (refuseProperties(world, pool, next) !== undefined) return `AKS refuses ${after} VMs of size ${size} in pool "${pool.name}"`;
  const sizeBefore = poolSize(pool);
  const { id } = acceptPool(world, pool, next, FOREIGN_WRITER);
  recordPoolChange(world, pool, { why: 'foreignScale', principal: FOREIGN_WRITER, before: sizeBefore, opId: id });
  return undefined;
}

/** Applies the pending change of a foreign writer. Call it before a client's write of the pool is handled. */
export function applyPendingForeignPoolWrite(world: ArmWorld, pool: AgentPool): void {
  const change = pool.pendingForeignWrite;
  pool.pendingForeignWrite = undefined;
  if (change !== undefined) scalePoolAsForeigner(world, pool, change);
}

/** Changes tags of a pool as `az aks nodepool update --tags` does; null removes a tag. @returns what is wrong, or undefined. */
export function retagPool(world: ArmWorld, pool: AgentPool, changes: JsonObject): string | undefined {
  if (!isIdle(pool)) return `pool "${pool.name}" is ${pool.provisioningState}`;
  const tags = Object.entries({ ...pickObject(pool.properties, 'tags'), ...changes }).filter(([, value]) => value !== null);
  acceptPool(world, pool, { ...pool.properties, tags: Object.fromEntries(tags) }, FOREIGN_WRITER);
  return undefined;
}

function withManual(pool: AgentPool, manual: readonly { readonly size: string; readonly count: number }[]): JsonObject {
  const profile = pickObject(pool.properties, 'virtualMachinesProfile');
  return { ...pool.properties, virtualMachinesProfile: { ...profile, scale: { ...pickObject(profile, 'scale'), manual } } };
}
