/** The search for repacks against an exhaustive one, in clusters that are small enough for it. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { casesOf } from '../../../support/property-runs.ts';
import { found, savedPerHour, type SmallCluster } from './repack-world.ts';

const small: fc.Arbitrary<SmallCluster> = fc.record({
  nodes: fc.array(
    fc.record({
      pool: fc.constantFrom('big', 'mid', 'spot'),
      pods: fc.array(fc.integer({ min: 2, max: 20 }), { maxLength: 3 }),
    }),
    { minLength: 2, maxLength: 6 },
  ),
  most: fc.record({ big: fc.integer({ min: 0, max: 2 }), mid: fc.integer({ min: 0, max: 2 }), spot: fc.integer({ min: 0, max: 2 }) }),
});

/** The most that any set of removed and added nodes saves per hour, by trying all of them. */
function exhaustive(
  { nodes, most }: SmallCluster,
  sizes: Readonly<Record<string, { readonly cpu: number; readonly price: number }>>,
): number {
  let best = 0;
  const used = nodes.map(({ pods }) => pods.reduce((sum, cpu) => sum + cpu, 0));
  for (let mask = 1; mask < 1 << nodes.length; mask++) {
    const gone = nodes.filter((_, index) => (mask & (1 << index)) !== 0);
    const free = nodes.flatMap(({ pool }, index) => ((mask & (1 << index)) === 0 ? [(sizes[pool]?.cpu ?? 0) - (used[index] ?? 0)] : []));
    const removedCost = gone.reduce((sum, { pool }) => sum + (sizes[pool]?.price ?? 0), 0);
    const moving = gone.flatMap(({ pods }) => pods).sort((left, right) => right - left);
    for (const added of combinations(most)) {
      const cost = added.reduce((sum, pool) => sum + (sizes[pool]?.price ?? 0), 0);
      if (removedCost - cost <= best + 1e-9) continue;
      if (fitsExactly(moving, [...free, ...added.map((pool) => sizes[pool]?.cpu ?? 0)])) best = removedCost - cost;
    }
  }
  return best;
}

function combinations(most: Readonly<Record<string, number>>): readonly (readonly string[])[] {
  return Object.entries(most).reduce<readonly (readonly string[])[]>(
    (all, [pool, count]) =>
      all.flatMap((before) => Array.from({ length: count + 1 }, (_, added) => [...before, ...Array.from({ length: added }, () => pool)])),
    [[]],
  );
}

function fitsExactly(pods: readonly number[], free: readonly number[]): boolean {
  const [first, ...rest] = pods;
  if (first === undefined) return true;
  const tried = new Set<number>();
  return free.some((room, index) => {
    if (room < first || tried.has(room)) return false;
    tried.add(room);
    return fitsExactly(rest, free.with(index, room - first));
  });
}

const SIZES = { big: { cpu: 40, price: 0.4 }, mid: { cpu: 20, price: 0.22 }, spot: { cpu: 20, price: 0.08 } };

/** As many pods as fit on their node. */
function possible({ nodes, most }: SmallCluster): SmallCluster {
  const fitting = nodes.map(({ pool, pods }) => {
    let left = SIZES[pool as keyof typeof SIZES].cpu;
    return { pool, pods: pods.filter((cpu) => cpu <= left && (left -= cpu) >= 0) };
  });
  return { nodes: fitting, most };
}

describe('the search for repacks', () => {
  it('never saves more than is possible, and nine tenths of that in all', () => {
    let most = 0;
    let saved = 0;
    fc.assert(
      fc.property(small, (drawn) => {
        const cluster = possible(drawn);
        const limit = exhaustive(cluster, SIZES);
        const mine = savedPerHour(found(cluster, SIZES));
        expect(mine).toBeLessThanOrEqual(limit + 1e-6);
        most += limit;
        saved += mine;
      }),
      casesOf(29, 60),
    );
    expect(most).toBeGreaterThan(1);
    expect(saved / most).toBeGreaterThanOrEqual(0.9);
  });
});
