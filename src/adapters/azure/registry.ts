/**
 * Which scale sets and pools are node groups, with which limits. Named ones win over discovered ones; limits change in
 * place; a set that is gone, or tagged badly, costs its own group and no other. Pure: rows in, registration out.
 */
import { nodeGroupId, type NodeGroupId } from '../../domain/ids.ts';
import { foldName } from './arm-ids.ts';
import type { AzureOptions } from './options.ts';
import type { AgentPoolRow, ScaleSetRow } from './rows.ts';
import { discover } from './tags.ts';
import { discoverSize } from './vms-pool-groups.ts';
import type { PoolSizeRow } from './vms-pool-rows.ts';

export interface Registered {
  readonly id: NodeGroupId;
  /** Folded: the scale set's name, or `<pool>/<vm size>`. */
  readonly key: string;
  readonly kind: 'scale-set' | 'vms-pool';
  readonly min: number;
  readonly max: number;
  readonly explicit: boolean;
}

export interface Registration {
  /** By folded name. */
  readonly groups: ReadonlyMap<string, Registered>;
  readonly byId: ReadonlyMap<NodeGroupId, Registered>;
  /** Sets that a discovery rule selects and that cannot be groups: why. */
  readonly skipped: ReadonlyMap<string, string>;
}

export interface RegistrationInput {
  readonly options: Pick<AzureOptions, 'nodeGroups' | 'discovery'>;
  /** undefined: never listed. */
  readonly scaleSets: ReadonlyMap<string, { readonly value: ScaleSetRow }> | undefined;
  /** Sizes of pools of type VirtualMachines, by `<pool>/<size>`. */
  readonly poolSizes?: ReadonlyMap<string, { readonly value: PoolSizeRow }>;
}

export function register(input: RegistrationInput): Registration {
  const groups = new Map<string, Registered>();
  const skipped = new Map<string, string>();
  for (const { name, min, max } of input.options.nodeGroups) {
    const key = foldName(name);
    const kind = /^[^/]+\/[^/]+$/.test(name) ? 'vms-pool' : 'scale-set';
    groups.set(key, { id: nodeGroupId(name), key, kind, min, max, explicit: true });
  }
  for (const [key, { value }] of input.scaleSets ?? []) {
    if (groups.has(key)) continue;
    const limits = discover(value.tags, input.options.discovery);
    if (limits.kind === 'skipped') skipped.set(key, limits.reason);
    if (limits.kind !== 'limits') continue;
    groups.set(key, { id: nodeGroupId(value.name), key, kind: 'scale-set', min: limits.min, max: limits.max, explicit: false });
  }
  for (const [key, { value }] of input.poolSizes ?? []) {
    const found = groups.has(key) ? undefined : discoverSize(key, value, input.options.discovery);
    if (typeof found === 'string') skipped.set(key, found);
    else if (found !== undefined) groups.set(key, found);
  }
  return { groups, byId: new Map([...groups.values()].map((group) => [group.id, group])), skipped };
}

const RESTING_POOL_STATES = new Set(['', 'succeeded', 'failed', 'canceled']);

/** Why a set that is to be written through AKS cannot be. */
export const POOL_UNKNOWN = 'it is to be written through AKS, which has told of no agent pool for it';

export function isResting(provisioningState: string): boolean {
  return RESTING_POOL_STATES.has(provisioningState.toLowerCase());
}

/** Why a group may be neither grown nor shrunk, as far as its rows tell. */
export function frozenBecause(
  group: Registered,
  row: ScaleSetRow | undefined,
  pool: AgentPoolRow | undefined,
  /** An operation of ours runs in the pool, which explains its state. */
  ours = false,
): string | undefined {
  if (row === undefined) return `there is no scale set named "${group.id}" in the node resource group`;
  if (row.unreadable !== undefined) return row.unreadable;
  if (row.orchestration !== 'Uniform' && row.orchestration !== 'Flexible')
    return `its orchestration mode "${row.orchestration}" is not known`;
  if (row.provisioningState.toLowerCase() === 'deleting') return 'it is being deleted';
  if (pool === undefined) return undefined;
  // Between AKS's own operations and ours there is no lock: whoever writes second wins over the other's numbers.
  if (!ours && !isResting(pool.provisioningState)) return `its agent pool is in state ${pool.provisioningState}`;
  if (pool.stopped) return 'its agent pool is stopped';
  if (pool.managedAutoscaler) return 'AKS runs its own autoscaler over its agent pool (enableAutoScaling)';
  return undefined;
}
