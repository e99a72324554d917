/** Pools with the same obstacles in one row, so that a hundred pools fit on a screen; the row that a reader needs comes first. */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { GroupRefusal } from '../../domain/reasons.ts';
import { sameItems } from '../../lib/collections.ts';
import { compareText } from '../../lib/comparison.ts';
import { explainFitOfMany } from './obstacles.ts';
import { explainRefusal } from './refusals.ts';

export interface PoolRow {
  /** Sorted by name. */
  readonly pools: readonly string[];
  /** Whether a new node would take the pod: then only the pool itself cannot grow. */
  readonly fits: boolean;
  readonly obstacles: readonly string[];
}

interface Member {
  readonly pool: string;
  readonly obstacles: readonly string[];
}

/**
 * Pools that would take the pod come first, then those with the fewest obstacles, then the smaller rows. Pools that differ only in the
 * value of a label that the pod does not want share a row.
 */
export function poolRows(refusals: readonly GroupRefusal[], groups: ReadonlyMap<string, NodeGroup>): readonly PoolRow[] {
  const rows = new Map<string, { readonly fits: boolean; readonly inCommon: readonly string[]; readonly members: Member[] }>();
  for (const refusal of refusals) {
    const fits = (refusal.fit ?? []).length === 0;
    const group = groups.get(refusal.group);
    const inCommon = obstaclesInCommon(refusal, group);
    const key = [fits, ...inCommon].join('\n');
    const row = rows.get(key) ?? { fits, inCommon, members: [] };
    rows.set(key, row);
    row.members.push({ pool: refusal.group, obstacles: explainRefusal(refusal, group).obstacles });
  }
  return [...rows.values()].map(rowOf).sort(byNearness);
}

function obstaclesInCommon({ fit = [], ...rest }: GroupRefusal, group: NodeGroup | undefined): readonly string[] {
  const stop = fit.length > 0 && rest.skip === undefined ? [] : explainRefusal(rest, group).obstacles;
  return [...new Set([...fit.map(explainFitOfMany), ...stop])];
}

function rowOf({
  fits,
  inCommon,
  members,
}: {
  readonly fits: boolean;
  readonly inCommon: readonly string[];
  readonly members: readonly Member[];
}): PoolRow {
  const [first, ...others] = members;
  const obstacles =
    first !== undefined && others.every((other) => sameItems(other.obstacles, first.obstacles)) ? first.obstacles : inCommon;
  return { pools: members.map(({ pool }) => pool).sort(compareText), fits, obstacles };
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
