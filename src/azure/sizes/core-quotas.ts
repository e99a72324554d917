/**
 * Computes the core quotas of the region and their use. Azure's usage list is minutes late, so our own increases that it does
 * not count yet are added. Makes no requests and has no clock.
 */
import type { CloudQuota, QuotaDraw } from '../../domain/quotas-and-prices.ts';
import { quotaName, REGION_QUOTA, SPOT_QUOTA } from '../arm/error-table.ts';
import type { Sku } from './sku-catalog.ts';

/** One entry of the usage list, in cores. */
export interface UsageRow {
  /** As Azure spells it: `cores`, `lowPriorityCores`, `standardDSv5Family`. */
  readonly name: string;
  readonly used: number;
  readonly limit: number;
}

/** The usage list is a few minutes late. For this long an increase counts, whether or not the list includes it. */
const USAGE_LAG_MS = 5 * 60_000;
/** An older list says nothing about now. */
const STALE_MS = 30 * 60_000;

/** A regular node uses cores of its family and of the region. A Spot node uses only the region's Spot cores. */
export function quotaDrawsOf(sku: Pick<Sku, 'quotaVcpus' | 'quotaFamily'>, priority: 'Regular' | 'Spot'): readonly QuotaDraw[] {
  const cores = sku.quotaVcpus;
  if (priority === 'Spot') return [{ quota: SPOT_QUOTA, cores }];
  const family = sku.quotaFamily.toLowerCase();
  return family === ''
    ? [{ quota: REGION_QUOTA, cores }]
    : [
        { quota: family, cores },
        { quota: REGION_QUOTA, cores },
      ];
}

/** The numbers in a refusal for lack of quota. */
export interface RefusedQuota {
  readonly quota: string;
  readonly limit?: number;
  readonly usage?: number;
  readonly required?: number;
}

interface ExpectedUsage {
  /** The least usage that the list shows once it has caught up. */
  readonly cores: number;
  readonly untilMs: number;
}

export class QuotaLedger {
  #read: { readonly atMs: number; readonly rows: ReadonlyMap<string, UsageRow>; readonly isShared: boolean } | undefined;
  readonly #expected = new Map<string, ExpectedUsage>();

  /** Records a complete list of usages, requested at `atMs`. `isShared`: another process read it. */
  recordUsages(rows: readonly UsageRow[], atMs: number, isShared = false): void {
    this.#read = { atMs, rows: new Map(rows.map((row) => [row.name.toLowerCase(), row])), isShared };
  }

  /** Whether the quotas are those that another process read. */
  get isShared(): boolean {
    return this.#read?.isShared === true;
  }

  /** Records an increase by `nodes` that Azure accepted. */
  recordIncrease(draws: readonly QuotaDraw[], nodes: number, nowMs: number): void {
    for (const { quota, cores } of draws) {
      const used = this.#usedOf(quota, nowMs);
      if (used !== undefined) this.#expected.set(quota, { cores: used + cores * nodes, untilMs: nowMs + USAGE_LAG_MS });
    }
  }

  /**
   * Records the numbers in a refusal at `nowMs`; they are newer than any list. Returns whether they explain the refusal and
   * count from now on. Returns false also while usages cannot be read, since then no list would correct them.
   */
  recordRefusal(draws: readonly QuotaDraw[], refused: RefusedQuota, nowMs: number): boolean {
    const { limit, usage, required } = refused;
    const name = quotaName(refused.quota);
    const row = this.#read?.rows.get(name);
    if (this.#read === undefined || row === undefined || nowMs - this.#read.atMs > STALE_MS) return false;
    if (limit === undefined || usage === undefined || required === undefined || usage + required <= limit) return false;
    if (!draws.some(({ quota, cores }) => quota === name && cores <= required)) return false;
    this.#read = { ...this.#read, rows: new Map([...this.#read.rows, [name, { ...row, limit }]]) };
    this.#expected.set(name, { cores: usage, untilMs: nowMs + USAGE_LAG_MS });
    return true;
  }

  /** Records that `nodes` nodes were not created or are gone. */
  recordReturn(draws: readonly QuotaDraw[], nodes: number): void {
    for (const { quota, cores } of draws) {
      const expected = this.#expected.get(quota);
      if (expected !== undefined) this.#expected.set(quota, { ...expected, cores: expected.cores - cores * nodes });
    }
  }

  /** Whether one more node would exceed a known quota. */
  isShort(draws: readonly QuotaDraw[], nowMs: number): boolean {
    return this.quotas(nowMs).some(({ name, limit, used }) => draws.some(({ quota, cores }) => quota === name && used + cores > limit));
  }

  /** Every known quota. Empty if the last list is too old. */
  quotas(nowMs: number): readonly CloudQuota[] {
    if (this.#read === undefined || nowMs - this.#read.atMs > STALE_MS) return [];
    return [...this.#read.rows].map(([name, row]) => ({
      name,
      title: titleOf(name, row.name),
      limit: row.limit,
      used: this.#usedOf(name, nowMs) ?? row.used,
    }));
  }

  /** The larger of Azure's count and the expected count: an increase is in one of them, never in both. */
  #usedOf(quota: string, nowMs: number): number | undefined {
    const listed = this.#read?.rows.get(quota)?.used;
    const expected = this.#expected.get(quota);
    if (listed === undefined || expected === undefined || expected.untilMs <= nowMs) return listed;
    return Math.max(listed, expected.cores);
  }
}

function titleOf(folded: string, name: string): string {
  if (folded === REGION_QUOTA) return 'region';
  return folded === SPOT_QUOTA ? 'spot' : `family ${name}`;
}
