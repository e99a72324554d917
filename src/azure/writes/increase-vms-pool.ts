/** The count of one size of a pool of type VirtualMachines, and when it may be raised. */
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { IncreaseRequest } from '../../domain/ports/cloud.ts';
import { increaseCount, type PoolCount } from './increase-agent-pool.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { ErrorHints } from '../arm/error-table.ts';
import { zoneFinder, type WriteParts } from './write-context.ts';
import type { Registered } from '../groups/registry.ts';
import { zoneName } from '../rows/scale-set.ts';
import { asListed } from '../sizes/sku-catalog.ts';
import { isPassing, sizeFrozenBecause } from '../groups/vms-pool-groups.ts';
import { poolKeyOf, readVmsPoolJson, withCount, type PoolSizeRow } from '../rows/vms-pool.ts';

/** See the port. */
export function increaseSize(
  parts: WriteParts,
  group: Registered,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  return increaseCount(parts, group, { count: countOfSize(parts, group), request }, signal);
}

function countOfSize(parts: WriteParts, group: Registered): PoolCount {
  const { vmsPools } = parts.store;
  const poolKey = poolKeyOf(group.key);
  const row = (): PoolSizeRow | undefined => vmsPools.sizes.get(group.key)?.value;
  return {
    poolKey,
    table: vmsPools.sizes,
    heldBecause: () => vmsPools.heldBecause(group.key),
    read: async (signal) => {
      const read = await vmsPools.read(poolKey, signal);
      return read === undefined ? undefined : { name: read.pool.name, raw: read.raw, etag: read.pool.etag };
    },
    judge: (request) => judge(parts, group, request),
    body: (raw, to) => withCount(raw, asListed(parts.store.facts.skuOf(group), row()?.vmSize ?? ''), to),
    countIn: ({ body }) => readVmsPoolJson(body)?.sizes.find((size) => foldName(size.vmSize) === foldName(row()?.vmSize ?? ''))?.count,
    modelled: true,
    refresh: (signal) => vmsPools.refresh(group.key, signal),
    began: () => vmsPools.operationBegan(group.key),
    ended: () => vmsPools.operationEnded(group.key, parts.closing),
    hints: () => hintsOf(parts, group, row()),
  };
}

/** The guards, over what was read a moment ago. undefined: write. */
function judge(parts: WriteParts, group: Registered, request: IncreaseRequest): IncreaseOutcome | undefined {
  const refused = (reason: string): IncreaseOutcome => ({ kind: 'refused', group: group.id, reason });
  const view = parts.store.vmsPools.sizes.view(group.key);
  const row = view?.row.value;
  // Somebody else's operation: what it leaves behind has to be planned from.
  if (row !== undefined && isPassing(row)) return { kind: 'conflict', group: group.id, observed: view?.target };
  const frozen = sizeFrozenBecause(group.id, row, false);
  if (frozen !== undefined) return refused(frozen);
  if (view?.target === undefined) return refused('its size is not known');
  if (!Number.isInteger(request.to) || request.to <= request.from)
    return refused(`an increase from ${request.from} to ${request.to} is none`);
  if (view.target !== request.from) return { kind: 'conflict', group: group.id, observed: view.target };
  if (request.to > group.max) return refused(`${request.to} is above its maximum of ${group.max}`);
  const alive = machinesAlive(parts, group.key);
  if (request.to >= alive) return undefined;
  parts.store.instancesDue(group.key);
  return refused(`${alive} machines are listed in it, a count of ${request.to} would remove some`);
}

function machinesAlive({ store }: WriteParts, key: string): number {
  const rows = [...store.instances.scope(key).values()];
  return rows.filter((row) => row.value.state !== 'deleting' && store.instances.removalOf(row.key) === 'none').length;
}

/** Where a lack of capacity of this size applies. */
function hintsOf(parts: WriteParts, group: Registered, row: PoolSizeRow | undefined): ErrorHints {
  const pool = parts.store.facts.poolOf(group);
  const [zone, ...others] = pool?.zones ?? [];
  const only = zone !== undefined && others.length === 0 ? { zone: zoneName(parts.options.location, zone) } : {};
  const scope = { ...(row === undefined ? {} : { vmSize: row.vmSize }), priority: pool?.priority ?? ('Regular' as const), ...only };
  return { scope, zoneOf: zoneFinder(parts.store, group.key) };
}
