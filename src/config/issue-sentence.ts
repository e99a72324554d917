/** One mistake in a document as one sentence: the object, the field, what it is and what is accepted. */
import type * as z from 'zod';
import { AutoscalerError } from '../domain/errors.ts';

/** @throws AutoscalerError `config` with the sentence of the first issue, always. */
export function refuse(subject: string, value: unknown, issues: readonly z.core.$ZodIssue[]): never {
  const issue = issues[0];
  const path = (issue?.path ?? []).map(String);
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  if (unknown !== undefined) throw new AutoscalerError({ kind: 'config' }, `${subject}: ${fieldOf([...path, unknown])} is not known.`);
  const given = valueAt(value, path);
  const is = given === undefined ? 'is missing' : `is ${shorten(JSON.stringify(given) ?? 'unreadable')}`;
  throw new AutoscalerError({ kind: 'config' }, `${subject}: ${fieldOf(path)} ${is}; accepted is ${issue?.message ?? 'something else'}.`);
}

function fieldOf(path: readonly string[]): string {
  const text = path.reduce((before, part) => (/^\d+$/.test(part) ? `${before}[${part}]` : before === '' ? part : `${before}.${part}`), '');
  return text === '' ? 'it' : text;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((above, part) => (typeof above === 'object' && above !== null ? Reflect.get(above, part) : undefined), value);
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
