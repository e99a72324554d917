/**
 * Increases a scale set through AKS: the write increases the count of its agent pool, and AKS the capacity. This is slower than
 * a write of the set, with one operation at a time. In return AKS's count and the capacity never differ.
 */
import { describeBlock } from '../../domain/group-blocks.ts';
import type { AnsweredIncrease } from '../../domain/outcome.ts';
import type { IncreaseRequest, UnansweredIncrease } from '../../domain/ports/cloud.ts';
import { getAgentPool } from '../arm/agent-pool-api.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { readAgentPool, type AgentPoolRow } from '../rows/agent-pool.ts';
import {
  checkPoolTag,
  poolLockKey,
  putPoolCount,
  checkRules,
  withPoolCount,
  type PoolCount,
  type PoolDocument,
} from './increase-agent-pool.ts';
import { checkCapacity, shownIn } from './increase-scale-set.ts';
import { increaseSize, type IncreaseBackend } from './increase.ts';
import { poolState } from './resource-state.ts';
import { stockHints, zoneLookup, type WriteDeps } from './write-context.ts';

/** See the port. */
export function increaseThroughAks(
  deps: WriteDeps,
  group: RegisteredGroup,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<AnsweredIncrease | UnansweredIncrease> {
  const pool = deps.inventory.facts.poolOf(group)?.name;
  if (pool === undefined) return Promise.resolve({ kind: 'refused', group: group.id, reason: describeBlock({ code: 'pool-not-listed' }) });
  return increaseSize(deps, group, { backend: aksIncrease(deps, group, pool), request }, signal);
}

/** One way to write a size; exported for tests of its guards. */
export function aksIncrease(deps: WriteDeps, group: RegisteredGroup, name: string): IncreaseBackend<ReadPool> {
  const { inventory } = deps;
  return {
    lockKey: poolLockKey(foldName(name)),
    sizes: inventory.scaleSets,
    heldReason: () => inventory.vmsPools.poolHeldReason(name),
    read: async (signal) => {
      const [raw, reading] = await Promise.all([getAgentPool(deps, name, signal), inventory.reads.readScaleSet(group.key, signal)]);
      const row = readAgentPool(raw);
      return row === undefined ? undefined : { name, raw, etag: row.etag, row, shown: shownIn(reading) };
    },
    checkIncrease: (request, document) =>
      checkRules(group, { pool: document.row }) ??
      checkCount(group, request, document) ??
      checkCapacity(deps, group, request) ??
      checkLag(group, request, document) ??
      checkPoolTag(group, document),
    resourceOf: (document) => document.name,
    unanswered: {
      hold: () => inventory.vmsPools.operationBegan(foldName(name)),
      release: () => inventory.vmsPools.release(foldName(name)),
    },
    put: (to, document, signal) => putPoolCount(deps, WHOLE_COUNT, { document, to }, signal),
    noteAccepted: () => {
      inventory.vmsPools.operationBegan(foldName(name));
      return undefined;
    },
    hintsOf: () => {
      const set = inventory.scaleSets.get(group.key)?.value;
      return set === undefined ? {} : stockHints(set, zoneLookup(inventory, group.key));
    },
    // AKS writes the set some time after its own count: only an unchanged agent pool shows that nothing will follow.
    isUntouched: async (document, signal) => {
      const now = readAgentPool(await getAgentPool(deps, name, signal));
      return now?.etag !== undefined && now.etag === document.etag;
    },
    readShown: async (signal) => shownIn(await inventory.reads.readScaleSet(group.key, signal)),
    stateNow: (signal) => poolState(deps, name, signal),
    noteEnded: () => inventory.vmsPools.scaleSetPoolOperationEnded(name, deps.closing),
  };
}

interface ReadPool extends PoolDocument {
  readonly row: AgentPoolRow;
}

const WHOLE_COUNT: PoolCount = {
  bodyWith: withPoolCount,
  countIn: (body) => readAgentPool(body)?.count,
  // AKS writes the set some time after its answer.
  modelled: false,
};

/** What AKS would make of a count. undefined: nothing against it. */
function checkCount(
  group: RegisteredGroup,
  request: IncreaseRequest,
  { row: { count, deallocates } }: ReadPool,
): AnsweredIncrease | undefined {
  const refused = (reason: string): AnsweredIncrease => ({ kind: 'refused', group: group.id, reason });
  // Deallocated instances are not in the count. A higher count would start all of them.
  if (deallocates === true && count !== request.from)
    return refused(`its agent pool has deallocated instances (scaleDownMode Deallocate): AKS counts ${String(count)} of ${request.from}`);
  // A lower count would make AKS delete instances.
  if (count === undefined || count >= request.to)
    return refused(`the count in AKS is already ${String(count)}; a count of ${request.to} would not increase it`);
  return undefined;
}

/** AKS sets the capacity to its count. While the capacity still counts instances that we are deleting, neither number can be right. */
function checkLag(group: RegisteredGroup, { from }: IncreaseRequest, { shown = from }: ReadPool): AnsweredIncrease | undefined {
  if (shown <= from) return undefined;
  const reason = `its scale set still counts ${shown - from} instances that are being deleted; it grows through AKS when they are gone`;
  return { kind: 'refused', group: group.id, reason };
}
