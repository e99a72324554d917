/** Decides which sizes of VMs pools are node groups, and makes their template source. Pure. */
import type { RowView } from '../../cache/table/row.ts';
import { nodeGroupId, type NodeGroupId } from '../../domain/ids.ts';
import type { TargetSize } from '../../domain/node-group.ts';
import type { DiscoveryRule } from '../arm/options.ts';
import { isSettled, type AgentPoolRow } from '../rows/agent-pool.ts';
import { azureSpelling, type Sku } from '../sizes/sku-catalog.ts';
import { matchRules } from '../rows/tags.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import type { PoolSizeRow } from '../rows/vms-pool.ts';
import { defined } from '../../lib/defined.ts';

/** Whether an operation of AKS runs in the pool. It ends by itself. */
export function isOperationRunning({ provisioningState }: PoolSizeRow): boolean {
  return !isSettled(provisioningState);
}

/** A size as the registry stores it. */
interface DiscoveredSize {
  readonly id: NodeGroupId;
  readonly key: string;
  readonly kind: 'vms-pool';
  readonly min: number;
  readonly max: number;
  readonly explicit: false;
}

/** The group that a discovery rule makes of a size, or the reason why it cannot be one. undefined: no rule selects it. */
export function discoverSize(key: string, row: PoolSizeRow, rules: readonly DiscoveryRule[]): DiscoveredSize | string | undefined {
  const limits = matchRules(row.tags, rules);
  if (limits.kind === 'not-matched') return undefined;
  if (limits.kind === 'skipped') return limits.reason;
  const { min, max } = limits;
  return { id: nodeGroupId(`${row.pool}/${row.vmSize}`), key, kind: 'vms-pool', min, max, explicit: false };
}

/** The target count of AKS, including our unconfirmed changes. */
export function sizeTarget(view: RowView<PoolSizeRow> | undefined): TargetSize {
  if (view === undefined) return { known: false, reason: 'its agent pool has not been read' };
  const { target, confirmed, row, seen } = view;
  if (target === undefined || row.value.unreadable !== undefined)
    return { known: false, reason: row.value.unreadable ?? 'AKS returned no usable count for this size' };
  // The entity tag of the whole pool: a change of another size changes it too, which costs at most one more read.
  return { known: true, value: target, version: row.etag ?? '', confirmed, observedAtMs: seen.atMs };
}

interface SizeSourceInput {
  readonly size: PoolSizeRow;
  readonly pool: AgentPoolRow | undefined;
  readonly sku: Sku | undefined;
}

/** The template source of a size. The pool's labels and taints come with the agent pool itself. */
export function sizeTemplateSource({ size: row, pool, sku }: SizeSourceInput, location: string): TemplateSource {
  return {
    vmSize: azureSpelling(sku, row.vmSize),
    location,
    zones: pool?.zones ?? [],
    tags: row.tags,
    priority: pool?.priority ?? 'Regular',
    os: row.os,
    ...defined({ subnet: pool?.subnet }),
    // The disk's size comes with the agent pool.
    osDisk: { ephemeral: row.ephemeralDisk, tier: undefined, sizeGb: undefined },
  };
}
