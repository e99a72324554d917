/**
 * Facts of one group combined from scale sets, agent pools and VM sizes: its pool, its VM size, how it is written and what keeps it
 * from growing. Sends no call.
 * Idea: node group.
 */
import type { Table } from '../../cache/table/table.ts';
import type { ChangeBlock, IncreaseBlock } from '../../domain/group-blocks.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CloudQuota, QuotaDraw } from '../../domain/quotas-and-prices.ts';
import { foldName } from '../arm/resource-ids.ts';
import { knownSize } from '../sizes/known-sizes.ts';
import type { AzureOptions } from '../arm/options.ts';
import type { RateLimits } from '../arm/rate-limits.ts';
import { quotaDrawsOf, type QuotaLedger } from '../sizes/core-quotas.ts';
import type { IncreaseRuleInput } from '../groups/group-rules.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import type { PoolSizeRow } from '../rows/vms-pool.ts';
import { placedZones } from '../rows/zone-placement.ts';
import type { Sku } from '../sizes/sku-catalog.ts';
import type { SizeKnowledge } from '../sizes/size-knowledge.ts';
import { nodeGroupOptionsOf, poolOf, writePathTag } from '../rows/tags.ts';
import { diskSkuOf } from '../sizes/disk-skus.ts';
import type { SpotPool } from '../sizes/spot-placements.ts';
import type { ReservingGroup } from './reserved-capacity.ts';
import type { KnownGroups } from './known-groups.ts';
import type { VmsPools } from './vms-pools.ts';
import type { OwnWrites } from '../groups/own-writes.ts';

export interface GroupFactsDeps {
  readonly options: Pick<AzureOptions, 'writePath' | 'clusterName' | 'clusterResourceGroup' | 'deallocate'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly scaleSets: Pick<Table<ScaleSetRow>, 'get'>;
  readonly vmsPools: Pick<VmsPools, 'heldReason' | 'poolHeldReason'> & { readonly sizes: Pick<Table<PoolSizeRow>, 'get'> };
  readonly ownWrites: Pick<OwnWrites, 'increaseHeldReason' | 'isThroughAks'>;
  readonly rateLimits: Pick<RateLimits, 'heldReason'>;
  readonly quota: Pick<QuotaLedger, 'quotas'>;
  readonly known: Pick<KnownGroups, 'pools' | 'groups' | 'selection'>;
  readonly sizes: Pick<SizeKnowledge, 'find' | 'unavailableReason'>;
  /** The zones of the listed instances of a group. */
  readonly instanceZones: (groupKey: string) => Iterable<string | undefined>;
  /** The SKU of a disk that a listed machine of a VMs pool has. undefined: none names its disk. */
  readonly machineDisk: (groupKey: string) => string | undefined;
}

const UNTAGGED_MS = 60_000;
const UNTAGGED: IncreaseBlock = { code: 'no-entity-tag' };

export class GroupFacts {
  readonly #deps: GroupFactsDeps;
  readonly #byName = new Map<string, Sku>();
  /** Scale sets that a GET returned without an entity tag, by key: until when (monotonic) they are not read again. */
  readonly #untaggedUntilMs = new Map<string, number>();
  /** What machines of VMs pools have shown: a pool whose machines are all stopped may show no disk any more. */
  readonly #machineDisks = new Map<string, string>();

  constructor(deps: GroupFactsDeps) {
    this.#deps = deps;
  }

  /** The agent pool of a group, if agent pools are read. */
  poolOf(group: RegisteredGroup): AgentPoolRow | undefined {
    const row = this.#rowOf(group);
    // A name without a scale set may name a pool: the pool shows why there is no scale set.
    const name = group.kind === 'vms-pool' ? group.key.split('/')[0] : row === undefined ? group.key : poolOf(row.tags);
    return name === undefined ? undefined : this.#deps.known.pools?.byName.get(foldName(name));
  }

  /** The SKU of the disk that each stopped instance keeps. undefined: none is to be stopped, or the disk is not billed by its size. */
  stoppedDiskOf({ key }: RegisteredGroup): string | undefined {
    const { known, options, scaleSets, vmsPools } = this.#deps;
    const set = scaleSets.get(key)?.value;
    const size = vmsPools.sizes.get(key)?.value;
    const tags = (set ?? size)?.tags;
    if (tags === undefined || set?.osDisk.ephemeral === true || size?.ephemeralDisk === true) return undefined;
    const own = nodeGroupOptionsOf(key, tags, known.selection.nodeGroupOptions);
    if (!(own.deallocate ?? options.deallocate)) return undefined;
    return set === undefined ? this.#machineDiskOf(key) : diskSkuOf(set.osDisk.tier, set.osDisk.sizeGb);
  }

