/**
 * A table of one kind of row: base rows as Azure returned them, fences over our changes, and overlays of our
 * intentions. Decides which of two observations counts. Must not know Azure, does no I/O and never waits for the
 * network. Every commit is synchronous, so no reader sees half of one.
 */
import type { Clock } from '../../lib/clock.ts';
import { planAbsence, ListLedger, lastOfEach, nothingCommitted, type Located } from './lists.ts';
import { type FenceStatus, removalOf } from './fences.ts';
import { callHook, type CacheHooks, type EvictionCause } from './hooks.ts';
import type { LogicalClock, Stamp } from '../logical-clock.ts';
import type { Mutation, MutationOp } from './mutation.ts';
import { Mutations } from './mutations.ts';
import { Observer } from './observe.ts';
import { Outbox } from './commit-outbox.ts';
import { RowStore, seenOf, type Entry, applyOverlay } from './row-store.ts';
import type { ListCommit, ListResult, Observation, Observed, Removal, Row, RowView, Seen, TableDefinition, TableEvent } from './row.ts';

/** Maximum time for which ended rows are kept, ms; no read lasts that long. */
const FORGET_AFTER_MS = 30 * 60_000;
/** Minimum time for which ended rows are kept, ms. */
const REMEMBER_MS = 120_000;

const NOTHING_ABSENT = { evicted: 0, doubted: false } as const;

interface TableDeps<V> {
  readonly definition: TableDefinition<V>;
  readonly clock: Pick<Clock, 'now'>;
  readonly order: LogicalClock;
  /**
   * A row must be read by GET soon: after every settle, and when a list contradicts what we know. Connect it to
   * OnDemand.request.
   */
  readonly requestRefresh: (key: string, scope: string) => void;
  readonly hooks: CacheHooks;
}

export class Table<V> {
  readonly #deps: TableDeps<V>;
  readonly #hooks: CacheHooks;
  readonly #store = new RowStore<V>();
  readonly #mutations: Mutations;
  readonly #observer: Observer<V>;
  readonly #lists = new ListLedger();
  readonly #outbox: Outbox<V>;
  #version = 0;

