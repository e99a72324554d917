/** Files that users pass to a command: YAML or JSON, one document or several, up to a maximum size. */
import type * as z from 'zod';
import { AutoscalerError, configError } from '../../lib/errors.ts';
import { readYaml } from './yaml-text.ts';

const MIB = 2 ** 20;
/** Windows writes it at the start of a text. */
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Returns every document of the text except empty ones. JSON is parsed as JSON, since it may be large.
 * @throws AutoscalerError `config` with one sentence when the text is too long or neither JSON nor YAML.
 */
export function readDocuments(file: string, text: string, maxMib: number): readonly unknown[] {
  if (text.length > maxMib * MIB) {
    throw documentError(`${file} is too large: ${Math.ceil(text.length / MIB)} MiB; the maximum is ${maxMib} MiB`);
  }
  const plain = text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
  const start = plain.trimStart()[0];
  return start === '{' || start === '[' ? readJson(file, plain) : yamlDocuments(file, plain);
}

function readJson(file: string, text: string): readonly unknown[] {
  try {
    return [JSON.parse(text)];
  } catch (cause) {
    return readFlow(text) ?? refuseJson(file, cause);
  }
}

/** YAML may start like JSON. Longer text is treated as broken JSON. Returns undefined if the text is neither. */
function readFlow(text: string): readonly unknown[] | undefined {
  if (text.length > MIB) return undefined;
  try {
    return yamlDocuments('', text);
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) return undefined;
    throw thrown;
  }
}

function refuseJson(file: string, cause: unknown): never {
  throw documentError(`${file} is not valid JSON: ${cause instanceof Error ? cause.message : 'it cannot be read'}`);
}

function yamlDocuments(file: string, text: string): readonly unknown[] {
  const outcome = readYaml(text);
  if ('problem' in outcome) throw documentError(`${file} ${outcome.problem}`);
  return outcome.documents.flatMap(({ content }) => (content === null || content === undefined ? [] : [content]));
}

function documentError(what: string): AutoscalerError {
  return configError(`${what.replace(/[:.]+$/, '')}.`);
}

/**
 * Reports the first issue of a document as one sentence: the object, the field, its value and what is accepted.
 * @throws AutoscalerError `config`, always.
 */
export function throwFirstIssue(subject: string, value: unknown, issues: readonly z.core.$ZodIssue[]): never {
  const issue = issues[0];
  const path = (issue?.path ?? []).map(String);
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  if (unknown !== undefined) throw configError(`${subject}: ${fieldOf([...path, unknown])} is not known.`);
  const given = valueAt(value, path);
  const is = given === undefined ? 'is missing' : `is ${shorten(JSON.stringify(given) ?? 'unreadable')}`;
  throw configError(`${subject}: ${fieldOf(path)} ${is}; it must be ${issue?.message ?? 'something else'}.`);
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
