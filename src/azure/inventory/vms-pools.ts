/**
 * What is known of agent pools of type VirtualMachines: a table of their sizes, and which pools an operation
 * of ours holds. AKS takes one operation per pool at a time, whichever size it changes.
 * Idea: row, operation.
 */
import type { LogicalClock } from '../../cache/logical-clock.ts';
import type { ListCommit, ListPage } from '../../cache/table/row.ts';
import type { Table } from '../../cache/table/table.ts';
import { describeBlock, type IncreaseBlock } from '../../domain/group-blocks.ts';
import { withTimeout } from '../../lib/abort.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { getAgentPool, type AgentPoolApiDeps } from '../arm/agent-pool-api.ts';
import type { AzureOptions } from '../arm/options.ts';
import { foldName } from '../arm/resource-ids.ts';
import { parseAgentPool } from '../rows/agent-pool-list.ts';
import { poolKeyOf, poolSizeKey, readVmsPool, poolSizeRows, type PoolSizeRow, type VmsPool } from '../rows/vms-pool.ts';
import { isOperationRunning } from '../groups/vms-pool-groups.ts';
import { AGENT_POOLS_AGENT } from '../rows/tables.ts';
import type { AzureReads } from './azure-reads.ts';
import type { KnownGroups } from './known-groups.ts';
import { confirmNotFound } from './single-reads.ts';

export interface VmsPoolsDeps extends AgentPoolApiDeps {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly order: LogicalClock;
  readonly log: Log;
  readonly reads: Pick<AzureReads, 'want'>;
  readonly known: Pick<KnownGroups, 'selection'>;
  readonly sizes: Table<PoolSizeRow>;
}

/** How often a pool with another writer's operation is read again. */
const WATCH_EVERY_MS = 30_000;
const OWN_OPERATION: IncreaseBlock = { code: 'own-operation' };

export class VmsPools {
  readonly sizes: Table<PoolSizeRow>;
  readonly #deps: VmsPoolsDeps;
  /** Pools with an operation of ours, by folded name. Each promise resolves when the pool has been read after the operation. */
  readonly #running = new Map<string, PromiseWithResolvers<void>>();

  constructor(deps: VmsPoolsDeps) {
    this.#deps = deps;
    this.sizes = deps.sizes;
  }

  /** Commits a list of all pools. Only a complete one may remove sizes. */
  commitList(pages: readonly ListPage<{ readonly vms?: VmsPool }>[], complete: boolean): ListCommit {
    return this.sizes.commitList({
      agentId: AGENT_POOLS_AGENT,
      scope: undefined,
      complete,
      pages: pages.map(({ stamp, rows }) => ({
        stamp,
        rows: rows.flatMap(({ value: { vms } }) => (vms === undefined ? [] : poolSizeRows(vms, this.#namedSizes(vms.name)))),
      })),
    });
  }

  /**
   * Reads one pool now, for a write that is conditional on this answer: the pool and its untouched JSON.
   * undefined: the pool is gone or has another type.
   */
  async read(poolKey: string, signal: AbortSignal): Promise<{ readonly pool: VmsPool; readonly raw: unknown } | undefined> {
    const stamp = this.#deps.order.stamp();
    const raw = await this.#get(poolKey, signal);
    const pool = readVmsPool(parseAgentPool(raw));
    const rows = pool === undefined ? [] : poolSizeRows(pool, this.#namedSizes(pool.name));
    const listed = new Set(rows.map(({ key }) => key));
    for (const key of this.sizes.scope(poolKey).keys()) if (!listed.has(key)) this.sizes.observeGone(key, stamp);
    for (const row of rows) this.sizes.observe({ ...row, stamp, via: 'get', agentId: AGENT_POOLS_AGENT });
    return pool === undefined ? undefined : { pool, raw };
  }

  /** Notes that an operation of ours began in the pool of this group, if that is not known yet. Call `operationEnded` exactly once after it. */
  operationBegan(key: string): void {
    if (!this.#running.has(poolKeyOf(key))) this.#running.set(poolKeyOf(key), Promise.withResolvers());
  }

  /** The operation is over. The pool is held until it has been read again, so that no write uses old data. */
  async operationEnded(key: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.reads.want({ what: 'size', group: key }).served(signal);
    } catch (thrown) {
      // The rows stay unconfirmed, and a pool with an operation is watched: the next read shows the result.
      this.#deps.log.debug({ group: key, err: asAutoscalerError(thrown) }, 'Could not read an agent pool after an operation');
    }
    this.release(key);
  }

  /** The same for the agent pool of a scale set: the pool is held until all pools have been listed again. */
  async scaleSetPoolOperationEnded(pool: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.reads.want({ what: 'list', agent: AGENT_POOLS_AGENT }).served(signal);
    } catch (thrown) {
      this.#deps.log.debug({ pool, err: asAutoscalerError(thrown) }, 'Could not read the agent pools after an operation');
    }
    this.release(foldName(pool));
  }

  /** Ends the hold of our operation on this group's pool. */
  release(key: string): void {
    const running = this.#running.get(poolKeyOf(key));
    this.#running.delete(poolKeyOf(key));
    running?.resolve();
  }

  /** The same as `heldReason`, by the name of the pool. */
  poolHeldReason(pool: string): IncreaseBlock | undefined {
    return this.#running.has(foldName(pool)) ? OWN_OPERATION : undefined;
  }

  /** Why an operation of ours keeps the pool from taking another write; undefined for scale sets. */
  heldReason(key: string): IncreaseBlock | undefined {
    return key.includes('/') && this.#running.has(poolKeyOf(key)) ? OWN_OPERATION : undefined;
  }

  /**
   * Waits until no operation of ours is in progress in this group's pool. It may be held again before the caller continues.
   * @throws AutoscalerError `conflict` after `limitMs`, `cancelled` with the signal.
   */
  async untilFree(key: string, limitMs: number, signal: AbortSignal): Promise<void> {
    const running = this.#running.get(poolKeyOf(key));
    if (running === undefined) return;
    const free = await withTimeout(this.#deps.clock, { timeoutMs: limitMs, signals: [signal], run: () => running.promise });
    if (free === 'timed-out')
      throw new AutoscalerError({ kind: 'conflict' }, `${describeBlock(OWN_OPERATION)}, for longer than a write can wait.`);
  }

  /** Reads a pool with another writer's operation more often, to see its end soon. */
  watchForeignOperation(key: string, nowMs: number): void {
    const row = this.sizes.get(key)?.value;
    if (row === undefined || !isOperationRunning(row) || this.heldReason(key) !== undefined) return;
    if (nowMs - (this.sizes.seen(key)?.atMs ?? nowMs) >= WATCH_EVERY_MS) this.#deps.reads.want({ what: 'size', group: key });
  }

  /** undefined: there is no such pool. */
  async #get(poolKey: string, signal: AbortSignal): Promise<unknown> {
    const [known] = this.sizes.scope(poolKey).values();
    try {
      return await confirmNotFound(() => getAgentPool(this.#deps, known?.value.pool ?? poolKey, signal));
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'not-found') throw error;
      return undefined;
    }
  }

  /** Sizes of a pool that the configuration names: AKS may leave out those without an instance. */
  #namedSizes(pool: string): readonly string[] {
    return this.#deps.known.selection.nodeGroups.flatMap(({ name }) => {
      const [named = '', vmSize] = name.split('/');
      return vmSize !== undefined && poolSizeKey(named, vmSize) === poolSizeKey(pool, vmSize) ? [vmSize] : [];
    });
  }
}
