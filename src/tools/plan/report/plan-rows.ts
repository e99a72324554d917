/** Rows of a plan for people: what is equal shares a row, and every pod is in exactly one. Must not know widths or colours. */
import { compareBy, compareText } from '../../../lib/comparison.ts';
import { numberedName } from './pool-names.ts';
import type { PlanReport, PoolReport } from './plan-report.ts';
import type { IncreaseReport, PendingReport } from './scale-up-report.ts';

export interface IncreaseRow {
  readonly pools: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly pods: readonly string[];
  /** Whose headroom it is for, too. */
  readonly headroom: readonly string[];
  readonly perHour: number | undefined;
}

/** Increases of pools that exist once per zone share a row. The most pods come first. */
export function increaseRows({ scaleUp, pools }: Pick<PlanReport, 'scaleUp' | 'pools'>): readonly IncreaseRow[] {
  const known = new Map(pools.map((pool) => [pool.group, pool]));
  const rows = new Map<string, IncreaseRow>();
  for (const increase of scaleUp.increases) {
    const key = siblingKey(known.get(increase.group), increase.group);
    rows.set(key, withIncrease(rows.get(key), increase));
  }
  return [...rows.values()].sort(
    (left, right) => right.pods.length - left.pods.length || compareText(left.pools[0] ?? '', right.pools[0] ?? ''),
  );
}

/** The same for pools of one size that are named alike and are each in one zone. */
function siblingKey(pool: PoolReport | undefined, name: string): string {
  const stem = numberedName(name)?.stem;
  return stem === undefined || pool?.zones.length !== 1 ? name : JSON.stringify([stem, pool.vmSize]);
}

function withIncrease(row: IncreaseRow | undefined, { group, from, to, pods, headroom = [], perHour }: IncreaseReport): IncreaseRow {
  if (row === undefined) return { pools: [group], from, to, pods, headroom, perHour };
  return {
    pools: [...row.pools, group],
    from: row.from + from,
    to: row.to + to,
    pods: [...row.pods, ...pods],
    headroom: [...row.headroom, ...headroom],
    perHour: row.perHour === undefined || perHour === undefined ? undefined : row.perHour + perHour,
  };
}

/** Names by how many pods they have: `checkout/web 118, ci/runner 9, 3 others 12`. */
export function ownerCounts(owners: readonly string[], most: number): string {
  const counts = new Map<string, number>();
  for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const sorted = [...counts].sort(([leftName, left], [rightName, right]) => right - left || compareText(leftName, rightName));
  const shown = sorted.slice(0, sorted.length === most + 1 ? most + 1 : most);
  const left = sorted.slice(shown.length);
  const others = left.length === 0 ? [] : [`${left.length} others ${left.reduce((sum, [, count]) => sum + count, 0)}`];
  return [...shown.map(([name, count]) => `${name} ${count}`), ...others].join(', ');
}

export interface PendingRow {
  /** The pod, if the row has one only; else their workload, and how many others. */
  readonly name: string;
  readonly pods: number;
  readonly verdict: PendingReport['verdict'];
  readonly why: string;
  readonly fix: string;
}

/** What needs a change by people, what waits for a pool, what needs only time, and the rest. */
const ORDER: readonly PendingReport['verdict'][] = [
  'blocked-by-max',
  'blocked-by-quota',
  'impossible',
  'blocked-by-backoff',
  'coming',
  'helped',
  'ignored',
];

/** Pods that stay pending for the same reason share a row. What needs a change comes first, then the most pods. */
export function pendingRows(pending: readonly PendingReport[], owners: PlanReport['owners']): readonly PendingRow[] {
  const rows = new Map<string, PendingReport[]>();
  for (const pod of pending) {
    const key = JSON.stringify([pod.verdict, whyOf(pod), fixOf(pod)]);
    const row = rows.get(key);
    if (row === undefined) rows.set(key, [pod]);
    else row.push(pod);
  }
  const made = [...rows.values()].map((pods) => rowOf(pods, owners));
  return made.sort(
    (left, right) =>
      ORDER.indexOf(left.verdict) - ORDER.indexOf(right.verdict) || right.pods - left.pods || compareText(left.name, right.name),
  );
}

