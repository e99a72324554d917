/** Increases the count of one size of an agent pool of type VirtualMachines. */
import type { AnsweredIncrease } from '../../domain/outcome.ts';
import type { IncreaseRequest, UnansweredIncrease } from '../../domain/ports/cloud.ts';
import type { ErrorHints } from '../arm/error-table.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { describeCounting } from '../groups/stopped-counts.ts';
import { zoneName } from '../rows/scale-set.ts';
import { parseAgentPool } from '../rows/agent-pool-list.ts';
import { poolKeyOf, readVmsPool, withSizeCount, type PoolSizeRow } from '../rows/vms-pool.ts';
import { azureSpelling } from '../sizes/sku-catalog.ts';
import { checkPoolTag, checkRules, poolLockKey, putPoolCount, type PoolCount, type PoolDocument } from './increase-agent-pool.ts';
import { checkRequest, increaseSize, type IncreaseBackend } from './increase.ts';
import { poolState } from './resource-state.ts';
import { zoneLookup, type WriteDeps } from './write-context.ts';

/** See the port. */
export function increaseVmsPool(
  deps: WriteDeps,
  group: RegisteredGroup,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<AnsweredIncrease | UnansweredIncrease> {
  return increaseSize(deps, group, { backend: vmsPoolIncrease(deps, group), request }, signal);
}

/** One way to write a size; exported for tests of its guards. */
export function vmsPoolIncrease(deps: WriteDeps, group: RegisteredGroup): IncreaseBackend<PoolDocument> {
  const { vmsPools, facts } = deps.inventory;
  const poolKey = poolKeyOf(group.key);
  const row = (): PoolSizeRow | undefined => vmsPools.sizes.get(group.key)?.value;
  const shown = (): number | undefined => (row()?.unreadable === undefined ? row()?.count : undefined);
  const count: PoolCount = {
    bodyWith: (raw, to) => withSizeCount(raw, azureSpelling(facts.skuOf(group), row()?.vmSize ?? ''), to),
    countIn: (body) =>
      readVmsPool(parseAgentPool(body))?.sizes.find((size) => foldName(size.vmSize) === foldName(row()?.vmSize ?? ''))?.count,
    modelled: true,
  };
  return {
    lockKey: poolLockKey(poolKey),
    sizes: vmsPools.sizes,
    heldReason: () => vmsPools.heldReason(group.key),
    read: async (signal) => {
      const read = await vmsPools.read(poolKey, signal);
      return read === undefined ? undefined : { name: read.pool.name, raw: read.raw, etag: read.pool.etag, shown: shown() };
    },
    checkIncrease: (request, document) => checkSize(deps, group, request) ?? checkPoolTag(group, document),
    resourceOf: (document) => document.name,
    unanswered: { hold: () => vmsPools.operationBegan(group.key), release: () => vmsPools.release(group.key) },
    put: (to, document, signal) => putPoolCount(deps, count, { document, to }, signal),
    noteAccepted: () => {
      vmsPools.operationBegan(group.key);
      return undefined;
    },
    hintsOf: () => stockHintsOf(deps, group, row()),
    // The size itself shows what was written.
    isUntouched: () => Promise.resolve(true),
    readShown: async (signal) => {
      await deps.inventory.reads.want({ what: 'size', group: group.key }).served(signal);
      return shown();
    },
    stateNow: (signal) => poolState(deps, row()?.pool ?? poolKey, signal),
    noteEnded: () => vmsPools.operationEnded(group.key, deps.closing),
  };
}

/** The guards over one size. undefined: nothing against the increase. */
function checkSize({ inventory, stopped }: WriteDeps, group: RegisteredGroup, request: IncreaseRequest): AnsweredIncrease | undefined {
  const view = inventory.vmsPools.sizes.view(group.key);
  const refusal = checkRules(group, { size: view?.row.value }) ?? checkRequest(group, request, view?.target);
  if (refusal !== undefined) return refusal;
  const { counted, inSize, counting } = stopped.of(group.key);
  // guard: no count is written to a size while it is not known whether it includes stopped machines
  if (inSize === undefined) return { kind: 'refused', group: group.id, reason: describeCounting(counting) };
  // Machines that AKS leaves out of the count are not removed for the sake of it.
  const alive = countAlive(inventory, group.key) - (counted - inSize);
  if (request.to >= alive) return undefined;
  inventory.reads.want({ what: 'instances', group: group.key });
  const reason = `it has ${alive} listed instances; a count of ${request.to} would remove some of them`;
  return { kind: 'refused', group: group.id, reason };
}

function countAlive({ instances }: WriteDeps['inventory'], key: string): number {
  const rows = [...instances.scope(key).values()];
  return rows.filter((row) => row.value.state !== 'deleting' && instances.removalOf(row.key) === 'none').length;
}

/** Where a lack of capacity of this size applies. */
function stockHintsOf(deps: WriteDeps, group: RegisteredGroup, row: PoolSizeRow | undefined): ErrorHints {
  const pool = deps.inventory.facts.poolOf(group);
  const [zone, ...others] = pool?.zones ?? [];
  const only = zone !== undefined && others.length === 0 ? { zone: zoneName(deps.options.location, zone) } : {};
  const scope = { ...(row === undefined ? {} : { vmSize: row.vmSize }), priority: pool?.priority ?? ('Regular' as const), ...only };
  return { scope, zoneOf: zoneLookup(deps.inventory, group.key) };
}
