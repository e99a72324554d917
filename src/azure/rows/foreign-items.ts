/**
 * Counts instances in Azure's answers that belong elsewhere: those of other scale sets or resource groups in a list, and another
 * instance than the one that was read. They are skipped, since deletes name instances within our own groups only. Must not know how
 * instances are read.
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

  /** @param list what is listed: a scale set's name, or all VMs. One line is logged until a list of it has no foreign items again. */
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

  /** A single instance was read. One line is logged until a read of it shows it again. */
  countRead(table: string, key: string, isAnother: boolean): void {
    this.#report(table, key, isAnother ? 1 : 0);
  }

  #report(table: string, read: string, skipped: number): void {
    for (let item = 0; item < skipped; item++) this.#deps.hooks.rowRejected(table, 'foreign-id');
    if (skipped === 0) this.#logged.delete(read);
    else if (!this.#logged.has(read)) {
      this.#logged.add(read);
      this.#deps.log.warn(
        { read, skipped },
        'Azure returned items of other sets or resource groups, or without a valid id; they are skipped',
      );
    }
  }
}
