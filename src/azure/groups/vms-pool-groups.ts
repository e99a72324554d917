/** Which sizes of agent pools are node groups, when they may be written, and what their nodes are made of. Pure. */
import type { RowView } from '../../cache/table/row.ts';
import { nodeGroupId, type NodeGroupId } from '../../domain/ids.ts';
import type { TargetSize } from '../../domain/node-group.ts';
import type { DiscoveryRule } from '../arm/options.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import { asListed, type Sku } from '../sizes/sku-catalog.ts';
import { discover } from '../rows/tags.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import type { PoolSizeRow } from '../rows/vms-pool.ts';
import { defined } from '../../lib/defined.ts';

/** A pool that failed or was cancelled rests too: AKS takes the next write, and only a write that succeeds mends it. */
const AT_REST = new Set(['', 'succeeded', 'failed', 'canceled']);

/** Whether AKS works on the pool and will end by itself. */
export function isPassing({ provisioningState }: PoolSizeRow): boolean {
  return !AT_REST.has(provisioningState.toLowerCase());
}

/** A size as the registry keeps it. */
export interface DiscoveredSize {
  readonly id: NodeGroupId;
  readonly key: string;
  readonly kind: 'vms-pool';
  readonly min: number;
  readonly max: number;
  readonly explicit: false;
}

/** The group that a discovery rule makes of a size, or why it makes none. undefined: no rule is meant for it. */
export function discoverSize(key: string, row: PoolSizeRow, rules: readonly DiscoveryRule[]): DiscoveredSize | string | undefined {
  const limits = discover(row.tags, rules);
  if (limits.kind === 'not-matched') return undefined;
  if (limits.kind === 'skipped') return limits.reason;
  const { min, max } = limits;
  return { id: nodeGroupId(`${row.pool}/${row.vmSize}`), key, kind: 'vms-pool', min, max, explicit: false };
}

/**
 * Why a size may be neither grown nor shrunk. `ours`: an operation of ours runs in the pool, which explains its state.
 */
export function sizeFrozenBecause(id: string, row: PoolSizeRow | undefined, ours: boolean): string | undefined {
  if (row === undefined) return `there is no agent pool of type VirtualMachines for "${id}"`;
  if (row.unreadable !== undefined) return row.unreadable;
  if (row.mode.toLowerCase() === 'hostedsystem') return 'its agent pool is hosted by AKS, which scales it';
  if (row.managedAutoscaler) return 'AKS runs its own autoscaler over its agent pool';
  if (row.powerState !== '' && row.powerState.toLowerCase() !== 'running') return `its agent pool is ${row.powerState.toLowerCase()}`;
  if (isPassing(row) && !ours) return `its agent pool is in state ${row.provisioningState}`;
  return undefined;
}

/** The count that AKS aims at, our unconfirmed changes included. */
export function targetOfSize(view: RowView<PoolSizeRow> | undefined): TargetSize {
  if (view === undefined) return { known: false, reason: 'its agent pool has not been read' };
  const { target, confirmed, row, seen } = view;
  if (target === undefined || row.value.unreadable !== undefined)
    return { known: false, reason: row.value.unreadable ?? 'AKS did not tell its count' };
  // The tag of the whole pool: a change of another size makes it another version, which costs one more read at the most.
  return { known: true, value: target, version: row.etag ?? '', confirmed, observedAtMs: seen.atMs };
}

export interface SizeKnown {
  readonly size: PoolSizeRow;
  readonly pool: AgentPoolRow | undefined;
  readonly sku: Sku | undefined;
}

/** What a template needs; the pool's labels and taints come with the pool itself. */
export function sourceOfSize({ size: row, pool, sku }: SizeKnown, location: string): TemplateSource {
  return {
    vmSize: asListed(sku, row.vmSize),
    location,
    zones: pool?.zones ?? [],
    tags: row.tags,
    priority: pool?.priority ?? 'Regular',
    os: row.os,
    ...defined({ subnet: pool?.subnet }),
    // The size of the disk comes with the pool.
    osDisk: { ephemeral: row.ephemeralDisk, tier: undefined, sizeGb: undefined },
  };
}
