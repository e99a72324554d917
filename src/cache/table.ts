/**
 * A table of one kind of row: base rows as Azure told them, fences over what we change, overlays of what we intend. It
 * decides which of two observations counts. It must not know Azure, does no I/O and never waits for the network.
 */
import { AutoscalerError } from '../domain/errors.ts';
import type { Clock } from '../domain/clock.ts';
import type { CacheHooks } from './hooks.ts';
import type { LogicalClock, Stamp } from './logical-clock.ts';
import type { Mutation, MutationOp } from './mutation.ts';
import type { ListCommit, ListResult, Observation, Observed, Removal, Row, RowView, Seen, TableDefinition, TableEvent } from './row.ts';

const todo = (): never => {
  throw new AutoscalerError({ kind: 'bug' }, 'signature published first; body follows');
};

export interface TableParts<V> {
  readonly definition: TableDefinition<V>;
  readonly clock: Pick<Clock, 'now'>;
  readonly order: LogicalClock;
  /** A row must be read by GET soon: after every settle, and when a list contradicts what we know. Wire it to OnDemand.request. */
  readonly wantRefresh: (key: string, scope: string) => void;
  readonly hooks?: CacheHooks;
}

/** A fence as shown to operators. */
export interface FenceStatus {
  readonly key: string;
  readonly group: 'fenced' | 'existence';
  readonly inFlight: number;
  readonly ageMs: number;
  readonly minSeq: number;
  readonly expect: number | 'gone' | 'present' | undefined;
  readonly graceUntilMs: number;
}

export class Table<V> {
  constructor(_parts: TableParts<V>) {}
  get name(): string {
    return todo();
  }
  /** Grows whenever a reader of rows or views could see a difference. */
  get version(): number {
    return todo();
  }
  /** Every read path of one object ends here. */
  observe(_observation: Observation<V>): Observed {
    return todo();
  }
  /** A GET begun at `stamp` answered 404. Takes part in the same order as rows. */
  observeGone(_key: string, _stamp: Stamp): Observed {
    return todo();
  }
  commitList(_list: ListResult<V>): ListCommit {
    return todo();
  }
  /** Call before the request leaves. */
  beginMutation(_op: MutationOp): Mutation {
    return todo();
  }
  get(_key: string): Row<V> | undefined {
    return todo();
  }
  /** Base row with our changes laid over; undefined when there is no row. */
  view(_key: string): RowView<V> | undefined {
    return todo();
  }
  removalOf(_key: string): Removal {
    return todo();
  }
  seen(_key: string): Seen | undefined {
    return todo();
  }
  /** All rows. The same object until a row changes; never edited. */
  snapshot(): ReadonlyMap<string, Row<V>> {
    return todo();
  }
  /** Rows of one scope, likewise. */
  scope(_scope: string): ReadonlyMap<string, Row<V>> {
    return todo();
  }
  /** When the last complete list of the agent began, ms since the epoch; undefined: never listed. */
  listedAtMs(_agentId: string, _scope?: string): number | undefined {
    return todo();
  }
  /** Age of the row whose last read is oldest; undefined when there are no rows. */
  oldestAgeMs(_scope?: string): number | undefined {
    return todo();
  }
  /** Resolves when a read of this row begun after `seq` was accepted (or told that it is gone). Rejects `cancelled` with the signal. */
  confirmedAfter(_key: string, _seq: number, _signal: AbortSignal): Promise<void> {
    return todo();
  }
  /** Drops trust in the age of rows, not the rows: all, one scope or one key. Only reads begun later count as fresh. */
  invalidate(_what?: { readonly key?: string; readonly scope?: string }): void {
    return todo();
  }
  subscribe(_listener: (event: TableEvent<V>) => void): () => void {
    return todo();
  }
  fences(): readonly FenceStatus[] {
    return todo();
  }
  /** Forgets ended rows and old fences; with `knownAgents`, rows whose agent is no longer configured. Call about once a minute. */
  reap(_knownAgents?: ReadonlySet<string>): void {
    return todo();
  }
}
