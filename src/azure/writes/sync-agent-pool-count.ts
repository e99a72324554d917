/**
 * Brings AKS's own count of an agent pool in step with its scale set, so that AKS operations keep its size. AKS sets the capacity to
 * its count at any time until its operation ends. So the count is written only for a pool that has been at rest for ten minutes, from
 * both numbers read under the group's lock; until the operation has ended, the scale set is written through AKS alone.
 * Must not know why a size changes.
 */
import { describeBlock } from '../../domain/group-blocks.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { asAutoscalerError, type AutoscalerError, isEffectUnknown } from '../../lib/errors.ts';
import { getAgentPool } from '../arm/agent-pool-api.ts';
import type { OperationEnd } from '../arm/operations.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { isGroupSettled } from '../groups/settled.ts';
import type { ScaleSetReading } from '../inventory/single-reads.ts';
import { readAgentPool, type AgentPoolRow } from '../rows/agent-pool.ts';
import type { IncreaseAnswer } from './increase.ts';
import { poolLockKey, putPoolCount, withPoolCount, type PoolCount, type PoolDocument } from './increase-agent-pool.ts';
import { shownIn } from './increase-scale-set.ts';
import { type WriteDeps } from './write-context.ts';

/** How long a pool must have been at rest. */
const REST_MS = 10 * 60_000;

interface CountSyncDeps {
  readonly writes: WriteDeps;
  /** The group, or why it may not be written now. */
  readonly writable: (group: RegisteredGroup) => RegisteredGroup | string;
}

/** The capacity of the scale set is the size. AKS's own count may be above it, and is lowered to it. */
const BESIDE_CAPACITY: PoolCount = { bodyWith: withPoolCount, countIn: () => undefined, modelled: false };

/** The numbers at which a pool rests. */
export interface RestingCounts {
  /** AKS's own count. */
  readonly aksCount: number;
  /** The capacity of the scale set. */
  readonly size: number;
}

interface Rest extends RestingCounts {
  /** Monotonic. */
  readonly sinceMs: number;
}

interface SyncTarget {
  readonly group: RegisteredGroup;
  /** The name of the agent pool. */
  readonly pool: string;
  readonly rest: RestingCounts;
}

export class AgentPoolCountSync {
  readonly #deps: CountSyncDeps;
  readonly #resting = new Map<NodeGroupId, Rest>();

  constructor(deps: CountSyncDeps) {
    this.#deps = deps;
  }

  /** Notes since when pools whose count differs have been at rest. Call it with every view. */
  observe(groups: readonly NodeGroup[]): void {
    const { inventory, clock } = this.#deps.writes;
    const { byId } = inventory.registration();
    const before = new Map(this.#resting);
    this.#resting.clear();
    for (const group of groups) {
      const rest = restingCounts(group, inventory.changes.inFlight(byId.get(group.id)?.key ?? ''));
      const known = before.get(group.id);
      if (rest === undefined) continue;
      const isSame = known?.aksCount === rest.aksCount && known.size === rest.size;
      this.#resting.set(group.id, { ...rest, sinceMs: isSame ? known.sinceMs : clock.monotonic() });
    }
  }

  /** Writes the count of one pool that is due, of a group that is not `busy`. Resolves when AKS has answered. Never rejects. */
  async syncOne(busy: ReadonlySet<NodeGroupId>, signal: AbortSignal): Promise<void> {
    const target = this.#nextTarget(busy);
    if (target === undefined) return;
    const { locks, log, shares } = this.#deps.writes;
    if (!shares.request({ operation: 'putAgentPool', resource: foldName(target.pool) })) return;
    // Tried again after another ten minutes, whatever comes of it.
    this.#resting.delete(target.group.id);
    const poolLock = poolLockKey(foldName(target.pool));
    const refusal = await locks
      .hold(target.group.key, signal, () => locks.hold(poolLock, signal, () => this.#sync(target, signal)))
      .catch((thrown: unknown) => asAutoscalerError(thrown).message);
    if (refusal === undefined || signal.aborted) return;
    this.#count('refused');
    log.info({ nodeGroup: target.group.id, reason: refusal }, "AKS's count not brought in step");
  }

  #nextTarget(busy: ReadonlySet<NodeGroupId>): SyncTarget | undefined {
    const { inventory, clock } = this.#deps.writes;
    for (const [id, rest] of this.#resting) {
      const group = inventory.registration().byId.get(id);
      const pool = group === undefined ? undefined : inventory.facts.poolOf(group)?.name;
      // guard: AKS's count of a group in which something goes on is not written
      const isDue = clock.monotonic() - rest.sinceMs >= REST_MS && !busy.has(id);
      if (group !== undefined && pool !== undefined && isDue && !inventory.facts.isWrittenThroughAks(group)) return { group, pool, rest };
    }
    return undefined;
  }

  /** @returns why nothing was written; undefined: AKS accepted the count. */
  async #sync(target: SyncTarget, signal: AbortSignal): Promise<string | undefined> {
    const { writes, writable } = this.#deps;
    const { group, pool, rest } = target;
    const { inventory } = writes;
    const allowed = writable(group);
    if (typeof allowed === 'string') return allowed;
    if (inventory.changes.inFlight(group.key) > 0) return 'another change of ours is in progress';
    const held = inventory.vmsPools.poolHeldReason(pool);
    if (held !== undefined) return describeBlock(held);
    const raw = await getAgentPool(writes, pool, signal);
    const row = readAgentPool(raw);
    // Read last: what another writer does to the scale set between this read and the write, AKS undoes.
    const reading = await inventory.reads.readScaleSet(group.key, signal);
    const reason = reasonAgainstSync({ row, reading }, rest);
    return reason ?? this.#write(target, { name: pool, raw, etag: row?.etag, shown: shownIn(reading) }, signal);
  }

  async #write(target: SyncTarget, document: PoolDocument, signal: AbortSignal): Promise<string | undefined> {
    const { writes } = this.#deps;
    const key = foldName(target.pool);
    // From here on no write of ours goes to the scale set itself.
    writes.ownWrites.beginCountSync(key);
    writes.inventory.vmsPools.operationBegan(key);
    try {
      this.#follow(target, await putPoolCount(writes, BESIDE_CAPACITY, { document, to: target.rest.size }, signal));
      return undefined;
    } catch (thrown) {
      return this.#refusedOrLost(target, asAutoscalerError(thrown));
    }
  }

