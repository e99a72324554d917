/** Reads of single scale sets and instances between the lists, one at a time for each row. Many requests become one list. */
import type { CacheHooks } from '../../cache/table/hooks.ts';
import { OnDemand } from '../../cache/table/refresh.ts';
import type { Slots } from '../../cache/concurrency.ts';
import type { Clock } from '../../lib/clock.ts';
import { instanceListAgentId } from './instance-list-agents.ts';
import type { AgentDeps } from './agents.ts';
import { readInstance, readScaleSet } from './single-reads.ts';
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

  constructor({ agents, clock, slots, hooks, runNow, listDue }: RefreshDeps) {
    const shared = { clock, slots, hooks, timeoutMs: agents.options.requestTimeoutMs };
    this.scaleSets = new OnDemand({
      ...shared,
      name: SCALE_SETS.name,
      readOne: (key, signal) => readScaleSet(agents, key, signal),
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

  stop(): void {
    this.scaleSets.stop();
    this.instances.stop();
  }
}
