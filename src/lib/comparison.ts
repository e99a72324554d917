/** Orders by code unit, the same on every machine and in every locale. */

/** Compares two texts: -1, 0 or 1. */
export function compareText(left: string, right: string): number {
  // Sorted input is the usual case: one comparison decides it.
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

/** A comparator by the text that `keyOf` reads, for `sort` and `toSorted`. */
export function compareBy<Item>(keyOf: (item: Item) => string): (left: Item, right: Item) => number {
  return (left, right) => compareText(keyOf(left), keyOf(right));
}
