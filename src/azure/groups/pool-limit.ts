/** How many nodes AKS allows in one agent pool, and what that leaves to a node group. */
import { MAX_POOL_NODES } from '../../domain/platform-limits.ts';
import type { NodeGroup, TargetSize } from '../../domain/node-group.ts';
import type { Row } from '../../cache/table/row.ts';
import { poolKeyOf, type PoolSizeRow } from '../rows/vms-pool.ts';
import type { RegisteredGroup } from './registry.ts';

interface SizesOfPools {
  readonly vmsPools: { readonly sizes: { scope(pool: string): ReadonlyMap<string, Row<PoolSizeRow>> } };
}

/** The most nodes of the group that AKS allows. The sizes of a pool of type VirtualMachines share its limit. */
export function allowedSize({ kind, key }: Pick<RegisteredGroup, 'kind' | 'key'>, { vmsPools }: SizesOfPools): number {
  if (kind !== 'vms-pool') return MAX_POOL_NODES;
  let others = 0;
  for (const [other, row] of vmsPools.sizes.scope(poolKeyOf(key))) if (other !== key) others += row.value.count;
  return Math.max(0, MAX_POOL_NODES - others);
}

/** The configured maximum, or what AKS allows if that is less. */
export function limitedMaximum(
  { max }: Pick<RegisteredGroup, 'max'>,
  allowed: number,
): Pick<NodeGroup, 'maxSize' | 'poolLimit' | 'configuredMax'> {
  if (max <= allowed) return { maxSize: max, poolLimit: undefined, configuredMax: undefined };
  return { maxSize: allowed, poolLimit: MAX_POOL_NODES, configuredMax: max > MAX_POOL_NODES ? max : undefined };
}

/** What the pool of the group can still take, for all sizes of a pool of type VirtualMachines together. `allowed` is {@link allowedSize}. */
export function sharedPoolOf(
  { kind, key }: Pick<RegisteredGroup, 'kind' | 'key'>,
  allowed: number,
  target: TargetSize,
): NodeGroup['sharedPool'] {
  if (kind !== 'vms-pool' || !target.known) return undefined;
  return { name: poolKeyOf(key), limit: MAX_POOL_NODES, room: Math.max(0, allowed - target.value) };
}
