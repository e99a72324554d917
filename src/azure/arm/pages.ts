/** Reads lists page by page. Each page is stamped when its request is sent. An error never counts as the end of a list. */
import type { LogicalClock } from '../../cache/logical-clock.ts';
import type { ListPage, ListedRow } from '../../cache/table/row.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { ArmCalls } from './arm-client.ts';
import { describeCall, type ArmCall } from './call-list.ts';
import { MAX_CLUSTER_NODES } from '../../domain/platform-limits.ts';
import { PageAddresses } from './request-addresses.ts';

interface PagedRead<Raw, Value> {
  readonly call: ArmCall;
  readonly signal: AbortSignal;
  /** Starts the iteration. The first request leaves with the first `next`. */
  readonly open: () => AsyncIterableIterator<readonly Raw[]>;
  /** undefined: an item without a name or id, which cannot be referenced. */
  readonly project: (raw: Raw) => ListedRow<Value> | undefined;
}

export interface PagedResult<Value> {
  readonly pages: readonly ListPage<Value>[];
  /** Set if reading failed after at least one page. */
  readonly error: AutoscalerError | undefined;
}

/** A longer list is taken to be endless. */
const MAX_PAGES = 500;
/** Four times the nodes of a cluster. A resource group has at most 800 resources of most types, and a region about 2,000 sizes and disks. */
const MAX_ITEMS = 4 * MAX_CLUSTER_NODES;

/**
 * Ends as broken at a link to another origin or to an earlier page, and at a page that has only known items. An empty page is
 * legal. @throws AutoscalerError if the first page could not be read.
 */
export async function readPages<Raw, Value>(
  deps: { readonly calls: ArmCalls; readonly order: LogicalClock },
  read: PagedRead<Raw, Value>,
): Promise<PagedResult<Value>> {
  const pages: ListPage<Value>[] = [];
  const iterator = read.open();
  const addresses = new PageAddresses();
  const known = new Set<string>();
  let items = 0;
  try {
    for (;;) {
      if (pages.length >= MAX_PAGES) throw tooManyPages(read.call);
      const stamp = deps.order.stamp();
      const next = await deps.calls.run(read.call, read.signal, () => iterator.next(), addresses);
      if (next.done === true) return { pages, error: undefined };
      items += next.value.length;
      // guard: no list of Azure has more items than any list has
      if (items > MAX_ITEMS) throw tooManyItems(read.call);
      const rows = projectAll(next.value, read.project);
      // guard: a page of known items only ends a list as broken
      if (rows.length > 0 && rows.every(({ key }) => known.has(key))) throw repeatedPage(read.call);
      for (const { key } of rows) known.add(key);
      pages.push({ stamp, rows });
    }
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    // guard: a list that is not found is not a list of nothing
    if (pages.length === 0) throw error;
    // guard: an error is not the end of a list
    return { pages, error };
  }
}

function projectAll<Raw, Value>(page: readonly Raw[], project: (raw: Raw) => ListedRow<Value> | undefined): ListedRow<Value>[] {
  return page.flatMap((raw) => project(raw) ?? []);
}

function tooManyPages(call: ArmCall): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `${describeCall(call)} returned more than ${MAX_PAGES} pages.`);
}

function tooManyItems(call: ArmCall): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `${describeCall(call)} returned more than ${MAX_ITEMS} items.`);
}

function repeatedPage(call: ArmCall): AutoscalerError {
  const message = `${describeCall(call)} returned a page that has only items of earlier pages.`;
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message, { code: 'RepeatedPage' });
}
