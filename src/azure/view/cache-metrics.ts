/** Publishes events of the cache as metrics and log lines. */
import type { AgentStatus } from '../../cache/agents/agent-state.ts';
import type { FenceStatus } from '../../cache/table/fences.ts';
import type { AgentRun, CacheHooks } from '../../cache/table/hooks.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { OPERATIONS } from '../arm/call-list.ts';
import type { RemainingCalls } from '../arm/rate-limits.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { AGENT_POOLS_AGENT, instancesAgent, VMS_AGENT, SCALE_SETS_AGENT } from '../rows/tables.ts';
import { defined } from '../../lib/defined.ts';

/** `loggedOnce`: kinds of reads that nothing needs. A failure of theirs is one line, however long it lasts. */
export function cacheHooks(
  metrics: Metrics['cache'],
  log: Log,
  clock: Pick<Clock, 'now'>,
  loggedOnce: ReadonlySet<string> = new Set(),
): CacheHooks {
  const logFailure = readFailureLogger(log, loggedOnce);
  return {
    rowRejected: (table, reason) => metrics.rowsRejected.inc({ table, reason }),
    evicted: (table, cause, count) => metrics.evictions.inc({ table, cause }, count),
    duplicates: (table, count) => metrics.duplicates.inc({ table }, count),
    listDoubted: (table, agent) => log.warn({ table, agent }, 'A list lacks more than half of the known rows; it will be read again'),
    mutationLost: (table, keys) => log.warn({ table, keys: keys.length }, 'A change was in flight for too long and counts as lost'),
    onDemand: (table, outcome) => metrics.onDemand.inc({ table, outcome }),
    agentRun: (run) => {
      const { kind, outcome, durationMs } = run;
      logFailure(run);
      metrics.agentRuns.inc({ kind, outcome });
      metrics.agentDuration.observe({ kind }, durationMs / 1000);
      if (outcome === 'succeeded') metrics.agentLastSuccess.set({ kind }, clock.now() / 1000);
    },
    threw: (where, error) => log.error({ where, err: error }, 'An observer of the cache failed'),
  };
}

/** Logs failing reads by kind, and once when all reads of the kind succeed again. The log suppresses repeated lines. */
function readFailureLogger(log: Log, loggedOnce: ReadonlySet<string>): (run: AgentRun) => void {
  const failing = new Map<string, Set<string>>();
  return ({ id, kind: what, outcome, error }) => {
    const ids = failing.get(what) ?? new Set<string>();
    failing.set(what, ids);
    if (outcome === 'succeeded') {
      if (ids.delete(id) && ids.size === 0) log.info({ what }, 'Reads of Azure succeed again');
    } else if (outcome !== 'token-lost' && error?.kind !== 'cancelled') {
      const isKnown = ids.has(id);
      ids.add(id);
      const why = error === undefined ? {} : { kind: error.kind, code: error.code, error: error.message };
      if (loggedOnce.has(what)) {
        // guard: a price list that is read by default and cannot be reached is one line of the log
        if (!isKnown) log.info({ what, agentId: id, ...why }, 'Prices are not reachable; costs may be unknown, and decisions are the same');
        return;
      }
      log.warn({ what, agentId: id, ...why }, 'Reading Azure failed; the last known data is used');
    }
  };
}

/** One caching agent as a person sees it: its state, its fenced rows and its remaining calls. */
export interface AgentReport extends AgentStatus {
  /** Rows of its lists that wait for a read started after a change of ours, if any. */
  readonly fences?: readonly FenceStatus[];
  /** Azure's last report of remaining calls, for the scarcest policy. If absent, Azure has reported none. */
  readonly budget?: RemainingCalls;
}

/** A table, and the agent that lists each of its rows. */
interface FencedTable {
  readonly fences: () => readonly FenceStatus[];
  readonly agentOf: (key: string) => string;
}

/**
 * The tables of the adapter. An instance's row comes from the list of its set, or from the list of all virtual machines of VMs
 * pools.
 */
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

/** Prices are read from elsewhere: limits of ARM say nothing about them. */
const ARM_FAMILIES: ReadonlySet<string> = new Set(Object.values(OPERATIONS).map(({ family }) => family));

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
    const budget = ARM_FAMILIES.has(agent.bucket) ? remaining(agent.bucket) : undefined;
    return { ...agent, ...defined({ fences: own, budget }) };
  });
}
