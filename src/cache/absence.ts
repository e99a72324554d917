import { judgeAbsence, removalOf, type Reading } from './fence.ts';
import type { FenceBook } from './fence-book.ts';
import type { Entry } from './row-store.ts';

/** Only a loss among more rows than this is doubted. */
const SMALL = 5;

export interface AbsenceQuestion<V> {
  readonly entries: Iterable<Entry<V>>;
  readonly listed: ReadonlySet<string> | ReadonlyMap<string, unknown>;
  readonly scope: string | undefined;
  /** The list as a reading: `seq` of its first page. */
  readonly reading: Reading;
  readonly fences: FenceBook;
}

export interface AbsencePlan<V> {
  readonly gone: readonly Entry<V>[];
  /** Kept, though a read should tell: a create that succeeded is not listed yet. */
  readonly missed: readonly Entry<V>[];
  /** Ended before, and left out once more by this list. */
  readonly omittedAgain: readonly Entry<V>[];
  /** More than half of more than five rows would go that nobody here removed. */
  readonly doubtful: boolean;
}

/** Says what the complete list of an authoritative agent makes of the rows it does not have. Pure. */
export function planAbsence<V>(question: AbsenceQuestion<V>): AbsencePlan<V> {
  const found: Record<Fate, Entry<V>[]> = { ignored: [], stays: [], kept: [], missed: [], gone: [], 'gone-by-us': [], 'omitted-again': [] };
  for (const entry of question.entries) {
    if (question.scope === undefined || entry.scope === question.scope) found[fateOf(entry, question)].push(entry);
  }
  // What we are removing ourselves is neither a surprise when it goes nor a witness when it stays.
  const rows = found.stays.length + found.kept.length + found.missed.length + found.gone.length;
  return {
    gone: [...found.gone, ...found['gone-by-us']],
    missed: found.missed,
    omittedAgain: found['omitted-again'],
    doubtful: rows > SMALL && found.gone.length * 2 > rows,
  };
}

/** `kept`: not listed, but learned or changed later than the list began. */
type Fate = 'ignored' | 'stays' | 'kept' | 'missed' | 'gone' | 'gone-by-us' | 'omitted-again';

function fateOf<V>(entry: Entry<V>, question: AbsenceQuestion<V>): Fate {
  const { listed, reading, fences } = question;
  const fence = fences.get(entry.key);
  const ours = fence !== undefined && removalOf(fence) !== 'none';
  if (entry.row === undefined) return !listed.has(entry.key) && reading.seq > entry.existenceSeq ? 'omitted-again' : 'ignored';
  if (listed.has(entry.key)) return ours ? 'ignored' : 'stays';
  if (Math.max(entry.restSeq, entry.fencedSeq, entry.existenceSeq) >= reading.seq) return 'kept';
  if (fence === undefined) return 'gone';
  if (judgeAbsence(fence, reading) === 'keep') return reading.seq >= fence.minSeq ? 'missed' : 'kept';
  return ours ? 'gone-by-us' : 'gone';
}
