/**
 * Reads of single scale sets and instances between the lists, one at a time for each row. Many requests become one list.
 * Idea: single read.
 */
import type { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import type { CacheHooks } from '../../cache/table/hooks.ts';
import { OnDemand } from '../../cache/table/refresh.ts';
import type { Slots } from '../../cache/concurrency.ts';
import { Allowance } from '../../lib/allowance.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RateLimits } from '../arm/rate-limits.ts';
import type { AgentDeps } from '../agents/agents.ts';
import { readInstance, readScaleSet, type ScaleSetReading } from './single-reads.ts';
import { instanceListAgentId, INSTANCES, SCALE_SETS, SCALE_SETS_AGENT } from '../rows/tables.ts';

export interface RefreshDeps {
  readonly agents: AgentDeps;
  readonly clock: Clock;
  readonly slots: Slots;
  readonly hooks: CacheHooks;
  /** While Azure throttles single reads, none is left. */
  readonly rateLimits: Pick<RateLimits, 'heldReason'>;
  readonly scheduler: Pick<AgentScheduler, 'want'>;
}

/**
 * Reads of the single instances of one group. Azure counts them for each instance (36 at once, then 12 a minute) and for the subscription
 * (6,000 at once, then 2,000 a minute, from all clients together), so these are a small share of what it takes.
 */
const SINGLE_READS = { burst: 30, refillMs: 6_000 } as const;
/** Each instance is looked at right before its deletion, ten of them at once in each loop. If Azure refuses these reads, a list serves. */
const READS_BEFORE_DELETES = { burst: 60, refillMs: 1_000 } as const;
/** More queued reads of one group become one list, which others may have to wait for. */
const LIST_ABOVE = 20;

export class Refresh {
  readonly #scaleSets: OnDemand;
  readonly #instances: OnDemand;
  readonly #clock: Clock;
  readonly #singleReads = new Allowance(SINGLE_READS);
  readonly #readsBeforeDeletes = new Allowance(READS_BEFORE_DELETES);
  /** What the last GET of each scale set showed. */
  readonly #readings = new Map<string, ScaleSetReading | undefined>();
  readonly #agents: AgentDeps;
  readonly #rateLimits: RefreshDeps['rateLimits'];

  constructor({ agents, clock, slots, hooks, rateLimits, scheduler }: RefreshDeps) {
    this.#agents = agents;
    this.#clock = clock;
    this.#rateLimits = rateLimits;
    const shared = { clock, slots, hooks, timeoutMs: agents.options.requestTimeoutMs };
    this.#scaleSets = new OnDemand({
      ...shared,
      name: SCALE_SETS.name,
      readOne: async (key, signal) => void this.#readings.set(key, await readScaleSet(agents, key, signal)),
      readScope: (_scope, signal) => scheduler.want(SCALE_SETS_AGENT).served(signal),
    });
    this.#instances = new OnDemand({
      ...shared,
      listAbove: LIST_ABOVE,
      name: INSTANCES.name,
      readOne: (key, signal) => readInstance(agents, key, signal),
      readScope: (scope, signal) => scheduler.want(instanceListAgentId(scope)).served(signal),
    });
  }

  /** Requests a GET of the scale set; does not wait. */
  requestScaleSet(key: string): void {
    this.#scaleSets.want(key, '');
  }

  /** Reads the scale set by a GET that begins after this call. @throws AutoscalerError */
  refreshScaleSet(key: string, signal: AbortSignal): Promise<void> {
    return this.#scaleSets.want(key, '').served(signal);
  }

  /**
   * Reads one scale set by a GET that begins after this call. Returns what that showed, whether the table believes its capacity or not;
   * undefined: gone. If many sets are due, they are listed, and the row is returned. @throws AutoscalerError
   */
  async readScaleSet(key: string, signal: AbortSignal): Promise<ScaleSetReading | undefined> {
    this.#readings.delete(key);
    await this.refreshScaleSet(key, signal);
    if (this.#readings.has(key)) return this.#readings.get(key);
    const row = this.#agents.scaleSets.get(key);
    return row === undefined ? undefined : { set: row.value, etag: row.etag };
  }

  /** Requests a read of one instance of a group, listed or not; does not wait. */
  requestInstance(key: string, groupKey: string): void {
    // guard: single reads of instances stay below the limit of Azure
    this.#singleReads.take(groupKey, this.#clock.monotonic());
    this.#instances.want(key, groupKey);
  }

  /** Reads one instance, which is to be deleted, by a GET that begins after this call. @throws AutoscalerError */
  refreshInstance(key: string, groupKey: string, signal: AbortSignal): Promise<void> {
    this.#readsBeforeDeletes.take(groupKey, this.#clock.monotonic());
    return this.#instances.want(key, groupKey).served(signal);
  }

  /**
   * How many instances of a group may still be read singly now, those that are to be deleted on an account of their own; none while
   * Azure throttles such reads.
   */
  singleReadsLeft(groupKey: string, purpose?: 'delete'): number {
    const resource = this.#agents.scaleSets.get(groupKey)?.value.name;
    const call =
      resource === undefined ? ({ operation: 'getVm', resource: '' } as const) : ({ operation: 'getInstance', resource } as const);
    if (this.#rateLimits.heldReason(call) !== undefined) return 0;
    return (purpose === 'delete' ? this.#readsBeforeDeletes : this.#singleReads).left(groupKey, this.#clock.monotonic());
  }

  stop(): void {
    this.#scaleSets.stop();
    this.#instances.stop();
  }
}
