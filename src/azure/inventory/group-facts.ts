/**
 * What scale sets, agent pools and sizes say together of one group: its pool, its size, how it is written and what stands in
 * the way of its growth. Reads what is known; asks Azure for nothing.
 */
import type { Table } from '../../cache/table/table.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CloudQuota, QuotaDraw } from '../../domain/quotas-and-prices.ts';
import { foldName } from '../arm/resource-ids.ts';
import { knownSize } from '../sizes/known-sizes.ts';
import type { AzureOptions } from '../arm/options.ts';
import { quotaDrawsOf, type QuotaLedger } from '../sizes/core-quotas.ts';
import { POOL_UNKNOWN, type RegisteredGroup } from '../groups/registry.ts';
import type { AgentPoolRow, AgentPools } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { findSku, unavailableReason, type Sku, type SkuCatalog } from '../sizes/sku-catalog.ts';
import { poolOf, writePathTag } from '../rows/tags.ts';
import type { VmsPools } from './vms-pools.ts';
import type { WriteTokens } from '../groups/own-writes.ts';

export interface GroupFactsDeps {
  readonly options: Pick<AzureOptions, 'writePath' | 'clusterName' | 'clusterResourceGroup'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly scaleSets: Pick<Table<ScaleSetRow>, 'get'>;
  readonly vmsPools: Pick<VmsPools, 'heldBecause' | 'poolHeldBecause'>;
  readonly tokens: Pick<WriteTokens, 'growthHeldBecause'>;
  readonly quota: Pick<QuotaLedger, 'quotas'>;
  /** undefined: never listed. */
  readonly pools: () => AgentPools | undefined;
  /** undefined: never read. */
  readonly catalog: () => SkuCatalog | undefined;
  readonly groups: () => Iterable<RegisteredGroup>;
}

const UNTAGGED_MS = 60_000;
const UNTAGGED =
  'Azure tells no entity tag of it, so that writing its capacity would be a guess; AZURE_ENABLE_VMSS_ETAG=false lets it be written without one';

const AKS_NOT_ASKED =
  'AKS is not asked about agent pools: that takes the name of the cluster and its resource group (CLUSTER_NAME, ARM_CLUSTER_RESOURCE_GROUP)';

export class GroupFacts {
  readonly #parts: GroupFactsDeps;
  readonly #byName = new Map<string, Sku>();
  /** Until when (monotonic) a set is not read again whose own read told no entity tag; by key. */
  readonly #untaggedUntilMs = new Map<string, number>();

  constructor(parts: GroupFactsDeps) {
    this.#parts = parts;
  }

  /** The agent pool of a group, when AKS was asked. */
  poolOf(group: RegisteredGroup): AgentPoolRow | undefined {
    const row = this.#rowOf(group);
    // A name without a scale set may be that of a pool: then the pool says why there is none.
    const name = group.kind === 'vms-pool' ? group.key.split('/')[0] : row === undefined ? group.key : poolOf(row.tags);
    return name === undefined ? undefined : this.#parts.pools()?.byName.get(foldName(name));
  }

  /** Why nothing can be said of agent pools; undefined: AKS has told of them. */
  poolsUnknownReason(): string | undefined {
    if (this.#parts.pools() !== undefined) return undefined;
    const { clusterName, clusterResourceGroup } = this.#parts.options;
    return clusterName === undefined || clusterResourceGroup === undefined ? AKS_NOT_ASKED : 'AKS has not told of its agent pools yet';
  }

  /** The size of a group's machines. What Azure's list does not tell, for want of it or in it, the name of the size may. */
  skuOf(group: RegisteredGroup): Sku | undefined {
    const vmSize = this.#rowOf(group)?.vmSize ?? group.key.split('/')[1] ?? '';
    return findSku(this.#parts.catalog(), vmSize) ?? this.#knownByName(vmSize);
  }

  /** Whether a scale set is written through its agent pool. */
  isWrittenThroughAks(group: RegisteredGroup): boolean {
    const row = this.#rowOf(group);
    if (group.kind === 'vms-pool' || row === undefined) return false;
    return (writePathTag(row.tags) ?? this.#parts.options.writePath) === 'agentPool';
  }

  /** The name of the pool through which a scale set is written; undefined for a set that is written itself. */
  writtenPoolOf(group: RegisteredGroup): string | undefined {
    return this.isWrittenThroughAks(group) ? this.poolOf(group)?.name : undefined;
  }

  /** Why an operation of ours keeps AKS from taking another for this group. */
  ownOperationReason(group: RegisteredGroup): string | undefined {
    if (group.kind === 'vms-pool') return this.#parts.vmsPools.heldReason(group.key);
    const pool = this.writtenPoolOf(group);
    return pool === undefined ? undefined : this.#parts.vmsPools.poolHeldReason(pool);
  }

  /** Why no machine may be ordered now, while what runs goes on. */
  increaseHeldReason(group: RegisteredGroup): string | undefined {
    const unknownPool = this.isWrittenThroughAks(group) && this.poolOf(group) === undefined ? POOL_UNKNOWN : undefined;
    const { tokens, clock } = this.#parts;
    const nowMs = clock.monotonic();
    const rest = unknownPool ?? this.ownOperationReason(group) ?? tokens.increaseHeldReason(group.key, nowMs);
    return rest ?? this.#untaggedBecause(group, nowMs) ?? this.restrictedReason(group);
  }

  /** Azure told no entity tag of a set even when asked for that set alone. @returns why it is not written. */
  noteUntagged(group: RegisteredGroup): string {
    this.#untaggedUntilMs.set(group.key, this.#parts.clock.monotonic() + UNTAGGED_MS);
    return UNTAGGED;
  }

  /** Why Azure sells no machine of the group's size in its zones. */
  restrictedReason(group: RegisteredGroup): string | undefined {
    const zones = this.#rowOf(group)?.zones ?? this.poolOf(group)?.zones ?? [];
    return unavailableReason(this.skuOf(group), zones, this.#priorityOf(group));
  }

  /** What one node of a group takes of the region's quotas; empty when its size is not known. */
  drawsOf(group: RegisteredGroup): readonly QuotaDraw[] {
    const sku = this.skuOf(group);
    return sku === undefined ? [] : quotaDrawsOf(sku, this.#priorityOf(group));
  }

  /** The quotas that groups draw on, as far as they are known. */
  quotas(nowMs: number): readonly CloudQuota[] {
    const drawn = new Set([...this.#parts.groups()].flatMap((group) => this.drawsOf(group).map(({ quota }) => quota)));
    return this.#parts.quota.quotas(nowMs).filter(({ name }) => drawn.has(name));
  }

  /** The same object each time: what is made of it is kept while it is the same. */
  #knownByName(vmSize: string): Sku | undefined {
    const known = this.#byName.get(vmSize) ?? knownSize(vmSize);
    if (known !== undefined) this.#byName.set(vmSize, known);
    return known;
  }

  #priorityOf(group: RegisteredGroup): 'Regular' | 'Spot' {
    return this.#rowOf(group)?.priority ?? this.poolOf(group)?.priority ?? 'Regular';
  }

  #untaggedBecause({ key }: RegisteredGroup, nowMs: number): string | undefined {
    const untilMs = this.#untaggedUntilMs.get(key);
    if (untilMs === undefined || nowMs >= untilMs) return undefined;
    return this.#parts.scaleSets.get(key)?.etag === undefined ? UNTAGGED : undefined;
  }

  #rowOf(group: RegisteredGroup): ScaleSetRow | undefined {
    return this.#parts.scaleSets.get(group.key)?.value;
  }
}
