/** Pools with the same obstacles in one row, so that a hundred pools fit on a screen; the row that a reader needs comes first. */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { GroupRefusal } from '../../domain/reasons.ts';
import { compareText } from '../../lib/comparison.ts';
import { explainRefusal } from './refusals.ts';

export interface PoolRow {
  /** Sorted by name. */
  readonly pools: readonly string[];
  /** Whether a new node would take the pod: then only the pool itself cannot grow. */
  readonly fits: boolean;
  readonly obstacles: readonly string[];
}

/** Pools that would take the pod come first, then those with the fewest obstacles, then the smaller rows. */
export function poolRows(refusals: readonly GroupRefusal[], groups: ReadonlyMap<string, NodeGroup>): readonly PoolRow[] {
  const rows = new Map<string, { readonly pools: string[]; readonly fits: boolean; readonly obstacles: readonly string[] }>();
  for (const refusal of refusals) {
    const fits = (refusal.fit ?? []).length === 0;
    const { obstacles } = explainRefusal(refusal, groups.get(refusal.group));
    const key = JSON.stringify([fits, obstacles]);
    const row = rows.get(key);
    if (row === undefined) rows.set(key, { pools: [refusal.group], fits, obstacles });
    else row.pools.push(refusal.group);
  }
  return [...rows.values()].map((row) => ({ ...row, pools: row.pools.sort(compareText) })).sort(byNearness);
}

function byNearness(left: PoolRow, right: PoolRow): number {
  return (
    Number(right.fits) - Number(left.fits) ||
    left.obstacles.length - right.obstacles.length ||
    left.pools.length - right.pools.length ||
    compareText(left.pools[0] ?? '', right.pools[0] ?? '')
  );
}

const MOST_NAMES = 3;

/** `arm, batch, compute and 9 others`. */
export function namePools(pools: readonly string[], most = MOST_NAMES): string {
  if (pools.length <= most) return pools.join(', ');
  const left = pools.length - most;
  return `${pools.slice(0, most).join(', ')} and ${left} ${left === 1 ? 'other' : 'others'}`;
}