  constructor(deps: TableDeps<V>) {
    this.#deps = deps;
    this.#hooks = deps.hooks;
    this.#outbox = new Outbox({ hooks: this.#hooks, requestRefresh: deps.requestRefresh });
    this.#mutations = new Mutations({ clock: deps.clock, order: deps.order, rows: this.#rowAccess() });
    this.#observer = new Observer({
      definition: deps.definition,
      store: this.#store,
      mutations: this.#mutations,
      emit: (event) => this.#emit(event),
      requestRefresh: (entry) => this.#outbox.refresh(entry),
      rejected: (reason) => callHook(this.#hooks, 'rowRejected', () => this.#hooks.rowRejected(this.name, reason)),
    });
  }

  get name(): string {
    return this.#deps.definition.name;
  }

  /** Grows whenever a reader of rows or views could see a difference other than in ages. */
  get version(): number {
    return this.#version;
  }

  /** Every read of one object ends here. */
  observe(observation: Observation<V>): Observed {
    const outcome = this.#observer.observe(observation, this.#deps.clock.now());
    this.#outbox.flush();
    return outcome;
  }

  /** A GET that began at `stamp` returned 404. It is ordered like any other read. */
  observeGone(key: string, stamp: Stamp): Observed {
    const existed = this.get(key) !== undefined;
    const outcome = this.#observer.observeGone(key, { stamp, nowMs: this.#deps.clock.now() });
    if (existed && outcome.changed) this.#evicted('not-found', 1);
    this.#outbox.flush();
    return outcome;
  }

  /** Commits a list as far as it was read. Removes rows only if the owning agent read every page. */
  commitList(list: ListResult<V>): ListCommit {
    const first = list.pages[0];
    if (first === undefined) return nothingCommitted(undefined);
    if (this.#lists.isOld(list, first.stamp)) return nothingCommitted('older-list');
    const { rows, duplicates } = lastOfEach(list);
    const counts = this.#upsert(list, rows);
    const absence = list.complete ? this.#commitAbsence(list, rows, first.stamp) : NOTHING_ABSENT;
    this.#lists.remember(list, first.stamp, { believed: list.complete && !absence.doubted, doubted: absence.doubted });
    if (duplicates > 0) callHook(this.#hooks, 'duplicates', () => this.#hooks.duplicates(this.name, duplicates));
    this.#outbox.flush();
    return { dropped: undefined, ...counts, evicted: absence.evicted, duplicates, listAgain: absence.doubted };
  }

  /** To be called before the request is sent. */
  beginMutation(op: MutationOp): Mutation {
    return this.#mutations.begin(op);
  }

  get(key: string): Row<V> | undefined {
    return this.#store.get(key)?.row;
  }

  /** The base row with our changes applied; undefined without a row. */
  view(key: string): RowView<V> | undefined {
    const entry = this.#store.get(key);
    if (entry?.row === undefined) return undefined;
    const base = this.#deps.definition.fenced?.read(entry.row.value);
    return applyOverlay({ entry, row: entry.row, base }, this.#mutations, this.#deps.clock.now());
  }

  /** Cheap if nothing is being removed: one look-up. */
  removalOf(key: string): Removal {
    const fence = this.#mutations.existence.get(key);
    return fence === undefined ? 'none' : removalOf(fence);
  }

  seen(key: string): Seen | undefined {
    const entry = this.#store.get(key);
    return entry?.row === undefined ? undefined : seenOf(entry);
  }

  /** All rows. The same object until a row changes; never edited. */
  snapshot(): ReadonlyMap<string, Row<V>> {
    return this.#store.all();
  }

  /** Rows of one scope, with the same guarantees. */
  scope(scope: string): ReadonlyMap<string, Row<V>> {
    return this.#store.scope(scope);
  }

  /** Start of the agent's last complete, believed list, ms since the epoch. Undefined: never. -Infinity: invalidated. */
  listedAtMs(agentId: string, scope = ''): number | undefined {
    return this.#lists.atMs({ agentId, scope });
  }

  /** Age in ms of the row whose last read is oldest; undefined without rows. */
  oldestAgeMs(scope?: string): number | undefined {
    let oldest: number | undefined;
    for (const entry of this.#store.entries()) {
      if (entry.row === undefined || (scope !== undefined && entry.scope !== scope)) continue;
      oldest = oldest === undefined ? entry.atMs : Math.min(oldest, entry.atMs);
    }
    return oldest === undefined ? undefined : this.#deps.clock.now() - oldest;
  }

  /** What the rows of a scope belonged to is gone, and they with it. Lists that began before this call cannot bring them back. */
  endScope(scope: string): void {
    const entries = [...this.#store.entries()].filter((entry) => entry.row !== undefined && entry.scope === scope);
    this.#endRows(entries, 'absent');
    this.#outbox.flush();
  }

  /** Distrusts the age of rows, for all, one scope or one key. Keeps the rows. Only reads that begin later count as fresh. */
  invalidate(what: { readonly key?: string; readonly scope?: string } = {}): void {
    const seq = this.#deps.order.tick();
    for (const entry of what.key === undefined ? this.#store.entries() : [this.#store.get(what.key)]) {
      if (entry === undefined || (what.scope !== undefined && entry.scope !== what.scope)) continue;
      entry.atMs = Number.NEGATIVE_INFINITY;
      entry.distrustSeq = seq;
    }
    if (what.key === undefined) this.#lists.distrust(what.scope, seq);
  }

  /** Calls the listener after each commit, when all of it is visible. Returns a function that unsubscribes. */
  subscribe(listener: (event: TableEvent<V>) => void): () => void {
    return this.#outbox.subscribe(listener);
  }

  fences(): readonly FenceStatus[] {
    const nowMs = this.#deps.clock.now();
    return [...this.#mutations.fenced.status(nowMs), ...this.#mutations.existence.status(nowMs)];
  }

  /**
   * Drops ended rows and old fences; with `knownAgents`, also rows whose agent is no longer configured. To be called
   * about once a minute.
   */
  reap(knownAgents?: ReadonlySet<string>): void {
    for (const keys of this.#mutations.giveUpLost()) {
      callHook(this.#hooks, 'mutationLost', () => this.#hooks.mutationLost(this.name, keys));
    }
    if (knownAgents !== undefined) this.#dropUnknownAgents(knownAgents);
    for (const entry of this.#store.entries()) if (this.#isForgettable(entry)) this.#store.forget(entry);
    this.#mutations.dropOrphans((key) => this.get(key) !== undefined);
    this.#outbox.flush();
  }

  #upsert(list: ListResult<V>, rows: ReadonlyMap<string, Located<V>>): { added: number; changed: number; rejected: number } {
    const nowMs = this.#deps.clock.now();
    const before = this.#store.size;
    let changed = 0;
    let rejected = 0;
    for (const { row, stamp } of rows.values()) {
      const outcome = this.#observer.observe({ ...row, stamp, via: 'list', agentId: list.agentId }, nowMs);
      if (outcome.changed) changed += 1;
      if (outcome.rejected.length > 0) rejected += 1;
    }
    const added = this.#store.size - before;
    return { added, changed: changed - added, rejected };
  }

  #commitAbsence(
    list: ListResult<V>,
    rows: ReadonlyMap<string, Located<V>>,
    first: Stamp,
  ): { readonly evicted: number; readonly doubted: boolean } {
    const plan = planAbsence({
      entries: this.#store.ofAgent(list.agentId),
      listed: rows,
      scope: list.scope,
      seq: first.seq,
      fences: this.#mutations.existence,
    });
    if (plan.doubtful && !this.#lists.wasDoubted(list)) {
      callHook(this.#hooks, 'listDoubted', () => this.#hooks.listDoubted(this.name, list.agentId));
      return { evicted: 0, doubted: true };
    }
    for (const { end } of plan.omittedAgain) if (end !== undefined) end.omittedAgain = true;
    const nowMs = this.#deps.clock.now();
    for (const entry of plan.gone) this.#observer.endRow(entry, { stamp: first, nowMs });
    this.#evicted('absent', plan.gone.length);
    return { evicted: plan.gone.length, doubted: false };
  }

  #dropUnknownAgents(known: ReadonlySet<string>): void {
    this.#endRows(
      [...this.#store.entries()].filter((entry) => entry.row !== undefined && !known.has(entry.agentId)),
      'unknown-agent',
    );
    this.#lists.forgetAllBut(known);
  }

  #endRows(entries: readonly Entry<V>[], cause: EvictionCause): void {
    for (const entry of entries) {
      const stamp = { seq: this.#deps.order.tick(), atMs: this.#deps.clock.now() };
      this.#observer.endRow(entry, { stamp, nowMs: stamp.atMs });
    }
    this.#evicted(cause, entries.length);
  }

  #isForgettable(entry: Entry<V>): boolean {
    if (entry.end === undefined || this.#mutations.existence.get(entry.key) !== undefined) return false;
    const ageMs = this.#deps.clock.now() - entry.end.endedAtMs;
    return ageMs > FORGET_AFTER_MS || (ageMs > REMEMBER_MS && entry.end.omittedAgain);
  }

  #rowAccess() {
    return {
      base: (key: string) => {
        const row = this.get(key);
        return row === undefined ? undefined : this.#deps.definition.fenced?.read(row.value);
      },
      etag: (key: string) => this.get(key)?.etag,
      adoptEtag: (key: string, etag: string | undefined, seq: number) => {
        this.#observer.adoptEtag(key, etag, seq);
        this.#outbox.flush();
      },
      touched: () => {
        this.#version += 1;
      },
      requestRefresh: (key: string) => this.#deps.requestRefresh(key, this.#store.get(key)?.scope ?? ''),
    };
  }

  #emit(event: TableEvent<V>): void {
    this.#version += 1;
    this.#outbox.emit(event);
  }

  #evicted(cause: EvictionCause, count: number): void {
    if (count > 0) callHook(this.#hooks, 'evicted', () => this.#hooks.evicted(this.name, cause, count));
  }
}
