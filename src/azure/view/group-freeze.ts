/** What the rules of groups ask in each loop: rows, refused writes, the lock of another autoscaler, and how old the data is. Must not know plans. */
import type { ChangeBlock } from '../../domain/group-blocks.ts';
import { checkFreshness, type FreshnessVerdict } from '../../cache/table/freshness.ts';
import type { AgentStatus } from '../../cache/agents/agent-state.ts';
import type { AzureOptions } from '../arm/options.ts';
import { blockAgainstChange } from '../groups/group-rules.ts';
import type { WriteBackoffs } from '../groups/own-writes.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { AGENT_POOLS_AGENT, instancesAgent, VMS_AGENT } from '../rows/tables.ts';
import type { GroupRows } from './group-input.ts';

export interface FreezeDeps {
  readonly store: Pick<AzureInventory, 'facts'>;
  readonly options: Pick<AzureOptions, 'adoptsManagedPools'>;
  readonly backoffs: Pick<WriteBackoffs, 'reasonFor'>;
}

interface FreezeMoment {
  readonly agents: ReadonlyMap<string, AgentStatus>;
  readonly nowMs: number;
  /** Why no group may be written now, if so. */
  readonly locked: string | undefined;
  /** A person paused every change of the group. */
  readonly paused: ChangeBlock | undefined;
}

/** undefined: nothing is against a change. */
export function groupFrozenReason(
  { store: { facts }, options, backoffs }: FreezeDeps,
  group: RegisteredGroup,
  { row, size, pool }: GroupRows,
  moment: FreezeMoment,
): ChangeBlock | undefined {
  return blockAgainstChange('view', {
    group,
    row: row?.value,
    size,
    pool,
    adopted: options.adoptsManagedPools === true,
    ours: facts.ownOperationReason(group) !== undefined,
    paused: moment.paused,
    poolsUnknown: group.kind === 'vms-pool' && size === undefined ? poolsUnknown(facts, moment) : undefined,
    refusedWrite: backoffs.reasonFor(group.key, moment.nowMs),
    foreignLock: moment.locked === undefined ? undefined : { code: 'locked', message: moment.locked },
    oldData: dataTooOld(agentsOf(group), moment),
  });
}

/** A list of pools that fails says more than that it is awaited. */
function poolsUnknown(facts: FreezeDeps['store']['facts'], moment: Pick<FreezeMoment, 'agents' | 'nowMs'>): ChangeBlock | undefined {
  const unknown = facts.poolsUnknownReason();
  return unknown === undefined ? undefined : (dataTooOld([AGENT_POOLS_AGENT], moment) ?? unknown);
}

/** If the instances of one group were unreadable for too long, this must not affect other groups. */
function agentsOf({ kind, key }: RegisteredGroup): readonly string[] {
  return kind === 'vms-pool' ? [AGENT_POOLS_AGENT, VMS_AGENT] : [instancesAgent(key)];
}

function dataTooOld(ids: readonly string[], { agents, nowMs }: Pick<FreezeMoment, 'agents' | 'nowMs'>): ChangeBlock | undefined {
  for (const agent of ids) {
    const message = freshnessOf(agents.get(agent), nowMs).scaleUpBlocked;
    if (message !== undefined) return { code: 'data-too-old', agent, message };
  }
  return undefined;
}

/** What old data of one agent forbids. Without the agent: nothing. */
export function freshnessOf(agent: AgentStatus | undefined, nowMs: number): FreshnessVerdict {
  return checkFreshness(agent === undefined ? [] : [agent], nowMs);
}