function rowOf(pods: readonly PendingReport[], ownerOf: PlanReport['owners']): PendingRow {
  const [first] = pods;
  if (first === undefined) throw new Error('a row has at least one pod');
  const owners = [...new Set(pods.map(({ pod }) => ownerOf[pod] ?? pod))].sort(compareText);
  const fix = fixOf(first);
  const name = pods.length === 1 ? first.pod : `${owners[0] ?? ''}${owners.length === 1 ? '' : `, +${owners.length - 1}`}`;
  return {
    name,
    pods: pods.length,
    verdict: first.verdict,
    why: whyOf(first),
    fix: fix ?? `not simulated: explain pod ${first.pod}`,
  };
}

function whyOf({ why, detail = '' }: PendingReport): string {
  return why ?? detail;
}

/** undefined: not simulated. */
function fixOf({ groups, advice }: PendingReport): string | undefined {
  return groups.length === 0 ? '' : advice?.text;
}

export interface PlaceRow {
  /** `6 present nodes`, or `coming in general`. */
  readonly place: string;
  readonly pods: readonly string[];
}

/** Pods that need no new node: one row for all present nodes, one for each pool with upcoming nodes. */
export function placeRows({ fits }: PlanReport['scaleUp']): readonly PlaceRow[] {
  const upcoming = new Map<string, string[]>();
  const present = { pods: [] as string[], nodes: new Set<string>() };
  for (const { pod, node } of fits) {
    const pool = /^\(coming in (.+)\)$/.exec(node)?.[1];
    if (pool !== undefined) upcoming.set(pool, [...(upcoming.get(pool) ?? []), pod]);
    else {
      present.pods.push(pod);
      present.nodes.add(node);
    }
  }
  const first =
    present.pods.length === 0
      ? []
      : [{ place: `${present.nodes.size} present ${present.nodes.size === 1 ? 'node' : 'nodes'}`, pods: present.pods }];
  return [...first, ...[...upcoming].sort(compareBy(([pool]) => pool)).map(([pool, pods]) => ({ place: `coming in ${pool}`, pods }))];
}

export interface PoolRow {
  readonly pools: readonly string[];
  readonly nodes: string;
  readonly reason: string;
  readonly why: string;
}

/** No pending pod needs them, or another pool was better: that is no obstacle. */
const UNNEEDED: ReadonlySet<string> = new Set(['no-pod-fits', 'not-chosen']);

/** Pools with the same reason share a row; obstacles come first, then the most pools. */
export function poolRows({ scaleUp, pools }: Pick<PlanReport, 'scaleUp' | 'pools'>): readonly PoolRow[] {
  const known = new Map(pools.map((pool) => [pool.group, pool]));
  const rows = new Map<string, { readonly reason: string; readonly why: string; readonly pools: string[] }>();
  for (const { group, reason, detail } of scaleUp.skipped) {
    // The numbers of each pool are in the column of nodes.
    const why = detail.replace(/^at its maximum \(\d+ of \d+ nodes\)$/, 'at the maximum');
    const row = rows.get(why) ?? { reason, why, pools: [] };
    rows.set(why, row);
    row.pools.push(group);
  }
  const made = [...rows.values()].map((row) => ({ ...row, nodes: nodesOf(row.pools.map((name) => known.get(name))) }));
  return made.sort(
    (left, right) =>
      Number(UNNEEDED.has(left.reason)) - Number(UNNEEDED.has(right.reason)) ||
      right.pools.length - left.pools.length ||
      compareText(left.pools[0] ?? '', right.pools[0] ?? ''),
  );
}

function nodesOf(pools: readonly (PoolReport | undefined)[]): string {
  const targets = pools.map((pool) => pool?.target);
  const target = targets.includes(undefined) ? 'unknown' : String(targets.reduce<number>((sum, each) => sum + (each ?? 0), 0));
  return `${target} of ${pools.reduce((sum, pool) => sum + (pool?.max ?? 0), 0)}`;
}
