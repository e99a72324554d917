/**
 * Every read of Azure that some part of the program wants, besides the turns of the agents: one at a time for each row and list, within what
 * single reads and lists are allowed. Many wanted rows of one group become one list. Must not know why a read is wanted.
 * Idea: want.
 */
import type { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import type { WantOptions } from '../../cache/agents/agent-state.ts';
import type { CacheHooks } from '../../cache/table/hooks.ts';
import { OnDemand } from '../../cache/table/refresh.ts';
import type { Slots } from '../../cache/concurrency.ts';
import type { Want } from '../../cache/want.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import { Allowance } from '../../lib/allowance.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RateLimits } from '../arm/rate-limits.ts';
import type { AgentDeps } from '../agents/agents.ts';
import { AGENT_POOLS_AGENT, instanceListAgentId, INSTANCES, SCALE_SETS, SCALE_SETS_AGENT } from '../rows/tables.ts';
import { poolKeyOf, POOL_SIZES } from '../rows/vms-pool.ts';
import { singleReadsPerInstanceList, singleReadsPerVmList } from './read-prices.ts';
import { readInstance, readScaleSet, type ScaleSetReading } from './single-reads.ts';

/**
 * `size`: the scale set or agent pool that has the size of the group. `instances`: a list of them, as soon as its rate allows it.
 * `instance`: one of the group, listed or not; `toDelete`: it is read right before its deletion. `list`: what this agent lists.
 */
export type AzureRead =
  | { readonly what: 'size'; readonly group: string }
  | ({ readonly what: 'instances'; readonly group: string } & WantOptions)
  | { readonly what: 'instance'; readonly group: string; readonly key: string; readonly toDelete?: boolean }
  | ({ readonly what: 'list'; readonly agent: string } & WantOptions);

export interface AzureReadsDeps {
  readonly agents: AgentDeps;
  readonly clock: Clock;
  readonly slots: Slots;
  readonly hooks: CacheHooks;
  /** While Azure throttles single reads, none is left. */
  readonly rateLimits: Pick<RateLimits, 'heldReason'>;
  readonly scheduler: Pick<AgentScheduler, 'want' | 'requestWaitMs'>;
  /** One GET of an agent pool, by its key. */
  readonly readPool: (poolKey: string, signal: AbortSignal) => Promise<unknown>;
}

/**
 * Reads of the single instances of one group. Azure counts them for each instance (36 at once, then 12 a minute) and for the subscription
 * (6,000 at once, then 2,000 a minute, from all clients together), so these are a small share of what it takes.
 */
const SINGLE_READS = { burst: 30, refillMs: 6_000 } as const;
/** Each instance is looked at right before its deletion, ten of them at once in each loop. If Azure refuses these reads, a list serves. */
const READS_BEFORE_DELETES = { burst: 60, refillMs: 1_000 } as const;
/** More queued reads of one kind become one list. */
const LIST_ABOVE = 10;
/** The same for the instances of one group: others may have to wait for their list. */
const LIST_INSTANCES_ABOVE = 20;
/** The most new instances of one group that are read singly at once: in one loop, or at one time after an increase. */
const READ_EACH_AT_MOST = 10;

export class AzureReads {
  readonly #deps: AzureReadsDeps;
  readonly #scaleSets: OnDemand;
  readonly #pools: OnDemand;
  readonly #instances: OnDemand;
  readonly #singleReads = new Allowance(SINGLE_READS);
  readonly #readsBeforeDeletes = new Allowance(READS_BEFORE_DELETES);
  /** What the last GET of each scale set showed. */
  readonly #readings = new Map<string, ScaleSetReading | undefined>();

