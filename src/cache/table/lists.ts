import type { Stamp } from '../logical-clock.ts';
import { isAbsenceBelieved, removalOf, type FenceBook } from './fences.ts';
import type { Entry } from './row-store.ts';
import type { ListCommit, ListedRow, ListResult } from './row.ts';

interface ListRecord {
  readonly firstSeq: number;
  /** Start of the last complete, believed list. */
  readonly atMs: number | undefined;
  readonly doubted: boolean;
}

/** Identifies a list of a table: one agent's, of all its rows ('') or of one scope. */
interface ListName {
  readonly agentId: string;
  readonly scope: string | undefined;
}

/** The lists of a table: their order, their age, and whether the last one was doubted. */
export class ListLedger {
  readonly #lists = new Map<string, Map<string, ListRecord>>();
  #distrustSeq = 0;

  /** True if a list that began later was committed before. */
  isOld(name: ListName, first: Stamp): boolean {
    const record = this.#get(name);
    return record !== undefined && first.seq < record.firstSeq;
  }

  wasDoubted(name: ListName): boolean {
    return this.#get(name)?.doubted ?? false;
  }

  atMs(name: ListName): number | undefined {
    return this.#get(name)?.atMs;
  }

  /** `believed`: complete and not doubted. Only such a list makes the rows fresh. */
  remember(name: ListName, first: Stamp, outcome: { readonly believed: boolean; readonly doubted: boolean }): void {
    const byScope = this.#lists.get(name.agentId) ?? new Map<string, ListRecord>();
    const scope = name.scope ?? '';
    const trusted = first.seq > this.#distrustSeq ? first.atMs : Number.NEGATIVE_INFINITY;
    const atMs = outcome.believed ? trusted : byScope.get(scope)?.atMs;
    this.#lists.set(name.agentId, byScope.set(scope, { firstSeq: first.seq, atMs, doubted: outcome.doubted }));
  }

  /** Lists that began before `seq` no longer count as fresh. */
  distrust(scope: string | undefined, seq: number): void {
    this.#distrustSeq = seq;
    for (const byScope of this.#lists.values()) {
      for (const [name, record] of byScope) {
        const covered = scope === undefined || name === '' || name === scope;
        if (covered && record.atMs !== undefined) byScope.set(name, { ...record, atMs: Number.NEGATIVE_INFINITY });
      }
    }
  }

  forgetAllBut(agentIds: ReadonlySet<string>): void {
    for (const agentId of this.#lists.keys()) if (!agentIds.has(agentId)) this.#lists.delete(agentId);
  }

  #get(name: ListName): ListRecord | undefined {
    return this.#lists.get(name.agentId)?.get(name.scope ?? '');
  }
}

/** A loss is doubted only among more rows than this. */
const SMALL = 5;

interface AbsenceQuestion<V> {
  readonly entries: Iterable<Entry<V>>;
  readonly listed: ReadonlySet<string> | ReadonlyMap<string, unknown>;
  readonly scope: string | undefined;
  /** That of the list's first page. */
  readonly seq: number;
  readonly fences: FenceBook;
}

interface AbsencePlan<V> {
  readonly gone: readonly Entry<V>[];
  /** Ended before, and missing in this list too. */
  readonly omittedAgain: readonly Entry<V>[];
  /** Whether more than half of more than five rows would be removed that no change of ours removes. */
  readonly doubtful: boolean;
}

/** Decides about the rows that the complete list of an authoritative agent lacks. Pure. */
export function planAbsence<V>(question: AbsenceQuestion<V>): AbsencePlan<V> {
  const found: Record<Fate, Entry<V>[]> = { ignored: [], stays: [], kept: [], gone: [], 'gone-by-us': [], 'omitted-again': [] };
  for (const entry of question.entries) {
    if (question.scope === undefined || entry.scope === question.scope) found[fateOf(entry, question)].push(entry);
  }
  // A row that we are removing counts neither as a surprise if it is gone nor as evidence if it stays.
  const rows = found.stays.length + found.kept.length + found.gone.length;
  return {
    gone: [...found.gone, ...found['gone-by-us']],
    omittedAgain: found['omitted-again'],
    // guard: a list that would remove most rows is doubted once
    doubtful: rows > SMALL && found.gone.length * 2 > rows,
  };
}

/** `kept`: not listed, but read or changed after the list began. */
type Fate = 'ignored' | 'stays' | 'kept' | 'gone' | 'gone-by-us' | 'omitted-again';

function fateOf<V>(entry: Entry<V>, question: AbsenceQuestion<V>): Fate {
  const { listed, seq, fences } = question;
  const fence = fences.get(entry.key);
  const ours = fence !== undefined && removalOf(fence) !== 'none';
  if (entry.row === undefined) return !listed.has(entry.key) && seq > entry.existenceSeq ? 'omitted-again' : 'ignored';
  if (listed.has(entry.key)) return ours ? 'ignored' : 'stays';
  if (Math.max(entry.restSeq, entry.fencedSeq, entry.existenceSeq) >= seq) return 'kept';
  if (!isAbsenceBelieved(fence, seq)) return 'kept';
  return ours ? 'gone-by-us' : 'gone';
}

/** A row as listed, and when its page was requested. */
export interface Located<V> {
  readonly row: ListedRow<V>;
  readonly stamp: Stamp;
}

/** A key listed twice counts once, and the later page wins. */
export function lastOfEach<V>(list: ListResult<V>): { readonly rows: ReadonlyMap<string, Located<V>>; readonly duplicates: number } {
  const rows = new Map<string, Located<V>>();
  let total = 0;
  for (const page of list.pages) {
    total += page.rows.length;
    for (const row of page.rows) rows.set(row.key, { row, stamp: page.stamp });
  }
  return { rows, duplicates: total - rows.size };
}

/** The result for a list without pages, or one that is older than another. */
export function nothingCommitted(dropped: 'older-list' | undefined): ListCommit {
  return { dropped, added: 0, changed: 0, evicted: 0, rejected: 0, duplicates: 0, listAgain: false };
}
