/** Agent pools of type VirtualMachines. There is one row per size, since each size is a node group of its own. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { TableDefinition } from '../../cache/table/row.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { ListedAgentPool } from './agent-pool-list.ts';
import { groupSizeOf } from '../../domain/platform-limits.ts';
import { readTags, type Tags } from './tags.ts';
import { defined } from '../../lib/defined.ts';
import { isRecord, textIn } from '../../lib/json.ts';

/** Between which numbers of nodes AKS's own autoscaler keeps a pool, or one size of it. */
export interface PoolLimits {
  readonly min: number;
  readonly max: number;
}

/** undefined: a number is missing, unusable, or the maximum is below the minimum. */
export function poolLimitsOf({ minCount, maxCount }: { readonly minCount?: unknown; readonly maxCount?: unknown }): PoolLimits | undefined {
  const [min, max] = [groupSizeOf(minCount), groupSizeOf(maxCount)];
  return min === undefined || max === undefined || max < min ? undefined : { min, max };
}

/** What all sizes of a pool share. */
interface SharedPoolState {
  readonly provisioningState: string;
  /** `Running` or `Stopped`; empty if unknown. */
  readonly powerState: string;
  readonly mode: string;
  /** AKS scales the pool itself, by either of its two switches. */
  readonly managedAutoscaler: boolean;
  readonly tags: Tags;
  readonly os: 'linux' | 'windows';
  readonly ephemeralDisk: boolean;
}

/** One size of one pool. `count` is the fenced number of its table. */
export interface PoolSizeRow extends SharedPoolState {
  /** The name as AKS spells it. */
  readonly pool: string;
  readonly vmSize: string;
  readonly count: number;
  /** The limits that AKS's own autoscaler has for this size. If absent, it has none or they are unusable. */
  readonly managedLimits?: PoolLimits;
  /** Set if AKS returned no count; then `count` means nothing. */
  readonly unreadable: string | undefined;
}

/** One pool with its sizes. All sizes share the entity tag. */
export interface VmsPool {
  readonly name: string;
  readonly etag: string | undefined;
  readonly shared: SharedPoolState;
  readonly sizes: readonly PoolSize[];
}

interface PoolSize {
  readonly vmSize: string;
  readonly count: number | undefined;
  readonly managedLimits?: PoolLimits;
}

/** Key: `<pool>/<size>`, folded. Scope: the pool. Fenced: the count. */
export const POOL_SIZES: TableDefinition<PoolSizeRow> = {
  name: 'pool-sizes',
  scopeOf: (key) => poolKeyOf(key),
  fenced: { read: (row) => row.count, write: (row, count) => ({ ...row, count }) },
  equal: isDeepStrictEqual,
};

export function poolSizeKey(pool: string, vmSize: string): string {
  return foldName(`${pool}/${vmSize}`);
}

/** The folded pool name in the key of a group or row. */
export function poolKeyOf(key: string): string {
  return key.split('/')[0] ?? key;
}

/** The folded type of agent pools whose sizes are node groups of their own. */
export const VMS_POOL_TYPE = 'virtualmachines';

/** undefined: not a pool, a pool of another type, or one without a name. Fields of another type than documented count as absent. */
export function readVmsPool(pool: ListedAgentPool | undefined): VmsPool | undefined {
  if (pool === undefined || textIn(pool.name) === '' || textIn(pool.typePropertiesType).toLowerCase() !== VMS_POOL_TYPE) return undefined;
  const profile: unknown = pool.virtualMachinesProfile;
  const scale = isRecord(profile) ? profile['scale'] : undefined;
  const listed = (key: string): readonly unknown[] => (isRecord(scale) && Array.isArray(scale[key]) ? scale[key] : []);
  return {
    name: textIn(pool.name),
    etag: textIn(pool.eTag) === '' ? undefined : textIn(pool.eTag),
    shared: {
      provisioningState: textIn(pool.provisioningState),
      powerState: isRecord(pool.powerState) ? textIn(pool.powerState['code']) : '',
      mode: textIn(pool.mode),
      managedAutoscaler: pool.enableAutoScaling === true || listed('autoscale').length > 0,
      tags: readTags(pool.tags),
      os: textIn(pool.osType).toLowerCase() === 'windows' ? 'windows' : 'linux',
      ephemeralDisk: textIn(pool.osDiskType).toLowerCase() === 'ephemeral',
    },
    sizes: [...withPoolLimits(sizesOf(listed('manual')), pool), ...sizesOfAutoscaler(listed('autoscale'), pool)],
  };
}

