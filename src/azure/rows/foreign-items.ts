/**
 * Counts the items of a list that belong elsewhere: instances of other scale sets or resource groups in the answer for one set. They
 * are skipped, since deletes name instances within our own sets only. Must not know how lists are read.
 */
import type { CacheHooks } from '../../cache/table/hooks.ts';
import type { ListedRow } from '../../cache/table/row.ts';
import type { Log } from '../../telemetry/log.ts';

export interface ForeignItemsDeps {
  readonly hooks: Pick<CacheHooks, 'rowRejected'>;
  readonly log: Pick<Log, 'warn'>;
}

/** What one list has skipped. */
export interface SkippedItems {
  /** Counts the item if it has no row, and returns the row. */
  readonly pass: <Value>(row: ListedRow<Value> | undefined) => ListedRow<Value> | undefined;
  /** Call when the list has been read. */
  readonly report: () => void;
}

export class ForeignItems {
  readonly #deps: ForeignItemsDeps;
  readonly #logged = new Set<string>();

  constructor(deps: ForeignItemsDeps) {
    this.#deps = deps;
  }

  /** @param list what is listed: a scale set's name. One line is logged until a list of it has no foreign items again. */
  startList(table: string, list: string): SkippedItems {
    let skipped = 0;
    return {
      pass: (row) => {
        if (row === undefined) skipped += 1;
        return row;
      },
      report: () => this.#report(table, list, skipped),
    };
  }

  #report(table: string, list: string, skipped: number): void {
    for (let item = 0; item < skipped; item++) this.#deps.hooks.rowRejected?.(table, 'foreign-id');
    if (skipped === 0) this.#logged.delete(list);
    else if (!this.#logged.has(list)) {
      this.#logged.add(list);
      this.#deps.log.warn({ list, skipped }, 'A list of instances contains items of other sets or without a valid id; they are skipped');
    }
  }
}
