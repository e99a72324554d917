/** The tables of this adapter: which values are fenced, and when two values are equal. */
import { isDeepStrictEqual } from 'node:util';
import type { TableDefinition } from '../../cache/table/row.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { InstanceRow, ScaleSetRow } from './scale-set.ts';

/** Key: folded name. Fenced: the capacity. */
export const SCALE_SETS: TableDefinition<ScaleSetRow> = {
  name: 'scale-sets',
  scopeOf: () => '',
  fenced: { read: (row) => row.capacity, write: (row, capacity) => ({ ...row, capacity }) },
  equal: isDeepStrictEqual,
};

/** Key: InstanceKey. Scope: the group's folded name. */
export const INSTANCES: TableDefinition<InstanceRow> = {
  name: 'instances',
  scopeOf: (_key, row) => row.group,
  fenced: undefined,
  equal: isDeepStrictEqual,
};

/** Agent ids. Metrics and `/debug/agents` show them. */
export const SCALE_SETS_AGENT = 'scaleSets';
export const SPOT_SIZES_AGENT = 'spotSizes';
export const AGENT_POOLS_AGENT = 'agentPools';
export const SKUS_AGENT = 'skus';
export const VMS_AGENT = 'vms';
export const USAGE_AGENT = 'usage';
export const RESERVATIONS_AGENT = 'capacityReservations';
export const PLACEMENT_AGENT = 'placementScores';
export const MAINTENANCE_AGENT = 'maintenance';
export const PRICES_AGENT = 'prices';

const AGENTS = [
  SCALE_SETS_AGENT,
  SPOT_SIZES_AGENT,
  AGENT_POOLS_AGENT,
  SKUS_AGENT,
  VMS_AGENT,
  USAGE_AGENT,
  RESERVATIONS_AGENT,
  PLACEMENT_AGENT,
  MAINTENANCE_AGENT,
  PRICES_AGENT,
];

/** Whether an agent of this adapter can have this id. Configuration and discovered sets decide which agents exist. */
export function isAgentId(id: string): boolean {
  return AGENTS.includes(id) || id.startsWith(instancesAgent(''));
}

export function instancesAgent(setKey: string): string {
  return `instances/${setKey}`;
}

/** The id of the agent that lists a group's instances: that of its scale set, or the one of all VMs pools. */
export function instanceListAgentId(groupKey: string): string {
  return groupKey.includes('/') ? VMS_AGENT : instancesAgent(foldName(groupKey));
}
