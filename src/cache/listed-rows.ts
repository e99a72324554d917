/** A list of several pages as one: which rows it tells of, and what a list that does not count comes to. */
import type { Stamp } from './logical-clock.ts';
import type { ListCommit, ListedRow, ListResult } from './row.ts';

/** A row as it was listed, and when the page that has it was asked for. */
export interface Located<V> {
  readonly row: ListedRow<V>;
  readonly stamp: Stamp;
}

/** A key listed twice counts once; the later page knows better. */
export function lastOfEach<V>(list: ListResult<V>): { readonly rows: ReadonlyMap<string, Located<V>>; readonly duplicates: number } {
  const rows = new Map<string, Located<V>>();
  let total = 0;
  for (const page of list.pages) {
    total += page.rows.length;
    for (const row of page.rows) rows.set(row.key, { row, stamp: page.stamp });
  }
  return { rows, duplicates: total - rows.size };
}

/** What a list without pages, or one older than another, comes to. */
export function nothingCommitted(dropped: 'older-list' | undefined): ListCommit {
  return { dropped, added: 0, changed: 0, evicted: 0, rejected: 0, duplicates: 0, listAgain: false };
}
