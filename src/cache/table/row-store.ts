import { FrozenMap } from '../../lib/collections.ts';
import type { Stamp } from '../logical-clock.ts';
import { inFlight, isConfirmed, lowest, rangeOf, removalOf } from './fences.ts';
import type { Mutations } from './mutations.ts';
import type { Row, Seen, Via, RowView } from './row.ts';

/** The entry of a row. It stays after the row has ended, so that a late read cannot bring the row back. Mutable. */
export interface Entry<V> {
  readonly key: string;
  agentId: string;
  scope: string;
  row: Row<V> | undefined;
  restSeq: number;
  fencedSeq: number;
  existenceSeq: number;
  etagSeq: number;
  /** Start of the read that last confirmed the group that decisions use. */
  atMs: number;
  /** Reads that began before this do not make the row fresh. */
  distrustSeq: number;
  via: Via;
  /** Set while `row` is undefined. */
  end: { readonly stamp: Stamp; readonly endedAtMs: number; omittedAgain: boolean } | undefined;
}

interface Scope<V> {
  readonly rows: Map<string, Row<V>>;
  frozen: FrozenMap<string, Row<V>> | undefined;
}

/** Entries by key, by agent and by scope, and the frozen maps made from them on request. */
export class RowStore<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #byAgent = new Map<string, Set<Entry<V>>>();
  readonly #scopes = new Map<string, Scope<V>>();
  #live = 0;
  #frozen: FrozenMap<string, Row<V>> | undefined;

  /** Number of existing rows. */
  get size(): number {
    return this.#live;
  }

  get(key: string): Entry<V> | undefined {
    return this.#entries.get(key);
  }

  entries(): IterableIterator<Entry<V>> {
    return this.#entries.values();
  }

  ofAgent(agentId: string): Iterable<Entry<V>> {
    return this.#byAgent.get(agentId) ?? [];
  }

  /** Creates an entry without a row. */
  create(key: string, agentId: string): Entry<V> {
    const entry: Entry<V> = {
      key,
      agentId,
      scope: '',
      row: undefined,
      restSeq: 0,
      fencedSeq: 0,
      existenceSeq: 0,
      etagSeq: 0,
      atMs: Number.NEGATIVE_INFINITY,
      distrustSeq: 0,
      via: 'get',
      end: undefined,
    };
    this.#entries.set(key, entry);
    this.#index(entry);
    return entry;
  }

  /** Stores a row in its entry. The frozen maps that lack it are rebuilt on the next request. */
  put(entry: Entry<V>, row: Row<V>): void {
    if (entry.row === undefined) this.#live += 1;
    else if (entry.scope !== row.scope) this.#leaveScope(entry);
    if (entry.agentId !== row.agentId) {
      this.#byAgent.get(entry.agentId)?.delete(entry);
      entry.agentId = row.agentId;
      this.#index(entry);
    }
    entry.row = row;
    entry.scope = row.scope;
    entry.end = undefined;
    const scope = this.#scopes.get(row.scope) ?? this.#openScope(row.scope);
    scope.rows.set(entry.key, row);
    scope.frozen = undefined;
    this.#frozen = undefined;
  }

  /** Ends a row; its entry stays. */
  end(entry: Entry<V>, stamp: Stamp, nowMs: number): void {
    if (entry.row !== undefined) {
      this.#live -= 1;
      this.#leaveScope(entry);
      entry.row = undefined;
    }
    entry.existenceSeq = Math.max(entry.existenceSeq, stamp.seq);
    entry.end = { stamp, endedAtMs: nowMs, omittedAgain: false };
  }

  forget(entry: Entry<V>): void {
    if (entry.row !== undefined) {
      this.#live -= 1;
      this.#leaveScope(entry);
    }
    this.#entries.delete(entry.key);
    const owned = this.#byAgent.get(entry.agentId);
    owned?.delete(entry);
    if (owned?.size === 0) this.#byAgent.delete(entry.agentId);
  }

  all(): ReadonlyMap<string, Row<V>> {
    this.#frozen ??= new FrozenMap(liveRows(this.#entries.values()));
    return this.#frozen;
  }

  scope(name: string): ReadonlyMap<string, Row<V>> {
    const scope = this.#scopes.get(name);
    if (scope === undefined) return NO_ROWS;
    scope.frozen ??= new FrozenMap(scope.rows);
    return scope.frozen;
  }

  #index(entry: Entry<V>): void {
    const owned = this.#byAgent.get(entry.agentId);
    if (owned === undefined) this.#byAgent.set(entry.agentId, new Set([entry]));
    else owned.add(entry);
  }

  #openScope(name: string): Scope<V> {
    const scope: Scope<V> = { rows: new Map(), frozen: undefined };
    this.#scopes.set(name, scope);
    return scope;
  }

  #leaveScope(entry: Entry<V>): void {
    const scope = this.#scopes.get(entry.scope);
    scope?.rows.delete(entry.key);
    if (scope !== undefined) scope.frozen = undefined;
    if (scope?.rows.size === 0) this.#scopes.delete(entry.scope);
    this.#frozen = undefined;
  }
}

const NO_ROWS: ReadonlyMap<string, never> = new FrozenMap<string, never>([]);

export function seenOf<V>(entry: Entry<V>): Seen {
  const { restSeq, fencedSeq, existenceSeq, atMs, via } = entry;
  return { restSeq, fencedSeq, existenceSeq, atMs, via };
}

function* liveRows<V>(entries: Iterable<Entry<V>>): Generator<readonly [string, Row<V>]> {
  for (const entry of entries) if (entry.row !== undefined) yield [entry.key, entry.row];
}

/** Applies our unconfirmed changes on top of a base row, without changing either. */
export function applyOverlay<V>(
  at: { readonly entry: Entry<V>; readonly row: Row<V>; readonly base: number | undefined },
  mutations: Mutations,
  nowMs: number,
): RowView<V> {
  const { entry, row, base } = at;
  const fenced = mutations.fenced.get(row.key);
  const existence = mutations.existence.get(row.key);
  const fences = [fenced, existence].filter((fence) => fence !== undefined);
  const range = base === undefined ? undefined : rangeOf(base, fenced?.changes ?? []);
  return {
    row,
    base,
    target: range?.high,
    low: fenced === undefined || range === undefined ? range?.low : lowest(fenced, range),
    high: range?.high,
    confirmed: fences.every((fence) => isConfirmed(fence, nowMs)),
    inFlight: fences.reduce((sum, fence) => sum + inFlight(fence), 0),
    removal: existence === undefined ? 'none' : removalOf(existence),
    seen: seenOf(entry),
  };
}
