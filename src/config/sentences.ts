/** From an issue of the schema to one sentence that names the key as the user wrote it, the value, and what is accepted. */
import type * as z from 'zod';
import { isDocument, type Document, type Merged, type Origin } from './layer.ts';
import { nearestName } from './nearest-name.ts';
import { knownKeys } from './known-keys.ts';
import { waysToSet } from './ways-to-set.ts';

type Issue = z.core.$ZodIssue;

export function sentencesOf(issues: readonly Issue[], merged: Merged): readonly string[] {
  const told = new Set<string>();
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...pathOf(issue), key], merged));
    const key = pathOf(issue).join('.');
    if (told.has(key)) return [];
    told.add(key);
    return [sentenceOf(issue, merged)];
  });
}

function pathOf(issue: Issue): readonly string[] {
  return issue.path.map(String);
}

function unknownKey(path: readonly string[], merged: Merged): string {
  const parent = path.slice(0, -1);
  const name = path.at(-1) ?? '';
  const key = dotted(path);
  const source = originBelow(path, merged)?.label;
  const nearest = nearestName(name, knownKeys(parent));
  const hint =
    nearest === undefined ? `accepted there is ${knownKeys(parent).join(', ')}.` : `did you mean ${dotted([...parent, nearest])}?`;
  const file = source === undefined ? '' : (/ of (.+)$/.exec(source)?.[1] ?? '');
  return `key ${key}${file === '' ? '' : ` of ${file}`} is not known; ${hint}`;
}

function sentenceOf(issue: Issue, merged: Merged): string {
  const path = pathOf(issue);
  const origin = originOf(path, merged);
  const value = valueAt(merged.document, path);
  const accepts = origin?.unread ?? acceptsOf(issue);
  if (value === undefined) return `${dotted(path)} is missing; accepted is ${accepts}${waysToSet(path)}.`;
  const isSecret = origin?.secret === true || /secret|password/i.test(path.at(-1) ?? '');
  const shown = isSecret ? 'not acceptable' : shownOf(origin?.written ?? value);
  return `${label(path, origin)} is ${shown}; accepted is ${accepts}.`;
}

/** JSON has no word for numbers that are none. */
function shownOf(value: unknown): string | undefined {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : JSON.stringify(value);
}

function acceptsOf(issue: Issue): string {
  return issue.code === 'invalid_type' && issue.expected === 'object' ? 'a map of settings' : issue.message;
}

/** The words of the source; inside a list, with the place in it. */
function label(path: readonly string[], origin: Origin | undefined): string {
  if (origin === undefined) return `key ${dotted(path)}`;
  const file = /^key \S+ of (.+)$/.exec(origin.label)?.[1];
  const isNested = file !== undefined && path.some((part) => /^\d+$/.test(part));
  return isNested ? `key ${dotted(path)} of ${file}` : origin.label;
}

function dotted(path: readonly string[]): string {
  return path.reduce((text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`), '');
}

/** The origin of the path itself or of the nearest thing above it. */
function originOf(path: readonly string[], merged: Merged): Origin | undefined {
  for (let length = path.length; length > 0; length--) {
    const origin = merged.origins.get(path.slice(0, length).join('.'));
    if (origin !== undefined) return origin;
  }
  return undefined;
}

function originBelow(path: readonly string[], merged: Merged): Origin | undefined {
  const key = path.join('.');
  return originOf(path, merged) ?? [...merged.origins].find(([known]) => known.startsWith(`${key}.`))?.[1];
}

function valueAt(document: Document, path: readonly string[]): unknown {
  let value: unknown = document;
  for (const part of path) {
    if (Array.isArray(value)) value = (value as readonly unknown[])[Number(part)];
    else if (isDocument(value) && Object.hasOwn(value, part)) value = value[part];
    else return undefined;
  }
  return value;
}
