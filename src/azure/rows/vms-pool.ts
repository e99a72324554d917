/**
 * Agent pools of type VirtualMachines. There is one row per size, since each size is a node group of its own. The typed list
 * and raw JSON are read into the same form. Pure.
 */
import type { AgentPool } from '@azure/arm-containerservice';
import { isDeepStrictEqual } from 'node:util';
import type { TableDefinition } from '../../cache/table/row.ts';
import { foldName } from '../arm/resource-ids.ts';
import { isRecord } from '../arm/error-bodies.ts';
import { readTags, type Tags } from './tags.ts';

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
  /** Set if AKS returned no count; then `count` means nothing. */
  readonly unreadable: string | undefined;
}

/** One pool with its sizes. All sizes share the entity tag. */
export interface VmsPool {
  readonly name: string;
  readonly etag: string | undefined;
  readonly shared: SharedPoolState;
  readonly sizes: readonly { readonly vmSize: string; readonly count: number | undefined }[];
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

/** undefined: a pool of another type, or one without a name. */
export function readVmsPool(raw: AgentPool): VmsPool | undefined {
  if (raw.name === undefined || raw.typePropertiesType?.toLowerCase() !== VMS_POOL_TYPE) return undefined;
  const { scale } = raw.virtualMachinesProfile ?? {};
  return {
    name: raw.name,
    etag: raw.eTag,
    shared: {
      provisioningState: raw.provisioningState ?? '',
      powerState: raw.powerState?.code ?? '',
      mode: raw.mode ?? '',
      managedAutoscaler: raw.enableAutoScaling === true || (scale?.autoscale ?? []).length > 0,
      tags: readTags(raw.tags),
      os: osOf(raw.osType),
      ephemeralDisk: isEphemeral(raw.osDiskType),
    },
    sizes: sizesOf(scale?.manual ?? []),
  };
}

/** Reads the same from the raw response to a GET. */
export function readVmsPoolJson(raw: unknown): VmsPool | undefined {
  if (!isRecord(raw) || !isRecord(raw['properties'])) return undefined;
  const { properties } = raw;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  if (text(raw['name']) === '' || text(properties['type']).toLowerCase() !== VMS_POOL_TYPE) return undefined;
  const scale = isRecord(properties['virtualMachinesProfile']) ? properties['virtualMachinesProfile']['scale'] : undefined;
  const listed = (key: string): readonly unknown[] => (isRecord(scale) && Array.isArray(scale[key]) ? scale[key] : []);
  const power = isRecord(properties['powerState']) ? properties['powerState']['code'] : undefined;
  return {
    name: text(raw['name']),
    etag: text(properties['eTag']) === '' ? undefined : text(properties['eTag']),
    shared: {
      provisioningState: text(properties['provisioningState']),
      powerState: text(power),
      mode: text(properties['mode']),
      managedAutoscaler: properties['enableAutoScaling'] === true || listed('autoscale').length > 0,
      tags: tagsOf(properties['tags']),
      os: osOf(text(properties['osType'])),
      ephemeralDisk: isEphemeral(text(properties['osDiskType'])),
    },
    sizes: sizesOf(listed('manual')),
  };
}

/** One row per size. `alsoKnown` are configured sizes; AKS leaves them out while they have no instance. */
export function poolSizeRows(
  pool: VmsPool,
  alsoKnown: readonly string[],
): readonly { readonly key: string; readonly value: PoolSizeRow; readonly etag: string | undefined }[] {
  const listed = new Set(pool.sizes.map(({ vmSize }) => foldName(vmSize)));
  const absent = alsoKnown.filter((vmSize) => !listed.has(foldName(vmSize))).map((vmSize) => ({ vmSize, count: 0 }));
  return [...pool.sizes, ...absent].map(({ vmSize, count }) => ({
    key: poolSizeKey(pool.name, vmSize),
    etag: pool.etag,
    value: {
      ...pool.shared,
      pool: pool.name,
      vmSize,
      count: count ?? 0,
      unreadable: count === undefined ? 'AKS returned no count for this size' : undefined,
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
function sizesOf(manual: readonly unknown[]): VmsPool['sizes'] {
  const sizes = new Map<string, { readonly vmSize: string; readonly count: number | undefined }>();
  for (const entry of manual) {
    if (!isRecord(entry) || typeof entry['size'] !== 'string' || entry['size'] === '') continue;
    const { size: vmSize, count } = entry;
    const isCount = typeof count === 'number' && Number.isInteger(count) && count >= 0;
    const isTwice = sizes.has(foldName(vmSize));
    sizes.set(foldName(vmSize), { vmSize, count: isCount && !isTwice ? count : undefined });
  }
  return [...sizes.values()];
}

function tagsOf(raw: unknown): Tags {
  const entries = isRecord(raw) ? Object.entries(raw) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

function osOf(osType: string | undefined): 'linux' | 'windows' {
  return osType?.toLowerCase() === 'windows' ? 'windows' : 'linux';
}

function isEphemeral(osDiskType: string | undefined): boolean {
  return osDiskType?.toLowerCase() === 'ephemeral';
}