/** A pool with the switch of all pools has one pair of limits; they are those of its size if it has one size. */
function withPoolLimits(sizes: readonly PoolSize[], pool: ListedAgentPool): readonly PoolSize[] {
  const managedLimits = pool.enableAutoScaling === true && sizes.length === 1 ? poolLimitsOf(pool) : undefined;
  return managedLimits === undefined ? sizes : sizes.map((size) => ({ ...size, managedLimits }));
}

/** Sizes that AKS scales by itself have limits in place of a count: how many VMs exist is in the pool's status. */
function sizesOfAutoscaler(entries: readonly unknown[], { virtualMachineNodesStatus: status }: ListedAgentPool): readonly PoolSize[] {
  const counts: readonly unknown[] = Array.isArray(status) ? status : [];
  return entries.flatMap((entry) => {
    if (!isRecord(entry) || textIn(entry['size']) === '') return [];
    const vmSize = textIn(entry['size']);
    const known = counts.find((each) => isRecord(each) && foldName(textIn(each['size'])) === foldName(vmSize));
    const count = known === undefined ? 0 : groupSizeOf(isRecord(known) ? known['count'] : undefined);
    return [{ vmSize, count, ...defined({ managedLimits: poolLimitsOf(entry) }) }];
  });
}

/** One row per size. `alsoKnown` are configured sizes; AKS leaves them out while they have no instance. */
export function poolSizeRows(
  pool: VmsPool,
  alsoKnown: readonly string[],
): readonly { readonly key: string; readonly value: PoolSizeRow; readonly etag: string | undefined }[] {
  const listed = new Set(pool.sizes.map(({ vmSize }) => foldName(vmSize)));
  const absent = alsoKnown.filter((vmSize) => !listed.has(foldName(vmSize))).map((vmSize): PoolSize => ({ vmSize, count: 0 }));
  return [...pool.sizes, ...absent].map(({ vmSize, count, managedLimits }) => ({
    key: poolSizeKey(pool.name, vmSize),
    etag: pool.etag,
    value: {
      ...pool.shared,
      pool: pool.name,
      vmSize,
      count: count ?? 0,
      ...defined({ managedLimits }),
      unreadable: count === undefined ? 'AKS returned no usable count for this size' : undefined,
    },
  }));
}

/**
 * The pool's JSON with only the count of one size changed. Fields that we do not know are kept. A size that the pool does not
 * list yet is added.
 */
export function withSizeCount(raw: unknown, vmSize: string, count: number): unknown {
  const pool = isRecord(raw) ? raw : {};
  const properties = isRecord(pool['properties']) ? pool['properties'] : {};
  const profile = isRecord(properties['virtualMachinesProfile']) ? properties['virtualMachinesProfile'] : {};
  const scale = isRecord(profile['scale']) ? profile['scale'] : {};
  const manual: readonly unknown[] = Array.isArray(scale['manual']) ? scale['manual'] : [];
  const isSize = (entry: unknown): boolean =>
    isRecord(entry) && typeof entry['size'] === 'string' && foldName(entry['size']) === foldName(vmSize);
  const changed = manual.some(isSize)
    ? manual.map((entry) => (isRecord(entry) && isSize(entry) ? { ...entry, count } : entry))
    : [...manual, { size: vmSize, count }];
  return {
    ...pool,
    properties: { ...properties, virtualMachinesProfile: { ...profile, scale: { ...scale, manual: changed } } },
  };
}

/** A size that is listed twice has no usable count: it is unclear which entry to write. */
function sizesOf(manual: readonly unknown[]): readonly PoolSize[] {
  const sizes = new Map<string, PoolSize>();
  for (const entry of manual) {
    if (!isRecord(entry) || typeof entry['size'] !== 'string' || entry['size'] === '') continue;
    const { size: vmSize } = entry;
    const isTwice = sizes.has(foldName(vmSize));
    sizes.set(foldName(vmSize), { vmSize, count: isTwice ? undefined : groupSizeOf(entry['count']) });
  }
  return [...sizes.values()];
}