  #refusedOrLost(target: SyncTarget, error: AutoscalerError): string {
    const { inventory, ownWrites } = this.#deps.writes;
    if (isEffectUnknown(error)) void this.#ended(target, { kind: 'unknown', reason: error.message });
    else {
      ownWrites.cancelCountSync(foldName(target.pool));
      inventory.vmsPools.release(foldName(target.pool));
    }
    return error.message;
  }

  #follow(target: SyncTarget, answer: IncreaseAnswer): void {
    const { tracker, log } = this.#deps.writes;
    const { group, pool, rest } = target;
    const facts = { nodeGroup: group.id, from: rest.aksCount, to: rest.size, correlationId: answer.correlationId };
    log.info(facts, "AKS's count is being brought in step");
    tracker.follow({
      resource: pool,
      url: answer.operationUrl,
      retryAfterMs: answer.retryAfterMs,
      hints: {},
      onEnd: (end) => void this.#ended(target, end),
    });
  }

  /** Never rejects. The pool is read before it is released, so an operation that goes on freezes the group by the pool's own state. */
  async #ended(target: SyncTarget, end: OperationEnd): Promise<void> {
    const { inventory, ownWrites, clock, log, closing } = this.#deps.writes;
    const { group, pool } = target;
    inventory.reads.want({ what: 'size', group: group.key });
    await inventory.vmsPools.scaleSetPoolOperationEnded(pool, closing);
    ownWrites.endCountSync(foldName(pool), clock.monotonic());
    this.#count(end.kind);
    if (end.kind !== 'succeeded') log.warn({ nodeGroup: group.id, end }, "AKS's count may not be in step");
  }

  #count(outcome: 'succeeded' | 'failed' | 'refused' | 'unknown'): void {
    this.#deps.writes.metrics.cluster.countSyncs.inc({ outcome });
  }
}

/** The counts of a group at rest whose two numbers differ; undefined: they agree, or something is under way. */
function restingCounts(group: NodeGroup, inFlight: number): RestingCounts | undefined {
  const { aksCount, target, instances = [] } = group;
  if (aksCount === undefined || !target.known || !isGroupSettled(group, inFlight)) return undefined;
  return instances.length === target.value ? { aksCount, size: target.value } : undefined;
}

interface SyncReads {
  readonly row: AgentPoolRow | undefined;
  readonly reading: ScaleSetReading | undefined;
}

/** Why the count must not be written, over what was just read; undefined: it may. */
export function reasonAgainstSync({ row, reading }: SyncReads, rest: RestingCounts): string | undefined {
  if (row === undefined) return 'AKS returned no agent pool';
  if (row.etag === undefined) return 'AKS returned no entity tag for its agent pool';
  if (row.provisioningState.toLowerCase() !== 'succeeded') return `its agent pool is in state ${row.provisioningState}`;
  if (row.managedAutoscaler) return 'AKS runs its own autoscaler over its agent pool (enableAutoScaling)';
  if (row.stopped) return 'its agent pool is stopped';
  if (row.deallocates === true) return 'AKS does not count deallocated instances (scaleDownMode Deallocate)';
  if (row.count !== rest.aksCount) return 'the count of AKS has changed';
  // guard: AKS's count is written only as both reads show it
  if (shownIn(reading) !== rest.size) return 'another writer changed the scale set';
  const state = reading?.set.provisioningState ?? '';
  return state.toLowerCase() === 'succeeded' ? undefined : `its scale set is in state ${state}`;
}
