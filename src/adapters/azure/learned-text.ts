/**
 * Learned templates as a text for the next process, and back. Whatever is not exactly what an earlier process wrote is not
 * believed: a plan made from an edited record would be made on somebody's guess. Pure.
 */
import { stableHash } from '../../domain/random.ts';
import { isRecord } from './arm-body.ts';
import type { LearnedTemplate } from './learned-templates.ts';

const VERSION = 1;
/** A ConfigMap holds 1 MiB with everything that is around its data. */
const MOST_BYTES = 900_000;

/** Groups that were learned last come first, and the text ends where its place does. */
export function writeLearned(records: ReadonlyMap<string, LearnedTemplate>): string {
  const newest = [...records].sort(
    ([leftKey, left], [rightKey, right]) => right.learnedAtMs - left.learnedAtMs || (leftKey < rightKey ? -1 : 1),
  );
  const groups: Record<string, LearnedTemplate> = {};
  let left = MOST_BYTES;
  for (const [key, record] of newest) {
    left -= Buffer.byteLength(JSON.stringify([key, record]));
    if (left < 0) break;
    groups[key] = record;
  }
  return JSON.stringify({ version: VERSION, sum: sumOf(groups), groups });
}

export type ReadLearned =
  | { readonly ok: true; readonly records: ReadonlyMap<string, LearnedTemplate> }
  /** Why the text is not believed, as a sentence. */
  | { readonly ok: false; readonly reason: string };

export function readLearned(text: string): ReadLearned {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { ok: false, reason: 'it is not JSON' };
  }
  if (!isRecord(parsed)) return { ok: false, reason: 'it is not an object' };
  if (parsed['version'] !== VERSION) return { ok: false, reason: `it is of version ${JSON.stringify(parsed['version'])}, not ${VERSION}` };
  const groups = parsed['groups'];
  if (!isRecord(groups)) return { ok: false, reason: 'it has no groups' };
  if (parsed['sum'] !== sumOf(groups)) return { ok: false, reason: 'it was changed since it was written' };
  // What carries our sum is what we wrote, in this version's form.
  return { ok: true, records: new Map(Object.entries(groups as Readonly<Record<string, LearnedTemplate>>)) };
}

function sumOf(groups: object): string {
  return stableHash(JSON.stringify(groups)).toString(16).padStart(8, '0');
}
