/**
 * Increases a scale set through AKS: the write raises the count of its agent pool, and AKS raises the capacity. Slower than a
 * write of the set, and bound to one operation at a time; in return AKS's count and the capacity never differ.
 */
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { IncreaseRequest } from '../../domain/ports/cloud.ts';
import { getAgentPool } from '../arm/agent-pool-api.ts';
import { isRecord } from '../arm/error-bodies.ts';
import { foldName } from '../arm/resource-ids.ts';
import { isSettled, POOL_UNKNOWN, type RegisteredGroup } from '../groups/registry.ts';
import { checkPoolTag, poolLockKey, putPoolCount, type PoolCount, type PoolDocument } from './increase-agent-pool.ts';
import { checkCapacity } from './increase-scale-set.ts';
import { increaseSize, type IncreaseBackend } from './increase.ts';
import { stockHints, zoneFinder, type WriteParts } from './write-context.ts';

/** See the port. */
export function increaseThroughAks(
  parts: WriteParts,
  group: RegisteredGroup,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  const pool = parts.store.facts.poolOf(group)?.name;
  if (pool === undefined) return Promise.resolve({ kind: 'refused', group: group.id, reason: POOL_UNKNOWN });
  return increaseSize(parts, group, { backend: aksBackend(parts, group, pool), request }, signal);
}

function aksBackend(parts: WriteParts, group: RegisteredGroup, name: string): IncreaseBackend<PoolDocument> {
  const { store } = parts;
  return {
    lockKey: poolLockKey(foldName(name)),
    sizes: store.scaleSets,
    heldBecause: () => store.vmsPools.poolHeldBecause(name),
    read: async (signal) => {
      const [raw] = await Promise.all([getAgentPool(parts, name, signal), store.refreshSet(group.key, signal)]);
      const etag = propertiesOf(raw)['eTag'];
      return { name, raw, etag: typeof etag === 'string' ? etag : undefined };
    },
    checkIncrease: (request, document) =>
      checkPool(parts, group, request, document) ??
      checkCapacity(parts, group, request, store.scaleSets.view(group.key)) ??
      checkPoolTag(group, document),
    resourceOf: (document) => document.name,
    put: (to, document, signal) => putPoolCount(parts, WHOLE_COUNT, { document, to }, signal),
    noteAccepted: () => {
      store.vmsPools.operationBegan(foldName(name));
      return undefined;
    },
    hintsOf: () => {
      const set = store.scaleSets.get(group.key)?.value;
      return set === undefined ? {} : stockHints(set, zoneFinder(store, group.key));
    },
    refresh: (signal) => store.refreshSet(group.key, signal),
    noteEnded: () => store.poolOperationEnded(name),
  };
}

const WHOLE_COUNT: PoolCount = {
  bodyWith: (raw, to) => ({ ...(isRecord(raw) ? raw : {}), properties: { ...propertiesOf(raw), count: to } }),
  countIn: ({ body }) => {
    const { count } = propertiesOf(body);
    return typeof count === 'number' ? count : undefined;
  },
  // AKS writes the set some time after its answer.
  modelled: false,
};

function propertiesOf(raw: unknown): Readonly<Record<string, unknown>> {
  return isRecord(raw) && isRecord(raw['properties']) ? raw['properties'] : {};
}

/** What AKS would make of a write now. undefined: nothing against it. */
function checkPool(
  { store }: WriteParts,
  group: RegisteredGroup,
  request: IncreaseRequest,
  { raw }: PoolDocument,
): IncreaseOutcome | undefined {
  const { provisioningState, enableAutoScaling, count, powerState, scaleDownMode } = propertiesOf(raw);
  const refused = (reason: string): IncreaseOutcome => ({ kind: 'refused', group: group.id, reason });
  // Somebody else's operation: what it leaves behind has to be planned from.
  if (typeof provisioningState === 'string' && !isSettled(provisioningState))
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
