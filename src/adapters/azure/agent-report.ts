/** What one read of Azure is worth now, as a person asks for it: the agent, what stands in its way, and what it may still ask. Pure. */
import type { AgentStatus } from '../../cache/agent-state.ts';
import type { FenceStatus } from '../../cache/fence-book.ts';
import type { RemainingCalls } from './budgets.ts';
import type { AzureStore } from './store.ts';
import { AGENT_POOLS_AGENT, instancesAgent, MACHINES_AGENT, SCALE_SETS_AGENT } from './tables.ts';

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
}: Pick<AzureStore, 'scaleSets' | 'instances' | 'vmsPools'>): readonly FencedTable[] {
  const listOf = (key: string): string => {
    const group = instances.get(key)?.value.group;
    return group !== undefined && scaleSets.get(group) !== undefined ? instancesAgent(group) : MACHINES_AGENT;
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
    return { ...agent, ...(own === undefined ? {} : { fences: own }), ...(budget === undefined ? {} : { budget }) };
  });
}
