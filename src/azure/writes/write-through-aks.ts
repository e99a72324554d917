/**
 * Scale sets that are written through AKS: the count of their agent pool is raised, and AKS raises the capacity. Slower than a
 * write of the set, and bound to one operation at a time; in return AKS's count and the capacity never differ.
 */
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { IncreaseRequest } from '../../domain/ports/cloud.ts';
import { increaseCount, type PoolCount, type ReadPool } from './increase-agent-pool.ts';
import { getAgentPool, postDeleteMachines } from '../arm/agent-pool-api.ts';
import { isRecord } from '../arm/error-bodies.ts';
import { foldName } from '../arm/resource-ids.ts';
import { judgeCapacity, refreshedView } from './increase.ts';
import { stockHints, zoneFinder, type WriteAnswer, type WriteParts } from './write-context.ts';
import { isResting, POOL_UNKNOWN, type Registered } from '../groups/registry.ts';
import type { InstanceRow } from '../rows/scale-set.ts';

/** See the port. */
export function increaseThroughAks(
  parts: WriteParts,
  group: Registered,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  const name = parts.store.facts.poolOf(group)?.name;
  if (name === undefined) return Promise.resolve({ kind: 'refused', group: group.id, reason: POOL_UNKNOWN });
  return increaseCount(parts, group, { count: countOfPool(parts, group, name), request }, signal);
}

function countOfPool(parts: WriteParts, group: Registered, name: string): PoolCount {
  const { store } = parts;
  return {
    poolKey: foldName(name),
    table: store.scaleSets,
    heldBecause: () => store.vmsPools.poolHeldBecause(name),
    read: async (signal) => {
      const [raw] = await Promise.all([getAgentPool(parts, name, signal), store.refreshSet(group.key, signal)]);
      const etag = propertiesOf(raw)['eTag'];
      return { name, raw, etag: typeof etag === 'string' ? etag : undefined };
    },
    judge: (request, read) => judgePool(parts, group, request, read) ?? judgeCapacity(parts, group, request, refreshedView(parts, group)),
    body: (raw, to) => ({ ...(isRecord(raw) ? raw : {}), properties: { ...propertiesOf(raw), count: to } }),
    countIn: ({ body }) => {
      const { count } = propertiesOf(body);
      return typeof count === 'number' ? count : undefined;
    },
    // AKS writes the set some time after its answer.
    modelled: false,
    refresh: (signal) => store.refreshSet(group.key, signal),
    began: () => store.vmsPools.operationBegan(foldName(name)),
    ended: () => store.poolOperationEnded(name),
    hints: () => {
      const set = store.scaleSets.get(group.key)?.value;
      return set === undefined ? {} : stockHints(set, zoneFinder(store, group.key));
    },
  };
}

function propertiesOf(raw: unknown): Readonly<Record<string, unknown>> {
  return isRecord(raw) && isRecord(raw['properties']) ? raw['properties'] : {};
}

/** What AKS itself makes of a write now. undefined: nothing against it. */
function judgePool({ store }: WriteParts, group: Registered, request: IncreaseRequest, { raw }: ReadPool): IncreaseOutcome | undefined {
  const { provisioningState, enableAutoScaling, count, powerState, scaleDownMode } = propertiesOf(raw);
  const refused = (reason: string): IncreaseOutcome => ({ kind: 'refused', group: group.id, reason });
  // Somebody else's operation: what it leaves behind has to be planned from.
  if (typeof provisioningState === 'string' && !isResting(provisioningState))
    return { kind: 'conflict', group: group.id, observed: store.scaleSets.view(group.key)?.target };
  if (enableAutoScaling === true) return refused('AKS runs its own autoscaler over its agent pool (enableAutoScaling)');
  if (isRecord(powerState) && powerState['code'] === 'Stopped') return refused('its agent pool is stopped');
  // What AKS deallocated is not in its count, and would be started by the dozen.
  if (typeof scaleDownMode === 'string' && scaleDownMode.toLowerCase() === 'deallocate' && count !== request.from)
    return refused(
      `AKS has deallocated machines of its agent pool (scaleDownMode Deallocate) and counts ${String(count)} of ${request.from}`,
    );
  // A lower number would be an order to remove what AKS has counted.
  if (typeof count !== 'number' || count >= request.to)
    return refused(`AKS aims at ${String(count)} already, a count of ${request.to} would be no increase`);
  return undefined;
}

/** Asks AKS to remove machines of a scale set. The hold on the pool is the caller's to end. @throws AutoscalerError */
export async function removeThroughAks(
  parts: WriteParts,
  group: Registered,
  machines: readonly { readonly value: InstanceRow }[],
  signal: AbortSignal,
): Promise<WriteAnswer> {
  const pool = parts.store.facts.poolOf(group)?.name ?? '';
  const names = machines.map(({ value }) => value.machineName);
  const { operationUrl, retryAfterMs } = await postDeleteMachines(parts, pool, names, signal);
  parts.store.vmsPools.operationBegan(foldName(pool));
  return { operationUrl, retryAfterMs, etag: undefined, capacity: undefined };
}
