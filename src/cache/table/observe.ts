/** Applies one observation to one row, group by group. All rules of order and fences for reads meet here. */
import { isAbsenceBelieved, isGlimpse, checkNumber, checkPresence, rangeOf, type Fence, type Reading } from './fences.ts';
import type { Stamp } from '../logical-clock.ts';
import type { Mutations } from './mutations.ts';
import type { Entry, RowStore } from './row-store.ts';
import type { FieldGroup, Observation, Observed, Rejection, RejectReason, Row, TableDefinition, TableEvent } from './row.ts';

interface ObserverDeps<V> {
  readonly definition: TableDefinition<V>;
  readonly store: RowStore<V>;
  readonly mutations: Mutations;
  readonly emit: (event: TableEvent<V>) => void;
  readonly requestRefresh: (entry: Entry<V>) => void;
  readonly rejected: (reason: RejectReason) => void;
}

export interface Absence {
  readonly stamp: Stamp;
  readonly nowMs: number;
}

const UNCHANGED: Observed = { changed: false, rejected: [] };
const CHANGED: Observed = { changed: true, rejected: [] };

export class Observer<V> {
  readonly #deps: ObserverDeps<V>;

  constructor(deps: ObserverDeps<V>) {
    this.#deps = deps;
  }

  observe(observation: Observation<V>, nowMs: number): Observed {
    const { store } = this.#deps;
    const entry = store.get(observation.key);
    const reading = { seq: observation.stamp.seq, via: observation.via, etag: observation.etag, nowMs };
    const row = entry?.row;
    if (entry === undefined || row === undefined) return this.#appear(observation, entry, reading);
    return this.#update({ entry, row, observation, reading });
  }

  /** A GET found nothing. Leaves a trace even for an unknown row, so that a list in progress cannot add it. */
  observeGone(key: string, absence: Absence): Observed {
    const entry = this.#deps.store.get(key) ?? this.#deps.store.create(key, '');
    const { stamp } = absence;
    if (stamp.seq < Math.max(entry.restSeq, entry.fencedSeq, entry.existenceSeq)) return this.#reject('existence', 'older-than-row');
    if (!isAbsenceBelieved(this.#deps.mutations.existence.get(key), stamp.seq)) return this.#reject('existence', 'before-fence');
    const existed = entry.row !== undefined;
    this.endRow(entry, absence);
    return existed ? CHANGED : UNCHANGED;
  }

  /** Ends the row. The check happened before. */
  endRow(entry: Entry<V>, absence: Absence): void {
    const { store, mutations, emit } = this.#deps;
    const before = entry.row;
    store.end(entry, absence.stamp, absence.nowMs);
    mutations.existence.open(entry.key);
    mutations.fenced.open(entry.key);
    if (before !== undefined) emit({ kind: 'changed', key: entry.key, before, after: undefined });
  }

  /** Stores the tag in the answer to our own write. An answer without one makes the old tag invalid. */
  adoptEtag(key: string, etag: string | undefined, seq: number): void {
    const entry = this.#deps.store.get(key);
    if (entry?.row === undefined || seq < entry.etagSeq) return;
    entry.etagSeq = seq;
    this.#replace(entry, entry.row, { ...entry.row, etag });
  }

  #appear(observation: Observation<V>, known: Entry<V> | undefined, reading: Reading): Observed {
    const { store, mutations } = this.#deps;
    const { key } = observation;
    if (known !== undefined && reading.seq <= known.existenceSeq) return this.#reject('existence', 'resurrection');
    const fence = mutations.existence.get(key);
    const verdict = fence === undefined ? 'open' : checkPresence(fence, reading);
    if (verdict === 'in-flight') return this.#reject('existence', verdict);
    if (verdict === 'before-fence') return this.#reject('existence', known === undefined ? verdict : 'resurrection');
    const entry = known ?? store.create(key, observation.agentId);
    const row = this.#newRow(observation, observation.value, observation.etag);
    entry.restSeq = entry.fencedSeq = entry.existenceSeq = entry.etagSeq = reading.seq;
    this.#see(entry, observation);
    store.put(entry, row);
    this.#deps.emit({ kind: 'changed', key, before: undefined, after: row });
    if (reading.seq >= (mutations.fenced.get(key)?.minSeq ?? 0)) mutations.fenced.open(key);
    if (fence !== undefined && verdict === 'open') this.#openExistence(fence);
    if (verdict === 'hold') return this.#hold(entry, reading);
    return CHANGED;
  }

  #update(at: Located<V>): Observed {
    const { entry, observation, reading } = at;
    const rejected: Rejection[] = [];
    const present = this.#judgePresence(entry, reading, rejected);
    const rest = reading.seq >= entry.restSeq;
    if (!rest) rejected.push({ group: 'rest', reason: 'older-than-row' });
    const number = this.#judgeNumber(at, rejected);
    const changed = this.#write(at, { rest, number });
    if (rest) entry.restSeq = reading.seq;
    if (number) entry.fencedSeq = reading.seq;
    const decisive = present && (this.#deps.definition.fenced === undefined ? rest : number);
    if (decisive) this.#see(entry, observation);
    if (rejected.length === 0) return changed ? CHANGED : UNCHANGED;
    for (const reason of new Set(rejected.map((one) => one.reason))) this.#deps.rejected(reason);
    return { changed, rejected };
  }

  /** True if the read may show that the row exists. */
  #judgePresence(entry: Entry<V>, reading: Reading, rejected: Rejection[]): boolean {
    if (reading.seq < entry.existenceSeq) return false;
    const fence = this.#deps.mutations.existence.get(entry.key);
    const verdict = fence === undefined ? 'open' : checkPresence(fence, reading);
    if (verdict === 'before-fence' || verdict === 'in-flight' || verdict === 'hold') {
      rejected.push({ group: 'existence', reason: verdict === 'hold' ? 'contradicts-expectation' : verdict });
      if (verdict === 'hold' && reading.via === 'list') this.#deps.requestRefresh(entry);
      return false;
    }
    entry.existenceSeq = reading.seq;
    if (fence !== undefined && verdict === 'open') this.#openExistence(fence);
    return true;
  }

