/** Orders by code unit, the same on every machine and in every locale. */

/** Compares two texts: -1, 0 or 1. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** A comparator by the text that `keyOf` reads, for `sort` and `toSorted`. */
export function compareBy<Item>(keyOf: (item: Item) => string): (left: Item, right: Item) => number {
  return (left, right) => compareText(keyOf(left), keyOf(right));
}
