/** Pages of long lists. A cursor names the last item of a page, so that items that come or go in between move nothing else. */

/** Items of one page. */
export const PAGE_SIZE = 100;

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Of all pages. */
  readonly total: number;
  /** Passed as `cursor` it returns the next page. Absent on the last one. */
  readonly next?: string;
}

/** `idOf` is unique. An unknown cursor, such as that of an item that is gone, begins at the first item with a larger id, or at the first of all. */
export function pageOf<Item>(items: readonly Item[], idOf: (item: Item) => string, cursor: string | undefined): Page<Item> {
  const start = cursor === undefined ? 0 : startAfter(items.map(idOf), cursor);
  const page = items.slice(start, start + PAGE_SIZE);
  const last = page.at(-1);
  const isMore = start + PAGE_SIZE < items.length && last !== undefined;
  return { items: page, total: items.length, ...(isMore ? { next: idOf(last) } : {}) };
}

function startAfter(ids: readonly string[], cursor: string): number {
  const at = ids.indexOf(cursor);
  if (at >= 0) return at + 1;
  const larger = ids.findIndex((id) => id > cursor);
  return larger < 0 ? 0 : larger;
}