  /** True if the observed number becomes the base. */
  #judgeNumber(at: Located<V>, rejected: Rejection[]): boolean {
    const { entry, row, observation, reading } = at;
    const { fenced } = this.#deps.definition;
    if (fenced === undefined) return false;
    if (reading.seq < entry.fencedSeq) {
      rejected.push({ group: 'fenced', reason: 'older-than-row' });
      return false;
    }
    const base = fenced.read(row.value);
    const amount = fenced.read(observation.value);
    const { mutations } = this.#deps;
    const fence = mutations.fenced.get(row.key);
    if (fence === undefined) {
      if (amount !== base) this.#deps.emit({ kind: 'external-change', key: row.key, from: base, to: amount });
      return true;
    }
    const verdict = checkNumber(fence, amount, { base, etag: row.etag }, reading);
    if (verdict === 'open' || verdict === 'absorb') {
      this.#believe(fence, { verdict, base, amount });
      return true;
    }
    rejected.push({ group: 'fenced', reason: verdict });
    if (isGlimpse(fence, reading)) {
      fence.glimpse = { seq: reading.seq, amount };
      mutations.touched();
    }
    if (verdict === 'contradicts-expectation') this.#deps.requestRefresh(entry);
    return false;
  }

  #believe(fence: Fence, read: { readonly verdict: 'open' | 'absorb'; readonly base: number; readonly amount: number }): void {
    const { emit, mutations } = this.#deps;
    const { key, expect } = fence;
    if (read.verdict === 'absorb') {
      const from = rangeOf(read.base, fence.changes).high;
      mutations.fenced.absorb(key);
      if (from !== read.amount) emit({ kind: 'external-change', key, from, to: read.amount });
      return;
    }
    mutations.fenced.open(key);
    if (expect !== undefined && expect !== read.amount) emit({ kind: 'not-applied', key, expected: expect, actual: read.amount });
    this.#deps.mutations.touched();
  }

  #openExistence(fence: Fence): void {
    this.#deps.mutations.existence.open(fence.key);
    if (fence.expect === 'gone') this.#deps.emit({ kind: 'not-applied', key: fence.key, expected: 'gone', actual: 'present' });
    this.#deps.mutations.touched();
  }

  #hold(entry: Entry<V>, reading: Reading): Observed {
    if (reading.via === 'list') this.#deps.requestRefresh(entry);
    this.#deps.rejected('contradicts-expectation');
    return { changed: true, rejected: [{ group: 'existence', reason: 'contradicts-expectation' }] };
  }

  /** Writes the accepted groups. A value with the same meaning keeps its identity. */
  #write(at: Located<V>, accepted: { readonly rest: boolean; readonly number: boolean }): boolean {
    const { entry, row, observation, reading } = at;
    if (!accepted.rest && !accepted.number) return false;
    const { definition } = this.#deps;
    const merged = mergeValue(definition, { old: row.value, seen: observation.value, ...accepted });
    const value = definition.equal(row.value, merged) ? row.value : merged;
    const tagged = definition.fenced === undefined ? accepted.rest : accepted.number;
    let etag = row.etag;
    if (tagged && reading.seq >= entry.etagSeq) {
      if (observation.etag !== undefined) etag = observation.etag;
      else if (value !== row.value) etag = undefined;
      entry.etagSeq = reading.seq;
    }
    return this.#replace(entry, row, this.#newRow(observation, value, etag));
  }

  #replace(entry: Entry<V>, before: Row<V>, after: Row<V>): boolean {
    const same =
      before.value === after.value && before.etag === after.etag && before.scope === after.scope && before.agentId === after.agentId;
    if (same) return false;
    this.#deps.store.put(entry, Object.freeze(after));
    this.#deps.emit({ kind: 'changed', key: entry.key, before, after });
    return true;
  }

  #newRow(observation: Observation<V>, value: V, etag: string | undefined): Row<V> {
    const { key } = observation;
    const scope = this.#deps.definition.scopeOf(key, value);
    return Object.freeze({ key, scope, agentId: observation.agentId, value, etag });
  }

  #see(entry: Entry<V>, observation: Observation<V>): void {
    entry.via = observation.via;
    entry.atMs = observation.stamp.seq > entry.distrustSeq ? observation.stamp.atMs : entry.atMs;
  }

  #reject(group: FieldGroup, reason: RejectReason): Observed {
    this.#deps.rejected(reason);
    return { changed: false, rejected: [{ group, reason }] };
  }
}

interface Located<V> {
  readonly entry: Entry<V>;
  readonly row: Row<V>;
  readonly observation: Observation<V>;
  readonly reading: Reading;
}

function mergeValue<V>(
  definition: TableDefinition<V>,
  parts: { readonly old: V; readonly seen: V; readonly rest: boolean; readonly number: boolean },
): V {
  const { fenced } = definition;
  if (fenced === undefined || parts.rest === parts.number) return parts.seen;
  return parts.rest ? fenced.write(parts.seen, fenced.read(parts.old)) : fenced.write(parts.old, fenced.read(parts.seen));
}
