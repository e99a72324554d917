/**
 * What is known of agent pools of type VirtualMachines: a table of their sizes, reads of one pool out of turn, and which
 * pools an operation of ours holds. AKS takes one operation per pool at a time, whatever the size it is about.
 */
import type { CacheHooks } from '../../cache/table/hooks.ts';
import type { LogicalClock } from '../../cache/logical-clock.ts';
import { OnDemand } from '../../cache/table/refresh.ts';
import type { ListCommit, ListPage } from '../../cache/table/row.ts';
import type { Slots } from '../../cache/concurrency.ts';
import { Table } from '../../cache/table/table.ts';
import { withTimeout } from '../../lib/abort.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { getAgentPool, type AgentPoolApiDeps } from '../arm/agent-pool-api.ts';
import type { AzureOptions, ExplicitNodeGroup } from '../arm/options.ts';
import { foldName } from '../arm/resource-ids.ts';
import { POOL_SIZES, poolKeyOf, poolSizeKey, readVmsPoolJson, poolSizeRows, type PoolSizeRow, type VmsPool } from '../rows/vms-pool.ts';
import { isOperationRunning } from '../groups/vms-pool-groups.ts';
import { AGENT_POOLS_AGENT } from '../rows/tables.ts';

export interface VmsPoolsDeps extends AgentPoolApiDeps {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly order: LogicalClock;
  readonly slots: Slots;
  readonly hooks: CacheHooks;
  readonly log: Log;
  /** The groups that the user names. */
  readonly named: () => readonly ExplicitNodeGroup[];
  /** Lists all pools now. */
  readonly list: (signal: AbortSignal) => Promise<void>;
}

/** A pool in motion that is not ours is read again this often. */
const WATCH_EVERY_MS = 30_000;
const OWN_OPERATION = 'an earlier operation of ours still runs in its agent pool';

export class VmsPools {
  readonly sizes: Table<PoolSizeRow>;
  readonly #parts: VmsPoolsDeps;
  readonly #reads: OnDemand;
  /** Pools in which an operation of ours runs, by folded name; each promise resolves when the pool was read after its end. */
  readonly #running = new Map<string, PromiseWithResolvers<void>>();

