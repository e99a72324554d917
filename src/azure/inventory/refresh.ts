/** Reads of single scale sets and instances between the lists, one at a time for each row. Many requests become one list. */
import type { CacheHooks } from '../../cache/table/hooks.ts';
import { OnDemand } from '../../cache/table/refresh.ts';
import type { Slots } from '../../cache/concurrency.ts';
import type { Clock } from '../../lib/clock.ts';
import { instanceListAgentId } from './instance-list-agents.ts';
import type { AgentDeps } from './agents.ts';
import { readInstance, readScaleSet, type ScaleSetReading } from './single-reads.ts';
import { INSTANCES, SCALE_SETS, SCALE_SETS_AGENT } from '../rows/tables.ts';

export interface RefreshDeps {
  readonly agents: AgentDeps;
  readonly clock: Clock;
  readonly slots: Slots;
  readonly hooks: CacheHooks;
  /** Runs a caching agent and waits for it. */
  readonly runNow: (agentId: string, signal: AbortSignal) => Promise<void>;
  /** Requests a list of a group's instances. */
  readonly listDue: (groupKey: string) => void;
}

export class Refresh {
  readonly scaleSets: OnDemand;
  readonly instances: OnDemand;
  /** What the last GET of each scale set showed. */
  readonly #readings = new Map<string, ScaleSetReading | undefined>();
  readonly #agents: AgentDeps;

  constructor({ agents, clock, slots, hooks, runNow, listDue }: RefreshDeps) {
    this.#agents = agents;
    const shared = { clock, slots, hooks, timeoutMs: agents.options.requestTimeoutMs };
    this.scaleSets = new OnDemand({
      ...shared,
      name: SCALE_SETS.name,
      readOne: async (key, signal) => void this.#readings.set(key, await readScaleSet(agents, key, signal)),
      readScope: (_scope, signal) => runNow(SCALE_SETS_AGENT, signal),
      confirmedAfter: (key, seq, signal) => agents.scaleSets.confirmedAfter(key, seq, signal),
    });
    this.instances = new OnDemand({
      ...shared,
      name: INSTANCES.name,
      readOne: (key, signal) => readInstance(agents, { key, listDue }, signal),
      readScope: (scope, signal) => runNow(instanceListAgentId(scope), signal),
      confirmedAfter: (key, seq, signal) => agents.instances.confirmedAfter(key, seq, signal),
    });
  }

  /**
   * Reads one scale set by a GET that begins after this call. Returns what that showed, whether the table believes its capacity or not;
   * undefined: gone. If many sets are due, they are listed, and the row is returned. @throws AutoscalerError
   */
  async readScaleSet(key: string, signal: AbortSignal): Promise<ScaleSetReading | undefined> {
    this.#readings.delete(key);
    await this.scaleSets.refresh(key, '', signal);
    if (this.#readings.has(key)) return this.#readings.get(key);
    const row = this.#agents.scaleSets.get(key);
    return row === undefined ? undefined : { set: row.value, etag: row.etag };
  }

  stop(): void {
    this.scaleSets.stop();
    this.instances.stop();
  }
}
