/** What the cache reports, as metrics and log lines. */
import type { AgentStatus } from '../../cache/agents/agent-state.ts';
import type { FenceStatus } from '../../cache/table/fences.ts';
import type { AgentRun, CacheHooks } from '../../cache/table/hooks.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { RemainingCalls } from '../arm/rate-limits.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { AGENT_POOLS_AGENT, instancesAgent, VMS_AGENT, SCALE_SETS_AGENT } from '../rows/tables.ts';
import { defined } from '../../lib/defined.ts';

export function cacheHooks(metrics: Metrics['cache'], log: Log, clock: Pick<Clock, 'now'>): CacheHooks {
  const tellTrouble = readFailureLogger(log);
  return {
    rowRejected: (table, reason) => metrics.rowsRejected.inc({ table, reason }),
    evicted: (table, cause, count) => metrics.evictions.inc({ table, cause }, count),
    duplicates: (table, count) => metrics.duplicates.inc({ table }, count),
    listDoubted: (table, agent) => log.warn({ table, agent }, 'a list lacks more than half of what is known; reading it again'),
    mutationLost: (table, keys) => log.warn({ table, keys: keys.length }, 'a change was in flight for too long and is counted as lost'),
    onDemand: (table, outcome) => metrics.onDemand.inc({ table, outcome }),
    agentRun: (run) => {
      const { kind, outcome, durationMs } = run;
      tellTrouble(run);
      metrics.agentRuns.inc({ kind, outcome });
      metrics.agentDuration.observe({ kind }, durationMs / 1000);
      if (outcome === 'succeeded') metrics.agentLastSuccess.set({ kind }, clock.now() / 1000);
    },
    threw: (where, error) => log.error({ where, err: error }, 'an observer of the cache failed'),
  };
}

/** Says that reads of one kind fail, and once that they all succeed again. The log folds what repeats. */
function readFailureLogger(log: Log): (run: AgentRun) => void {
  const failing = new Map<string, Set<string>>();
  return ({ id, kind: what, outcome, error }) => {
    const ids = failing.get(what) ?? new Set<string>();
    failing.set(what, ids);
    if (outcome === 'succeeded') {
      if (ids.delete(id) && ids.size === 0) log.info({ what }, 'reads of Azure succeed again');
    } else if (outcome !== 'token-lost' && error?.kind !== 'cancelled') {
      ids.add(id);
      const why = error === undefined ? {} : { kind: error.kind, code: error.code, error: error.message };
      log.warn({ what, agentId: id, ...why }, 'Azure could not be read; going on with what is known');
    }
  };
}

// What one read of Azure is worth now, as a person asks for it: the agent, what stands in its way, and what it may still ask. Pure.

export interface AgentReport extends AgentStatus {
  /** Rows of its lists that wait for a read begun after a change of ours. Absent: none. */
  readonly fences?: readonly FenceStatus[];
  /** What Azure said last of the calls that it may still make; the scarcest policy. Absent: Azure has said nothing of them. */
  readonly budget?: RemainingCalls;
}

/** A table, and which agent's lists its rows come from. */
export interface FencedTable {
  readonly fences: () => readonly FenceStatus[];
  readonly agentOf: (key: string) => string;
}

/** The tables of the adapter. A machine's row comes from the list of its set, or from that of all machines of VMs pools. */
export function fencedTables({
  scaleSets,
  instances,
  vmsPools,
}: Pick<AzureInventory, 'scaleSets' | 'instances' | 'vmsPools'>): readonly FencedTable[] {
  const listOf = (key: string): string => {
    const group = instances.get(key)?.value.group;
    return group !== undefined && scaleSets.get(group) !== undefined ? instancesAgent(group) : VMS_AGENT;
  };
  return [
    { fences: () => scaleSets.fences(), agentOf: () => SCALE_SETS_AGENT },
    { fences: () => instances.fences(), agentOf: listOf },
    { fences: () => vmsPools.sizes.fences(), agentOf: () => AGENT_POOLS_AGENT },
  ];
}

export function reportAgents(
  agents: readonly AgentStatus[],
  tables: readonly FencedTable[],
  remaining: (family: string) => RemainingCalls | undefined,
): readonly AgentReport[] {
  const fences = new Map<string, FenceStatus[]>();
  for (const { fences: all, agentOf } of tables) {
    for (const fence of all()) fences.set(agentOf(fence.key), [...(fences.get(agentOf(fence.key)) ?? []), fence]);
  }
  return agents.map((agent) => {
    const own = fences.get(agent.id);
    const budget = agent.bucket === undefined ? undefined : remaining(agent.bucket);
    return { ...agent, ...defined({ fences: own, budget }) };
  });
}
