/** What the nodes of the managed pools cost per hour, and what is paid although no node uses it. A size without a price is named, never guessed. */
import { defined } from '../../lib/defined.ts';
import { idleCost } from '../../planning/expanders/node-price.ts';
import { type PaidUse, paidUses } from '../../planning/facts/paid-nodes.ts';
import { type DocumentInput, knownTime, roundMoney } from './document-input.ts';
import type { PoolRowDocument } from './pools.ts';

export interface CostDocument {
  readonly currency?: string;
  /** Of all nodes in managed pools that have a price, without those that are paid already. */
  readonly perHour: number;
  readonly upcomingPerHour: number;
  /** VM sizes of present nodes without a price. */
  readonly unpriced: readonly string[];
  /** Whether the configuration takes discounts off list prices. */
  readonly discounted: boolean;
  /** When the oldest list price in use was read. Absent if no list price is. */
  readonly listReadAt?: string;
  /** How paid nodes are used. Absent if none are configured. */
  readonly paid?: readonly PaidDocument[];
}

/** Regular nodes of one size that are paid whether they run or not. */
interface PaidDocument {
  readonly vmSize: string;
  readonly count: number;
  readonly running: number;
  readonly idle: number;
  /** Of the idle ones. Absent if the size has no price. */
  readonly idlePerHour?: number;
}

/** undefined: no price is known. */
export function costDocument(
  { policy: { scaleUp }, replica, report }: DocumentInput,
  pools: readonly PoolRowDocument[],
): CostDocument | undefined {
  if (pools.every(({ perHour }) => perHour === undefined)) return undefined;
  const sum = (countOf: (pool: PoolRowDocument) => number): number =>
    roundMoney(pools.reduce((total, pool) => total + (pool.perHour ?? 0) * countOf(pool), 0)) ?? 0;
  const unpriced = pools.filter(({ perHour, ready, upcoming = 0 }) => perHour === undefined && ready + upcoming > 0);
  const reads = Object.values(scaleUp.listPrices?.table ?? {}).map(({ readAtMs }) => readAtMs);
  const uses = paidUses(scaleUp.paidNodes, report.observation);
  return {
    perHour: sum(boughtNow),
    upcomingPerHour: sum((pool) => boughtWith(pool, pool.upcoming ?? 0) - boughtNow(pool)),
    discounted: scaleUp.priceDiscounts.length > 0,
    unpriced: [...new Set(unpriced.map(({ vmSize }) => vmSize))],
    ...defined({
      currency: replica.currency,
      listReadAt: reads.length === 0 ? undefined : knownTime(reads.reduce((least, ms) => Math.min(least, ms))),
      paid: uses.length === 0 ? undefined : uses.map((use) => paidDocument(use, scaleUp)),
    }),
  };
}

function boughtNow(pool: PoolRowDocument): number {
  return boughtWith(pool, 0);
}

/** Nodes that cost money, if `more` nodes were ready. */
function boughtWith({ ready, unready = 0, paid = 0 }: PoolRowDocument, more: number): number {
  return Math.max(0, ready + unready + more - paid);
}

function paidDocument(use: PaidUse, prices: Parameters<typeof idleCost>[1]): PaidDocument {
  const { size: vmSize, count, running, idle } = use;
  return { vmSize, count, running, idle, ...defined({ idlePerHour: roundMoney(idleCost(use, prices)) }) };
}
