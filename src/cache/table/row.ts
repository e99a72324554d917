/** The nouns of a table: what a reader gets, what an observer hands in, and what became of it. */
import type { Stamp } from '../logical-clock.ts';

/** How something was learned. `lro`: from the answer to, or the operation of, our own write. */
export type Via = 'list' | 'get' | 'lro';

/** `fenced` is the number that mutations change, `existence` whether the row is there, `rest` all else. */
export type FieldGroup = 'rest' | 'fenced' | 'existence';

export type RejectReason =
  /** Begun before the read that the row already shows. */
  | 'older-than-row'
  /** Begun before our own change began or ended. */
  | 'before-fence'
  /** Our own change is under way; what Azure shows meanwhile is neither before nor after. */
  | 'in-flight'
  /** A list that still carries the entity tag from before our change. */
  | 'stale-etag'
  /** A list that denies, within the grace time, what our successful change made. A GET is asked for. */
  | 'contradicts-expectation'
  /** A read older than the row's end would bring the row back. */
  | 'resurrection'
  /** An informative agent speaks of a row that no authoritative agent has shown. */
  | 'informative-only';

/** What Azure told us, and nothing else. Frozen; replaced when the value, the entity tag or the owner changes, kept otherwise. */
export interface Row<V> {
  readonly key: string;
  readonly scope: string;
  /** The agent whose complete list decides that this row is gone. */
  readonly agentId: string;
  readonly value: V;
  /** Moves only together with the fenced number: a tag newer than the number a plan starts from would defeat If-Match. */
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

/** A row with our unconfirmed changes laid over it. */
export interface RowView<V> {
  readonly row: Row<V>;
  /** The fenced number Azure last told us; undefined for tables without one. */
  readonly base: number | undefined;
  /** Base with our changes applied. Equals `high` when a change failed and nobody has read since. */
  readonly target: number | undefined;
  /**
   * What the number is at least and at most; equal unless the outcome of a change is not known, or a read during a removal showed
   * less. Never below 0.
   */
  readonly low: number | undefined;
  readonly high: number | undefined;
  /** False while a change that failed, was refused or lost awaits a read, and when a successful one was not read back in 30 s. */
  readonly confirmed: boolean;
  /** Our changes of this row that have not been settled. */
  readonly inFlight: number;
  readonly removal: Removal;
  readonly seen: Seen;
}

/** `under-way`: being deleted by us, not to be counted. `unconfirmed`: the delete failed or was lost, a read must tell. */
export type Removal = 'none' | 'under-way' | 'unconfirmed';

/** One object as read from Azure. */
export interface Observation<V> {
  readonly key: string;
  readonly value: V;
  readonly stamp: Stamp;
  readonly via: Via;
  readonly etag?: string | undefined;
  /** The list agent that owns the row, also when a GET found it. */
  readonly agentId: string;
  /** Set: adds to a row that exists, never creates one. */
  readonly informative?: boolean;
}

export interface Rejection {
  readonly group: FieldGroup;
  readonly reason: RejectReason;
}

/** What became of an observation. `changed`: a reader can see a difference. */
export interface Observed {
  readonly changed: boolean;
  readonly rejected: readonly Rejection[];
}

export interface ListedRow<V> {
  readonly key: string;
  readonly value: V;
  readonly etag?: string | undefined;
}

/** One page of a list; `stamp` was taken when its request was sent. */
export interface ListPage<V> {
  readonly stamp: Stamp;
  readonly rows: readonly ListedRow<V>[];
}

export interface ListResult<V> {
  readonly agentId: string;
  /** Only rows of this scope can be missing from the list; undefined: all rows of the agent. */
  readonly scope?: string;
  /** `authoritative`: absence from a complete list means gone. `informative`: only adds to rows that exist. */
  readonly authority: 'authoritative' | 'informative';
  /** True only when every page was read. */
  readonly complete: boolean;
  /** In the order read. A complete list has at least one, be it empty. */
  readonly pages: readonly ListPage<V>[];
}

export interface ListCommit {
  /** Set: the whole list was dropped, because a list begun later was committed before. */
  readonly dropped: 'older-list' | undefined;
  readonly added: number;
  readonly changed: number;
  readonly evicted: number;
  readonly rejected: number;
  readonly duplicates: number;
  /** True: more than half of the rows would have gone; all were kept, and the list has to be read again now. */
  readonly listAgain: boolean;
}

/** What listeners are told, after the whole commit is visible. Rows that did not change are not mentioned. */
export type TableEvent<V> =
  | { readonly kind: 'changed'; readonly key: string; readonly before: Row<V> | undefined; readonly after: Row<V> | undefined }
  /** Nobody here changed the number. */
  | { readonly kind: 'external-change'; readonly key: string; readonly from: number; readonly to: number }
  /** Our change was reported successful, and a read that is believed says otherwise: it did not take, or somebody undid it. */
  | {
      readonly kind: 'not-applied';
      readonly key: string;
      readonly expected: number | 'gone' | 'present';
      readonly actual: number | 'gone' | 'present';
    };

/** How one kind of row behaves. */
export interface TableDefinition<V> {
  /** Names the table in metrics; from a closed set. */
  readonly name: string;
  /** Groups rows for snapshots and refreshes, for example the scale set of an instance. Default: one scope, ''. */
  readonly scopeOf?: (key: string, value: V) => string;
  /** The number that our own changes move, for example a capacity. */
  readonly fenced?: { readonly read: (value: V) => number; readonly write: (value: V, amount: number) => V };
  /** True when two values mean the same to every reader. The old one is kept then, so that identity tells change. */
  readonly equal: (left: V, right: V) => boolean;
}
