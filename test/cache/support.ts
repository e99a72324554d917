/** A table of sets (with a capacity) and one of machines (whose existence is fenced), and what they report. */
import { LogicalClock, type Stamp } from '../../src/cache/logical-clock.ts';
import type { CacheHooks } from '../../src/cache/table/hooks.ts';
import type { ListedRow, ListResult, TableEvent } from '../../src/cache/table/row.ts';
import { Table } from '../../src/cache/table/table.ts';
import { FakeClock } from '../support/fake-clock.ts';

export interface SetValue {
  readonly capacity: number;
  readonly tag: string;
}

export interface MachineValue {
  readonly state: string;
}

export interface Bench<V> {
  readonly clock: FakeClock;
  readonly order: LogicalClock;
  readonly table: Table<V>;
  readonly wanted: string[];
  readonly events: TableEvent<V>[];
  readonly reports: string[];
}

export const LISTER = 'lister';

const nothing = (): void => undefined;

/** Hooks that report nothing. */
export const NO_HOOKS: CacheHooks = {
  rowRejected: nothing,
  evicted: nothing,
  duplicates: nothing,
  listDoubted: nothing,
  mutationLost: nothing,
  onDemand: nothing,
  agentRun: nothing,
  threw: nothing,
};

function recorder(reports: string[]): CacheHooks {
  return {
    ...NO_HOOKS,
    rowRejected: (_table, reason) => reports.push(`rejected ${reason}`),
    evicted: (_table, cause, count) => reports.push(`evicted ${count} ${cause}`),
    duplicates: (_table, count) => reports.push(`duplicates ${count}`),
    listDoubted: () => reports.push('doubted'),
    mutationLost: (_table, keys) => reports.push(`lost ${keys.join()}`),
    threw: (where, error) => reports.push(`threw ${where}: ${error.message}`),
  };
}

export function sets(): Bench<SetValue> {
  return bench(
    (parts) =>
      new Table<SetValue>({
        ...parts,
        definition: {
          name: 'sets',
          scopeOf: () => '',
          fenced: { read: (value) => value.capacity, write: (value, capacity) => ({ ...value, capacity }) },
          equal: (left, right) => left.capacity === right.capacity && left.tag === right.tag,
        },
      }),
  );
}

export function machines(): Bench<MachineValue> {
  return bench(
    (parts) =>
      new Table<MachineValue>({
        ...parts,
        definition: {
          name: 'machines',
          scopeOf: (key) => key.split('/')[0] ?? '',
          fenced: undefined,
          equal: (left, right) => left.state === right.state,
        },
      }),
  );
}

interface Parts {
  readonly clock: FakeClock;
  readonly order: LogicalClock;
  readonly requestRefresh: (key: string) => void;
  readonly hooks: CacheHooks;
}

function bench<V>(make: (parts: Parts) => Table<V>): Bench<V> {
  const clock = new FakeClock(1_000_000);
  const order = new LogicalClock(clock);
  const wanted: string[] = [];
  const reports: string[] = [];
  const events: TableEvent<V>[] = [];
  const table = make({ clock, order, requestRefresh: (key) => wanted.push(key), hooks: recorder(reports) });
  table.subscribe((event) => events.push(event));
  return { clock, order, table, wanted, events, reports };
}

/** A complete authoritative list of one page, begun at `stamp` (now by default). */
export function list<V>(
  at: Bench<V>,
  rows: readonly ListedRow<V>[],
  options: Partial<ListResult<V>> & { readonly stamp?: Stamp } = {},
): ListResult<V> {
  const { stamp = at.order.stamp(), ...rest } = options;
  return { agentId: LISTER, scope: undefined, complete: true, pages: [{ stamp, rows }], ...rest };
}

export function machineRows(...keys: readonly string[]): readonly ListedRow<MachineValue>[] {
  return keys.map((key) => ({ key, value: { state: 'running' }, etag: undefined }));
}

export function setRow(capacity: number, etag?: string, tag = ''): ListedRow<SetValue> {
  return { key: 'pool', value: { capacity, tag }, etag };
}

/** Hands in a GET of `pool`, begun at `stamp`. */
export function getSet(
  at: Bench<SetValue>,
  capacity: number,
  options: { readonly stamp?: Stamp; readonly etag?: string; readonly tag?: string } = {},
) {
  const { stamp = at.order.stamp(), etag, tag = '' } = options;
  return at.table.observe({ key: 'pool', value: { capacity, tag }, etag, stamp, via: 'get', agentId: LISTER });
}

/** Hands in a GET of a machine that is there. */
export function getMachine(at: Bench<MachineValue>, key: string, stamp: Stamp = at.order.stamp()) {
  return at.table.observe({ key, value: { state: 'running' }, etag: undefined, stamp, via: 'get', agentId: LISTER });
}