  constructor(parts: VmsPoolsDeps) {
    const { clock, order, slots, hooks, options } = parts;
    this.#parts = parts;
    this.sizes = new Table({ clock, order, hooks, definition: POOL_SIZES, wantRefresh: (key) => this.requestPool(key) });
    this.#reads = new OnDemand({
      clock,
      slots,
      hooks,
      name: POOL_SIZES.name,
      timeoutMs: options.requestTimeoutMs,
      readOne: async (pool, signal) => void (await this.read(pool, signal)),
      readScope: (_scope, signal) => parts.list(signal),
      confirmedAfter: (key, seq, signal) => this.sizes.confirmedAfter(key, seq, signal),
    });
  }

  /** Takes a list of all pools in. Only a complete one may remove sizes. */
  commitList(pages: readonly ListPage<{ readonly vms?: VmsPool }>[], complete: boolean): ListCommit {
    return this.sizes.commitList({
      agentId: AGENT_POOLS_AGENT,
      authority: 'authoritative',
      complete,
      pages: pages.map(({ stamp, rows }) => ({
        stamp,
        rows: rows.flatMap(({ value: { vms } }) => (vms === undefined ? [] : poolSizeRows(vms, this.#namedSizes(vms.name)))),
      })),
    });
  }

  /** A GET of the pool of this group soon; does not wait. */
  requestPool(key: string): void {
    this.#reads.request(poolKeyOf(key), '');
  }

  /** One GET of the pool of this group, begun after this call. */
  refresh(key: string, signal: AbortSignal): Promise<void> {
    return this.#reads.refresh(poolKeyOf(key), '', signal);
  }

  /**
   * Reads one pool now, for a write that is to be conditional on just this answer: the pool and its untouched JSON.
   * undefined: it is gone, or of another type by now.
   */
  async read(poolKey: string, signal: AbortSignal): Promise<{ readonly pool: VmsPool; readonly raw: unknown } | undefined> {
    const stamp = this.#parts.order.stamp();
    const raw = await this.#get(poolKey, signal);
    const pool = raw === undefined ? undefined : readVmsPoolJson(raw);
    const rows = pool === undefined ? [] : poolSizeRows(pool, this.#namedSizes(pool.name));
    const told = new Set(rows.map(({ key }) => key));
    for (const key of this.sizes.scope(poolKey).keys()) if (!told.has(key)) this.sizes.observeGone(key, stamp);
    for (const row of rows) this.sizes.observe({ ...row, stamp, via: 'get', agentId: AGENT_POOLS_AGENT });
    return pool === undefined ? undefined : { pool, raw };
  }

  /** Notes that an operation of ours began in the pool of this group. Call `operationEnded` exactly once after it. */
  operationBegan(key: string): void {
    this.#running.set(poolKeyOf(key), Promise.withResolvers());
  }

  /** The operation is over; the pool is held until it was read again, so that nobody acts on what was true before. */
  async operationEnded(key: string, signal: AbortSignal): Promise<void> {
    try {
      await this.refresh(key, signal);
    } catch (thrown) {
      // The rows stay unconfirmed, and a pool that looks in motion is watched: the next read tells.
      this.#parts.log.debug({ group: key, err: asAutoscalerError(thrown) }, 'could not read an agent pool after an operation');
    }
    this.release(key);
  }

  /** The same for an operation in the agent pool of a scale set: the pool is held until the list of all pools was read again. */
  async scaleSetPoolOperationEnded(pool: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#parts.list(signal);
    } catch (thrown) {
      this.#parts.log.debug({ pool, err: asAutoscalerError(thrown) }, 'could not read agent pools after an operation');
    }
    this.release(foldName(pool));
  }

  /** Nothing of ours holds the pool of this group any more. */
  release(key: string): void {
    const running = this.#running.get(poolKeyOf(key));
    this.#running.delete(poolKeyOf(key));
    running?.resolve();
  }

  /** The same as `heldBecause`, by the name of the pool. */
  poolHeldReason(pool: string): string | undefined {
    return this.#running.has(foldName(pool)) ? OWN_OPERATION : undefined;
  }

  /** Why the pool cannot take a write of ours now, as far as our own operations go. undefined for scale sets. */
  heldReason(key: string): string | undefined {
    return key.includes('/') && this.#running.has(poolKeyOf(key)) ? OWN_OPERATION : undefined;
  }

  /**
   * Waits until no operation of ours runs in the pool of this group. It may be held anew by the time the caller looks.
   * @throws AutoscalerError `conflict` after `limitMs`, `cancelled` with the signal.
   */
  async untilFree(key: string, limitMs: number, signal: AbortSignal): Promise<void> {
    const running = this.#running.get(poolKeyOf(key));
    if (running === undefined) return;
    const free = await withTimeout(this.#parts.clock, { timeoutMs: limitMs, signals: [signal], run: () => running.promise });
    if (free === 'timed-out') throw new AutoscalerError({ kind: 'conflict' }, `${OWN_OPERATION}, longer than a write can wait.`);
  }

  /** Asks after a pool that somebody else has set in motion: its rest is worth knowing soon. */
  watchForeignOperation(key: string, nowMs: number): void {
    const row = this.sizes.get(key)?.value;
    if (row === undefined || !isOperationRunning(row) || this.heldReason(key) !== undefined) return;
    if (nowMs - (this.sizes.seen(key)?.atMs ?? nowMs) >= WATCH_EVERY_MS) this.requestPool(key);
  }

  stop(): void {
    this.#reads.stop();
  }

  /** undefined: there is no such pool. */
  async #get(poolKey: string, signal: AbortSignal): Promise<unknown> {
    const [known] = this.sizes.scope(poolKey).values();
    try {
      return await getAgentPool(this.#parts, known?.value.pool ?? poolKey, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'not-found') throw error;
      return undefined;
    }
  }

  /** Sizes of a pool that the configuration names: AKS may leave out those without a machine. */
  #namedSizes(pool: string): readonly string[] {
    return this.#parts.named().flatMap(({ name }) => {
      const [named = '', vmSize] = name.split('/');
      return vmSize !== undefined && poolSizeKey(named, vmSize) === poolSizeKey(pool, vmSize) ? [vmSize] : [];
    });
  }
}
