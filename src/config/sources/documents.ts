/** Files that people hand to a command: YAML or JSON, one document or several, never bigger than what was asked for. */
import { parseAllDocuments } from 'yaml';
import type * as z from 'zod';
import { AutoscalerError } from '../../lib/errors.ts';

const MIB = 2 ** 20;
/** What Windows writes before a text. */
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Every document of the text; empty ones are left out. JSON is read as JSON: it may be large.
 * @throws AutoscalerError `config` with one sentence when the text is too long or neither JSON nor YAML.
 */
export function readDocuments(file: string, text: string, mostMib: number): readonly unknown[] {
  if (text.length > mostMib * MIB) {
    throw broken(`${file} is too large: ${Math.ceil(text.length / MIB)} MiB; accepted are ${mostMib} MiB at most`);
  }
  const plain = text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
  const start = plain.trimStart()[0];
  return start === '{' || start === '[' ? readJson(file, plain) : readYaml(file, plain);
}

function readJson(file: string, text: string): readonly unknown[] {
  try {
    return [JSON.parse(text)];
  } catch (cause) {
    return readFlow(text) ?? refuseJson(file, cause);
  }
}

/** YAML may begin like JSON. Nobody writes much of it so: what is longer is broken JSON. undefined: it is neither. */
function readFlow(text: string): readonly unknown[] | undefined {
  if (text.length > MIB) return undefined;
  try {
    return readYaml('', text);
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) return undefined;
    throw thrown;
  }
}

function refuseJson(file: string, cause: unknown): never {
  throw broken(`${file} is not valid JSON: ${cause instanceof Error ? cause.message : 'it cannot be read'}`);
}

function readYaml(file: string, text: string): readonly unknown[] {
  const documents = parseAllDocuments(text, { prettyErrors: true, logLevel: 'error' });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const mistake = document.errors[0];
    if (mistake !== undefined) throw broken(`${file} is neither valid YAML nor JSON: ${mistake.message.split('\n')[0] ?? ''}`);
    // A few lines of aliases can stand for gigabytes.
    const content: unknown = document.toJS({ maxAliasCount: 1000 });
    return content === null || content === undefined ? [] : [content];
  });
}

function broken(what: string): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, `${what.replace(/[:.]+$/, '')}.`);
}

// One mistake in a document as one sentence: the object, the field, what it is and what is accepted.

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
