/**
 * What the nodes of the managed pools cost per hour, what is paid although no node uses it, and what repacking would save. A size without a price
 * is named, never guessed.
 */
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import type { RepackEstimate, RepackSet, Saved } from '../../domain/repack.ts';
import { describeEstimate, describeRepackBlocker, describeRunning, describeSet } from '../../planning/explain/repack-words.ts';
import { defined } from '../../lib/defined.ts';
import { idleCost } from '../../planning/expanders/node-price.ts';
import type { PaidUse } from '../../planning/facts/paid-nodes.ts';
import { paidAndReserved } from '../../planning/facts/reserved-nodes.ts';
import { type DocumentInput, knownTime, roundMoney } from './document-input.ts';
import type { PoolRowDocument } from './pools.ts';
import { isoTime } from '../../lib/duration.ts';

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
  /** How paid nodes and reserved VMs are used. Absent if there are none. */
  readonly paid?: readonly PaidDocument[];
}

/** Regular nodes of one size that are paid whether they run or not, by a configured count or by capacity reservations. */
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
  const uses = paidAndReserved(scaleUp.paidNodes, report.observation);
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

// Repacking.

/** What repacking would save, what is under way, and where it is on. */
export interface RepackingDocument {
  /** `41 nodes, 29 would do: 480 EUR a week less`. Absent until it was searched. */
  readonly text?: string;
  /** When it was searched. */
  readonly at?: string;
  readonly nodes?: number;
  readonly needed?: number;
  readonly saved?: SavedDocument;
  /** The search ended at its limit: there may be more to save. */
  readonly cutShort?: boolean;
  readonly sets: readonly RepackSetDocument[];
  /** The largest unused part first. */
  readonly blockers: readonly {
    readonly text: string;
    readonly reason: string;
    readonly blockedBy?: string;
    readonly nodes: number;
    readonly unused: SavedDocument;
  }[];
  /** Pools where repacking is on. */
  readonly on: readonly string[];
  readonly running: readonly { readonly text: string; readonly stage: string; readonly since: string; readonly set: RepackSetDocument }[];
  /** The last search for something to do, where repacking is on; `why` is absent if something was begun. */
  readonly lastSearch?: { readonly at: string; readonly why?: string };
}

interface SavedDocument {
  readonly nodes: number;
  readonly cores: number;
  /** In the currency of the prices. Absent unless each node has a price. */
  readonly perHour?: number;
}

interface RepackSetDocument {
  readonly text: string;
  readonly remove: readonly { readonly node: string; readonly pool: string }[];
  readonly add?: { readonly pool: string; readonly nodes: number };
  readonly saved: SavedDocument;
  readonly pods: number;
  /** In ordinary pods. */
  readonly disruption: number;
  /** Percent of one node that each ordinary pod that moves saves. */
  readonly score: number;
}

export interface RepackingInput {
  /** Absent until it was searched. */
  readonly estimate?: RepackEstimate | undefined;
  readonly groups: readonly NodeGroup[];
  readonly policy: Policy;
  readonly state: Pick<LoopState, 'repacks'>;
  readonly currency?: string | undefined;
}

/** Sets and blockers in one document. */
const MOST_ROWS = 50;

export function repackingDocument({ estimate, groups, policy, state, currency }: RepackingInput): RepackingDocument {
  const { running, search } = state.repacks;
  const set = (of: RepackSet): RepackSetDocument => setDocument(of, currency);
  return {
    ...(estimate === undefined ? {} : estimateDocument(estimate, currency)),
    sets: (estimate?.sets ?? []).slice(0, MOST_ROWS).map(set),
    blockers: (estimate?.blockers ?? []).slice(0, MOST_ROWS).map((blocker) => ({
      text: describeRepackBlocker(blocker, currency),
      reason: blocker.reason,
      ...defined({ blockedBy: blocker.blocker }),
      nodes: blocker.nodes,
      unused: savedDocument(blocker.unused),
    })),
    on: groups.filter((group) => optionsOf(group, policy).repack).map(({ id }) => id),
    running: running.map((repack) => ({
      text: describeRunning(repack, currency),
      stage: repack.stage,
      since: isoTime(repack.sinceMs),
      set: set(repack.set),
    })),
    ...(search === undefined ? {} : { lastSearch: { at: isoTime(search.atMs), ...defined({ why: search.why }) } }),
  };
}

function estimateDocument(estimate: RepackEstimate, currency: string | undefined) {
  const { atMs, nodes, needed, saved, cutShort } = estimate;
  return {
    text: describeEstimate(estimate, currency),
    ...(atMs > 0 ? { at: isoTime(atMs) } : {}),
    nodes,
    needed,
    saved: savedDocument(saved),
    cutShort,
  };
}

function setDocument(set: RepackSet, currency: string | undefined): RepackSetDocument {
  const { remove, add, saved, pods, disruption, score } = set;
  return {
    text: describeSet(set, currency),
    remove: remove.map(({ node, group: pool }) => ({ node, pool })),
    ...(add === undefined ? {} : { add: { pool: add.group, nodes: add.nodes } }),
    saved: savedDocument(saved),
    pods,
    disruption: Math.round(disruption * 100) / 100,
    score: Math.round(score * 100) / 100,
  };
}

function savedDocument({ nodes, cpuMillis, perHour }: Saved): SavedDocument {
  return { nodes, cores: cpuMillis / 1000, ...defined({ perHour: roundMoney(perHour) }) };
}