  #machineDiskOf(key: string): string | undefined {
    const shown = this.#deps.machineDisk(key) ?? this.#machineDisks.get(key);
    if (shown !== undefined) this.#machineDisks.set(key, shown);
    return shown;
  }

  /** Why agent pools are unknown; undefined: they have been read. */
  poolsUnknownReason(): ChangeBlock | undefined {
    if (this.#deps.known.pools !== undefined) return undefined;
    const { clusterName, clusterResourceGroup } = this.#deps.options;
    const isAsked = clusterName !== undefined && clusterResourceGroup !== undefined;
    return { code: isAsked ? 'pools-not-read' : 'pools-not-asked' };
  }

  /** The VM size of a group. If Azure's list lacks it or has not been read, the name of the size may show its resources. */
  skuOf(group: RegisteredGroup): Sku | undefined {
    const vmSize = this.#rowOf(group)?.vmSize ?? group.key.split('/')[1] ?? '';
    return this.#deps.sizes.find(vmSize) ?? this.#knownByName(vmSize);
  }

  /** Whether a scale set is written through its agent pool: always, or while AKS brings its count in step. */
  isWrittenThroughAks(group: RegisteredGroup): boolean {
    const row = this.#rowOf(group);
    if (group.kind === 'vms-pool' || row === undefined) return false;
    const { ownWrites, clock } = this.#deps;
    if (ownWrites.isThroughAks(foldName(poolOf(row.tags) ?? ''), clock.monotonic())) return true;
    return (writePathTag(row.tags) ?? this.#deps.options.writePath) === 'agentPool';
  }

  /** The name of the pool through which a scale set is written; undefined: the set itself is written. */
  writtenPoolOf(group: RegisteredGroup): string | undefined {
    return this.isWrittenThroughAks(group) ? this.poolOf(group)?.name : undefined;
  }

  /** The operation of ours that keeps AKS from accepting another for this group. */
  ownOperationReason(group: RegisteredGroup): IncreaseBlock | undefined {
    if (group.kind === 'vms-pool') return this.#deps.vmsPools.heldReason(group.key);
    const pool = this.writtenPoolOf(group);
    return pool === undefined ? undefined : this.#deps.vmsPools.poolHeldReason(pool);
  }

  /** All names that people may give a group: its own, that of its scale set or size, and that of its agent pool. */
  namesOf(group: RegisteredGroup): readonly string[] {
    const pool = group.kind === 'vms-pool' ? group.key.split('/')[0] : poolOf(this.#rowOf(group)?.tags ?? {});
    return [group.id, group.key, ...(pool === undefined ? [] : [pool])];
  }

  /** What the rules against increases ask, except about pauses. */
  increaseRuleInput(group: RegisteredGroup): Omit<IncreaseRuleInput, 'paused'> {
    const isUnlisted = this.isWrittenThroughAks(group) && this.poolOf(group) === undefined;
    const { ownWrites, clock } = this.#deps;
    const nowMs = clock.monotonic();
    return {
      sizeNotOffered: this.restrictedReason(group),
      poolNotListed: isUnlisted ? { code: 'pool-not-listed' } : undefined,
      noEntityTag: this.#untaggedBecause(group, nowMs),
      throttled: this.throttledReason(group),
      ownOperation: this.ownOperationReason(group),
      writesUsedUp: ownWrites.increaseHeldReason(group.key, nowMs),
    };
  }

  /** Why Azure would refuse an increase of the group as one request too many. */
  throttledReason(group: RegisteredGroup): IncreaseBlock | undefined {
    const pool = group.kind === 'vms-pool' ? this.poolOf(group)?.name : this.writtenPoolOf(group);
    const resource = pool ?? this.#rowOf(group)?.name;
    if (resource === undefined) return undefined;
    return this.#deps.rateLimits.heldReason({ operation: pool === undefined ? 'putScaleSet' : 'putAgentPool', resource });
  }

  /** A GET of the scale set returned no entity tag. @returns why the set is not written. */
  noteUntagged(group: RegisteredGroup): IncreaseBlock {
    this.#untaggedUntilMs.set(group.key, this.#deps.clock.monotonic() + UNTAGGED_MS);
    return UNTAGGED;
  }

  /**
   * The zone numbers of a group whose instances Azure places; empty if they are not known. undefined: the group names its zones, or is
   * regional.
   */
  placedZonesOf(group: RegisteredGroup): readonly string[] | undefined {
    const placement = this.#rowOf(group)?.placement ?? this.poolOf(group)?.placement;
    if (placement === undefined) return undefined;
    return placedZones(placement, this.skuOf(group)?.zones ?? [], this.#deps.instanceZones(group.key));
  }

  /** Why Azure offers no instances of the group's VM size in its zones. */
  restrictedReason(group: RegisteredGroup): IncreaseBlock | undefined {
    const placed = this.placedZonesOf(group);
    // guard: a group whose zones are not known is not planned for as if it had none
    if (placed?.length === 0) return { code: 'zones-unknown' };
    const zones = placed ?? this.#rowOf(group)?.zones ?? this.poolOf(group)?.zones ?? [];
    const message = this.#deps.sizes.unavailableReason(this.skuOf(group), zones, this.#priorityOf(group));
    return message === undefined ? undefined : { code: 'size-not-offered', message };
  }

  /** The quota that one node of a group uses; empty if its VM size is unknown. */
  drawsOf(group: RegisteredGroup): readonly QuotaDraw[] {
    const sku = this.skuOf(group);
    return sku === undefined ? [] : quotaDrawsOf(sku, this.#priorityOf(group));
  }

  /** The groups whose nodes may use a capacity reservation group. Azure has no reservations for Spot. `targetOf`: the size; undefined: unknown. */
  reservingGroups(targetOf: (groupKey: string) => number | undefined): readonly ReservingGroup[] {
    return [...this.#deps.known.groups()].flatMap((group) => {
      const [row, pool] = [this.#rowOf(group), this.poolOf(group)];
      const reservationGroup = row?.reservationGroup ?? pool?.reservationGroup;
      if (reservationGroup === undefined || this.#priorityOf(group) === 'Spot') return [];
      const vmSize = row?.vmSize ?? group.key.split('/')[1] ?? '';
      return [
        {
          key: group.key,
          reservationGroup,
          vmSize,
          zones: this.#zonesOf(group),
          target: targetOf(group.key),
        },
      ];
    });
  }

  /** The Spot groups whose size is known. */
  spotPools(): readonly SpotPool[] {
    return [...this.#deps.known.groups()].flatMap((group) => this.spotPoolOf(group) ?? []);
  }

  /** undefined: it is not a Spot group, or its size is not known. */
  spotPoolOf(group: RegisteredGroup): SpotPool | undefined {
    if (this.#priorityOf(group) !== 'Spot') return undefined;
    const row = this.#rowOf(group);
    const vmSize = row?.vmSize ?? group.key.split('/')[1] ?? '';
    return vmSize === '' ? undefined : { vmSize, zones: this.#zonesOf(group) };
  }

  /** Zone numbers that new nodes may be in; empty: the group is not zonal. */
  #zonesOf(group: RegisteredGroup): readonly string[] {
    return this.placedZonesOf(group) ?? this.#rowOf(group)?.zones ?? this.poolOf(group)?.zones ?? [];
  }

  /** The known quotas that the groups use. */
  quotas(nowMs: number): readonly CloudQuota[] {
    const drawn = new Set([...this.#deps.known.groups()].flatMap((group) => this.drawsOf(group).map(({ quota }) => quota)));
    return this.#deps.quota.quotas(nowMs).filter(({ name }) => drawn.has(name));
  }

  /** Returns the same object each time, since callers cache by identity. */
  #knownByName(vmSize: string): Sku | undefined {
    const known = this.#byName.get(vmSize) ?? knownSize(vmSize);
    if (known !== undefined) this.#byName.set(vmSize, known);
    return known;
  }

  #priorityOf(group: RegisteredGroup): 'Regular' | 'Spot' {
    return this.#rowOf(group)?.priority ?? this.poolOf(group)?.priority ?? 'Regular';
  }

  #untaggedBecause({ key }: RegisteredGroup, nowMs: number): IncreaseBlock | undefined {
    const untilMs = this.#untaggedUntilMs.get(key);
    if (untilMs === undefined || nowMs >= untilMs) return undefined;
    return this.#deps.scaleSets.get(key)?.etag === undefined ? UNTAGGED : undefined;
  }

  #rowOf(group: RegisteredGroup): ScaleSetRow | undefined {
    return this.#deps.scaleSets.get(group.key)?.value;
  }
}