  constructor(deps: AzureReadsDeps) {
    const { agents, clock, slots, hooks, scheduler } = deps;
    this.#deps = deps;
    const shared = { clock, slots, hooks, timeoutMs: agents.options.requestTimeoutMs, listAbove: LIST_ABOVE };
    this.#scaleSets = new OnDemand({
      ...shared,
      name: SCALE_SETS.name,
      readOne: async (key, signal) => void this.#readings.set(key, await readScaleSet(agents, key, signal)),
      readScope: (_scope, signal) => scheduler.want(SCALE_SETS_AGENT).served(signal),
    });
    this.#pools = new OnDemand({
      ...shared,
      name: POOL_SIZES.name,
      readOne: async (key, signal) => void (await deps.readPool(key, signal)),
      readScope: (_scope, signal) => scheduler.want(AGENT_POOLS_AGENT).served(signal),
    });
    this.#instances = new OnDemand({
      ...shared,
      listAbove: LIST_INSTANCES_ABOVE,
      name: INSTANCES.name,
      readOne: (key, signal) => readInstance(agents, key, signal),
      readScope: (scope, signal) => scheduler.want(instanceListAgentId(scope)).served(signal),
    });
  }

  /** Wants a read that begins after this call. Does not wait. */
  want(read: AzureRead): Want {
    switch (read.what) {
      case 'size':
        // The key of a size of a pool names both.
        return read.group.includes('/') ? this.#pools.want(poolKeyOf(read.group), '') : this.#scaleSets.want(read.group, '');
      case 'instances':
        return this.#deps.scheduler.want(instanceListAgentId(read.group), read);
      case 'instance':
        // guard: single reads of instances stay below the limit of Azure
        this.#allowanceOf(read).take(read.group, this.#deps.clock.monotonic());
        return this.#instances.want(read.key, read.group);
      case 'list':
        return this.#deps.scheduler.want(read.agent, read);
    }
  }

  /**
   * Reads one scale set by a GET that begins after this call. Returns what that showed, whether the table believes its capacity or not;
   * undefined: gone. If many sets are due, they are listed, and the row is returned. @throws AutoscalerError
   */
  async readScaleSet(key: string, signal: AbortSignal): Promise<ScaleSetReading | undefined> {
    this.#readings.delete(key);
    await this.want({ what: 'size', group: key }).served(signal);
    if (this.#readings.has(key)) return this.#readings.get(key);
    const row = this.#deps.agents.scaleSets.get(key);
    return row === undefined ? undefined : { set: row.value, etag: row.etag };
  }

  /** How long a list of a group's instances has to wait, ms, since the last minute had as many as it should have; 0: it may be sent. */
  listWaitMs(group: string): number {
    return this.#deps.scheduler.requestWaitMs(instanceListAgentId(group));
  }

  /**
   * How many instances of a group may still be read singly now, those that are to be deleted on an account of their own; none while
   * Azure throttles such reads.
   */
  singleReadsLeft(group: string, { toDelete = false }: { readonly toDelete?: boolean } = {}): number {
    const { agents, clock, rateLimits } = this.#deps;
    const resource = agents.scaleSets.get(group)?.value.name;
    const call =
      resource === undefined ? ({ operation: 'getVm', resource: '' } as const) : ({ operation: 'getInstance', resource } as const);
    if (rateLimits.heldReason(call) !== undefined) return 0;
    return this.#allowanceOf({ toDelete }).left(group, clock.monotonic());
  }

  /** How many instances of a group can be read singly for the price of one list of them. */
  singleReadsPerList(group: string): number {
    const set = this.#deps.agents.scaleSets.get(group)?.value;
    return set?.orchestration === 'Uniform' ? singleReadsPerInstanceList(set.capacity) : singleReadsPerVmList();
  }

  stop(): void {
    for (const rows of [this.#scaleSets, this.#pools, this.#instances]) rows.stop();
  }

  #allowanceOf({ toDelete }: { readonly toDelete?: boolean }): Allowance {
    return toDelete === true ? this.#readsBeforeDeletes : this.#singleReads;
  }
}

interface NewInstances {
  readonly keys: readonly InstanceKey[];
  /** Whether only a list shows what is wanted. */
  readonly needsList: boolean;
}

/** Wants these instances of a group to be read. Returns whether all of them will be; the others need a list that has to wait. */
export function wantNewInstances(
  reads: Pick<AzureReads, 'want' | 'listWaitMs' | 'singleReadsLeft' | 'singleReadsPerList'>,
  group: string,
  { keys, needsList }: NewInstances,
): boolean {
  const isListBetter = needsList || keys.length > Math.min(READ_EACH_AT_MOST, reads.singleReadsPerList(group));
  if (isListBetter && reads.listWaitMs(group) === 0) {
    reads.want({ what: 'instances', group });
    return true;
  }
  // guard: in one loop ten instances of a group are read singly at most
  const each = keys.slice(0, Math.min(READ_EACH_AT_MOST, reads.singleReadsLeft(group)));
  for (const key of each) reads.want({ what: 'instance', group, key });
  return each.length === keys.length;
}
