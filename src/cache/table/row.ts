/** The nouns of a table: what a reader gets, what an observer passes in, and the result of that. */
import type { Stamp } from '../logical-clock.ts';

/** How something was learned. `lro`: from the answer to our own write or from its operation. */
export type Via = 'list' | 'get' | 'lro';

/** `fenced` is the number that mutations change, `existence` whether the row exists, `rest` everything else. */
export type FieldGroup = 'rest' | 'fenced' | 'existence';

export type RejectReason =
  /** An item of a list that belongs to another list. */
  | 'foreign-id'
  /** Began before the read that the row already shows. */
  | 'older-than-row'
  /** Began before our own change began or ended. */
  | 'before-fence'
  /** Our own change is in flight, so Azure shows neither the state before nor the one after. */
  | 'in-flight'
  /** A list that still has the entity tag from before our change. */
  | 'stale-etag'
  /** A list that contradicts our successful change within the grace time. Requests a GET. */
  | 'contradicts-expectation'
  /** A read older than the row's end would bring the row back. */
  | 'resurrection';

/** What Azure returned, and nothing else. Frozen. Replaced if the value, the entity tag or the owner changes, else kept. */
export interface Row<V> {
  readonly key: string;
  readonly scope: string;
  /** The agent whose complete list decides that this row is gone. */
  readonly agentId: string;
  readonly value: V;
  /**
   * Changes only together with the fenced number: a tag newer than the number that a plan starts from would defeat
   * If-Match.
   */
  readonly etag: string | undefined;
}

/** When the parts of a row were last confirmed. `atMs` is when the read began; -Infinity after `invalidate`. */
export interface Seen {
  readonly restSeq: number;
  readonly fencedSeq: number;
  readonly existenceSeq: number;
  readonly atMs: number;
  readonly via: Via;
}

/** A row with our unconfirmed changes applied. */
export interface RowView<V> {
  readonly row: Row<V>;
  /** The fenced number that Azure last returned; undefined for tables without one. */
  readonly base: number | undefined;
  /** Base with our changes applied. Equals `high` if a change failed and no read has followed. */
  readonly target: number | undefined;
  /**
   * The least and the greatest possible number. They are equal unless the outcome of a change is unknown, or a read
   * during a removal showed less. Never below 0.
   */
  readonly low: number | undefined;
  readonly high: number | undefined;
  /**
   * False while a failed, refused or lost change awaits a read. Also false if a successful change was not read back
   * within 30 s.
   */
  readonly confirmed: boolean;
  /** Number of our changes of this row that have not ended. */
  readonly inFlight: number;
  readonly removal: Removal;
  readonly seen: Seen;
}

/**
 * `under-way`: we are deleting it, so it must not be counted. `unconfirmed`: the delete failed or was lost, and a read
 * must decide.
 */
export type Removal = 'none' | 'under-way' | 'unconfirmed';

/** One object as read from Azure. */
export interface Observation<V> {
  readonly key: string;
  readonly value: V;
  readonly stamp: Stamp;
  readonly via: Via;
  readonly etag: string | undefined;
  /** The list agent that owns the row, even if a GET found it. */
  readonly agentId: string;
}

export interface Rejection {
  readonly group: FieldGroup;
  readonly reason: RejectReason;
}

/** The result of an observation. `changed`: a reader can see a difference. */
export interface Observed {
  readonly changed: boolean;
  readonly rejected: readonly Rejection[];
}

export interface ListedRow<V> {
  readonly key: string;
  readonly value: V;
  readonly etag: string | undefined;
}

/** One page of a list. `stamp` was taken when its request was sent. */
export interface ListPage<V> {
  readonly stamp: Stamp;
  readonly rows: readonly ListedRow<V>[];
}

/** Authoritative: absence from a complete list means gone. What another process read never becomes one. */
export interface ListResult<V> {
  readonly agentId: string;
  /** Only rows of this scope can be missing from the list. If undefined, all rows of the agent can. */
  readonly scope: string | undefined;
  /** True only if every page was read. */
  readonly complete: boolean;
  /** In the order read. A complete list has at least one page, possibly empty. */
  readonly pages: readonly ListPage<V>[];
}

export interface ListCommit {
  /** If set, the whole list was dropped, because a list that began later was committed before. */
  readonly dropped: 'older-list' | undefined;
  readonly added: number;
  readonly changed: number;
  readonly evicted: number;
  readonly rejected: number;
  readonly duplicates: number;
  /** True if more than half of the rows would have been removed. All were kept, and the list must be read again now. */
  readonly listAgain: boolean;
}

/** Sent to listeners after the whole commit is visible. Unchanged rows are not mentioned. */
export type TableEvent<V> =
  | { readonly kind: 'changed'; readonly key: string; readonly before: Row<V> | undefined; readonly after: Row<V> | undefined }
  /** The number changed without a change of ours. */
  | { readonly kind: 'external-change'; readonly key: string; readonly from: number; readonly to: number }
  /** Our change was reported successful, but a believed read differs: it had no effect, or another writer reverted it. */
  | {
      readonly kind: 'not-applied';
      readonly key: string;
      readonly expected: number | 'gone';
      readonly actual: number | 'gone' | 'present';
    };

/** The behaviour of one kind of row. */
export interface TableDefinition<V> {
  /** Names the table in metrics; from a closed set. */
  readonly name: string;
  /** Groups rows for snapshots and refreshes, for example by the scale set of an instance. */
  readonly scopeOf: (key: string, value: V) => string;
  /** The number that our own changes move, for example a capacity. If undefined, rows have none. */
  readonly fenced: { readonly read: (value: V) => number; readonly write: (value: V, amount: number) => V } | undefined;
  /** True if two values mean the same to every reader. The old one is then kept, so that identity shows changes. */
  readonly equal: (left: V, right: V) => boolean;
}
