/**
 * What the subscription may have in the region, and how much of it is taken: the usage that Azure tells, minutes late, and
 * our own orders that it does not count yet. Reads nothing and asks for nothing; knows no clock.
 */
import type { CloudQuota, QuotaDraw } from '../../domain/quotas-and-prices.ts';
import { nameOfQuota, REGION, SPOT } from '../arm/error-table.ts';
import type { Sku } from './sku-catalog.ts';

/** One entry of the usage list, in cores. */
export interface UsageRow {
  /** As Azure spells it: `cores`, `lowPriorityCores`, `standardDSv5Family`. */
  readonly name: string;
  readonly used: number;
  readonly limit: number;
}

/** What usages say is a few minutes old: so long an order counts although they may not show it. */
const LAG_MS = 5 * 60_000;
/** An older reading says nothing about now. */
const STALE_MS = 30 * 60_000;

/** A regular node draws on its family and on the region, a spot node on the region's spot cores alone. */
export function drawsOf(sku: Pick<Sku, 'quotaVcpus' | 'quotaFamily'>, priority: 'Regular' | 'Spot'): readonly QuotaDraw[] {
  const cores = sku.quotaVcpus;
  if (priority === 'Spot') return [{ quota: SPOT, cores }];
  const family = sku.quotaFamily.toLowerCase();
  return family === ''
    ? [{ quota: REGION, cores }]
    : [
        { quota: family, cores },
        { quota: REGION, cores },
      ];
}

/** What a refusal for want of quota says. */
export interface ToldQuota {
  readonly quota: string;
  readonly limit?: number;
  readonly usage?: number;
  readonly required?: number;
}

interface Expectation {
  /** What usages will say at least once they have caught up. */
  readonly cores: number;
  readonly untilMs: number;
}

export class QuotaLedger {
  #read: { readonly atMs: number; readonly rows: ReadonlyMap<string, UsageRow> } | undefined;
  readonly #expected = new Map<string, Expectation>();

  /** A whole list of usages, asked for at `atMs`. */
  observe(rows: readonly UsageRow[], atMs: number): void {
    this.#read = { atMs, rows: new Map(rows.map((row) => [row.name.toLowerCase(), row])) };
  }

  /** Azure accepted an order of so many nodes. */
  ordered(draws: readonly QuotaDraw[], nodes: number, nowMs: number): void {
    for (const { quota, cores } of draws) {
      const used = this.#usedOf(quota, nowMs);
      if (used !== undefined) this.#expected.set(quota, { cores: used + cores * nodes, untilMs: nowMs + LAG_MS });
    }
  }

  /**
   * A refusal told numbers of a quota, at `nowMs`: newer than any list. Whether they explain the refusal and are counted from
   * now on; false as well while usages cannot be read, since nobody would correct them then.
   */
  refused(draws: readonly QuotaDraw[], told: ToldQuota, nowMs: number): boolean {
    const { limit, usage, required } = told;
    const name = nameOfQuota(told.quota);
    const row = this.#read?.rows.get(name);
    if (this.#read === undefined || row === undefined || nowMs - this.#read.atMs > STALE_MS) return false;
    if (limit === undefined || usage === undefined || required === undefined || usage + required <= limit) return false;
    if (!draws.some(({ quota, cores }) => quota === name && cores <= required)) return false;
    this.#read = { ...this.#read, rows: new Map([...this.#read.rows, [name, { ...row, limit }]]) };
    this.#expected.set(name, { cores: usage, untilMs: nowMs + LAG_MS });
    return true;
  }

  /** So many nodes did not come, or are gone. */
  returned(draws: readonly QuotaDraw[], nodes: number): void {
    for (const { quota, cores } of draws) {
      const expected = this.#expected.get(quota);
      if (expected !== undefined) this.#expected.set(quota, { ...expected, cores: expected.cores - cores * nodes });
    }
  }

  /** Whether one more node would be too much, as far as is known. */
  isShort(draws: readonly QuotaDraw[], nowMs: number): boolean {
    return this.quotas(nowMs).some(({ name, limit, used }) => draws.some(({ quota, cores }) => quota === name && used + cores > limit));
  }

  /** Every quota that is known; none when the last reading is too old. */
  quotas(nowMs: number): readonly CloudQuota[] {
    if (this.#read === undefined || nowMs - this.#read.atMs > STALE_MS) return [];
    return [...this.#read.rows].map(([name, row]) => ({
      name,
      title: titleOf(name, row.name),
      limit: row.limit,
      used: this.#usedOf(name, nowMs) ?? row.used,
    }));
  }

  /** The larger of what Azure counts and what it will count: an order is in one of them, and never in both. */
  #usedOf(quota: string, nowMs: number): number | undefined {
    const told = this.#read?.rows.get(quota)?.used;
    const expected = this.#expected.get(quota);
    if (told === undefined || expected === undefined || expected.untilMs <= nowMs) return told;
    return Math.max(told, expected.cores);
  }
}

function titleOf(folded: string, name: string): string {
  if (folded === REGION) return 'region';
  return folded === SPOT ? 'spot' : `family ${name}`;
}
