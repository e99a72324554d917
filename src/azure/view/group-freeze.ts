/** Why a group may not be changed now: its own state, a refusal, data that is too old, or another autoscaler. Must not know plans. */
import type { ChangeBlock } from '../../domain/group-blocks.ts';
import { checkFreshness, type FreshnessVerdict } from '../../cache/table/freshness.ts';
import type { AgentStatus } from '../../cache/agents/agent-state.ts';
import type { AzureOptions } from '../arm/options.ts';
import type { WriteBackoffs } from '../groups/own-writes.ts';
import { frozenReason, type RegisteredGroup } from '../groups/registry.ts';
import { sizeFrozenReason } from '../groups/vms-pool-groups.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { AGENT_POOLS_AGENT, instancesAgent, VMS_AGENT } from '../rows/tables.ts';
import type { GroupRows } from './group-input.ts';

export interface FreezeDeps {
  readonly store: Pick<AzureInventory, 'vmsPools' | 'facts'>;
  readonly options: Pick<AzureOptions, 'adoptsManagedPools'>;
  readonly backoffs: Pick<WriteBackoffs, 'reasonFor'>;
}

interface FreezeMoment {
  readonly agents: ReadonlyMap<string, AgentStatus>;
  readonly nowMs: number;
  /** Why no group may be written now, if so. */
  readonly locked: string | undefined;
}

/** undefined: nothing is against a change. */
export function groupFrozenReason(
  deps: FreezeDeps,
  group: RegisteredGroup,
  rows: GroupRows,
  moment: FreezeMoment,
): ChangeBlock | undefined {
  return frozenByState(deps, group, rows, moment) ?? deps.backoffs.reasonFor(group.key, moment.nowMs) ?? frozenByView(group, moment);
}

function frozenByState(
  { store: { vmsPools, facts }, options: { adoptsManagedPools: adopted } }: FreezeDeps,
  group: RegisteredGroup,
  { row, size, pool }: GroupRows,
  { agents, nowMs }: FreezeMoment,
): ChangeBlock | undefined {
  if (group.kind === 'scale-set')
    return frozenReason(group, row?.value, pool, { ours: facts.ownOperationReason(group) !== undefined, adopted });
  const unknown = size === undefined ? facts.poolsUnknownReason() : undefined;
  if (unknown !== undefined) return dataTooOld(AGENT_POOLS_AGENT, agents, nowMs) ?? unknown;
  return sizeFrozenReason(group.id, size, vmsPools.heldReason(group.key) !== undefined, adopted);
}

/**
 * All groups are frozen while another autoscaler holds the lock. One group is frozen if its instances were unreadable for too
 * long; this must not affect other groups.
 */
function frozenByView(group: RegisteredGroup, { agents, nowMs, locked }: FreezeMoment): ChangeBlock | undefined {
  if (locked !== undefined) return { code: 'locked', message: locked };
  const ids = group.kind === 'vms-pool' ? [AGENT_POOLS_AGENT, VMS_AGENT] : [instancesAgent(group.key)];
  return ids.map((id) => dataTooOld(id, agents, nowMs)).find((reason) => reason !== undefined);
}

function dataTooOld(agent: string, agents: FreezeMoment['agents'], nowMs: number): ChangeBlock | undefined {
  const message = freshnessOf(agents.get(agent), nowMs).scaleUpBlocked;
  return message === undefined ? undefined : { code: 'data-too-old', agent, message };
}

/** What old data of one agent forbids. Without the agent: nothing. */
export function freshnessOf(agent: AgentStatus | undefined, nowMs: number): FreshnessVerdict {
  return checkFreshness(agent === undefined ? [] : [agent], nowMs);
}
