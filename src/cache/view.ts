import { inFlight, isConfirmed, lowest, rangeOf, removalOf } from './fence.ts';
import type { Mutations } from './mutations.ts';
import { seenOf, type Entry } from './row-store.ts';
import type { Row, RowView } from './row.ts';

/** Lays our unconfirmed changes over a base row. Neither is written into the other. */
export function layOver<V>(
  at: { readonly entry: Entry<V>; readonly row: Row<V>; readonly base: number | undefined },
  mutations: Mutations,
  nowMs: number,
): RowView<V> {
  const { entry, row, base } = at;
  const fenced = mutations.fenced.get(row.key);
  const existence = mutations.existence.get(row.key);
  const fences = [fenced, existence].filter((fence) => fence !== undefined);
  const range = base === undefined ? undefined : rangeOf(base, fenced?.changes ?? []);
  return {
    row,
    base,
    target: range?.high,
    low: fenced === undefined || range === undefined ? range?.low : lowest(fenced, range),
    high: range?.high,
    confirmed: fences.every((fence) => isConfirmed(fence, nowMs)),
    inFlight: fences.reduce((sum, fence) => sum + inFlight(fence), 0),
    removal: existence === undefined ? 'none' : removalOf(existence),
    seen: seenOf(entry),
  };
}
