/** Past decisions and the changes of other writers in one list, the newest first; searchable. */
import type { CapacityChange, HistoryReader, StoredDecision } from '../../domain/history.ts';
import { defined } from '../../lib/defined.ts';
import { isoTime } from '../../lib/duration.ts';

export interface DecisionRow {
  /** `explain decision ID` and `/api/v1/decisions/ID` accept it, unless `kind` is `other-writer` or `eviction`. */
  readonly id: string;
  readonly at: string;
  readonly kind: StoredDecision['kind'] | 'failed' | 'other-writer' | 'eviction';
  readonly sentence: string;
  readonly pools: readonly string[];
  /** The file that `replay` reads. */
  readonly dumpFile?: string;
}

export interface DecisionsDocument {
  readonly items: readonly DecisionRow[];
  readonly knownSince: string;
  /** Passed as `cursor` it returns older ones. */
  readonly next?: string;
}

export interface DecisionQuery {
  readonly q?: string | undefined;
  readonly fromMs?: number | undefined;
  /** Only older ones than this, milliseconds since the epoch. */
  readonly beforeMs?: number | undefined;
}

const PAGE = 100;
/** Of the history: rows of later pages are among them. */
const MOST = 5_000;

export function decisionRows(history: HistoryReader, { q, fromMs, beforeMs = Number.POSITIVE_INFINITY }: DecisionQuery): DecisionsDocument {
  const text = q === undefined || q === '' ? undefined : q;
  const own = history.decisions({ limit: MOST, ...defined({ text, fromMs }) }).map(rowOf);
  const others = history
    .changes(defined({ fromMs }))
    .filter(isForeignOrFailed)
    .map(changeRow)
    .filter((row) => matches(row, text));
  const all = [...own, ...others]
    .filter(({ at }) => Date.parse(at) < beforeMs)
    .sort((left, right) => (left.at < right.at ? 1 : left.at > right.at ? -1 : 0));
  const items = all.slice(0, PAGE);
  const last = items.at(-1);
  return {
    items,
    knownSince: isoTime(history.sinceMs),
    ...(all.length > PAGE && last !== undefined ? { next: String(Date.parse(last.at)) } : {}),
  };
}

function rowOf({ id, atMs, kind, sentence, groups, dumpFile }: StoredDecision): DecisionRow {
  return { id, at: isoTime(atMs), kind, sentence, pools: groups, ...defined({ dumpFile }) };
}

function isForeignOrFailed({ actor, outcome }: CapacityChange): boolean {
  return actor !== 'autoscaler' || outcome === 'failed' || outcome === 'refused';
}

const ACTORS = { autoscaler: 'autoscaler', eviction: 'Azure', aks: 'AKS', 'another-writer': 'another writer' } as const;

function changeRow({ atMs, group, from, to, actor, actorName, why, decision }: CapacityChange): DecisionRow {
  const by = actorName ?? ACTORS[actor];
  const isOwn = actor === 'autoscaler';
  const sentence = isOwn
    ? `${group} ${from} to ${to} failed: ${why.replace(/^failed: /, '')}.`
    : `${group} ${from} to ${to} by ${by}: ${why}.`;
  const kind = isOwn ? 'failed' : actor === 'eviction' ? 'eviction' : 'other-writer';
  return { id: decision ?? `${group}@${atMs}`, at: isoTime(atMs), kind, sentence, pools: [group] };
}

function matches({ sentence }: DecisionRow, text: string | undefined): boolean {
  return text === undefined || sentence.toLowerCase().includes(text.toLowerCase());
}
