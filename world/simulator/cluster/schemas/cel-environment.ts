/**
 * The Common Expression Language as rules of custom kinds use it: values by their schema, and the functions that Kubernetes adds (kubernetes.io,
 * "Common Expression Language in Kubernetes"). Must not know what a rule's result means.
 */
import { Environment } from '@marcbachmann/cel-js';
import { isRecord, sameJson } from '../store/patches.ts';
import type { JsonSchema } from './json-schema.ts';

/** Values that expressions compare, in either direction. */
type Comparable = bigint | number | string;

const ENVIRONMENT = withFunctions(
  new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
    .registerVariable('self', 'dyn')
    .registerVariable('oldSelf', 'dyn')
    .registerVariable('text', 'string'),
);
const DURATION = ENVIRONMENT.parse('duration(text)');
const SOME = ENVIRONMENT.parse('optional.of(self)');
const NONE = ENVIRONMENT.parse('optional.none()');

/** Libraries of Kubernetes that are not here: a rule with one of them is not evaluated. */
const MISSING = /\b(url|isURL|ip|isIP|ip\.isCanonical|cidr|isCIDR|quantity|isQuantity|semver|isSemver|format|jsonpatch)\s*[.(]/;

export interface Expression {
  readonly evaluate: (variables: Readonly<Record<string, unknown>>) => unknown;
  readonly usesOldSelf: boolean;
}

const compiled = new Map<string, Expression | string>();

/** An expression, or why the text is not one, in the words of the library. */
export function compile(text: string): Expression | string {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const result = parse(text);
  compiled.set(text, result);
  return result;
}

function parse(text: string): Expression | string {
  try {
    const program = ENVIRONMENT.parse(text);
    const checked = program.check();
    if (!checked.valid) return firstLine(checked.error);
    return { evaluate: (variables) => program(variables) as unknown, usesOldSelf: /\boldSelf\b/.test(text) };
  } catch (error) {
    return firstLine(error);
  }
}

export function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

/** A function without "format" as a method: formats of text are here, `format.` with named formats is not. */
export function missingLibrary(text: string): string | undefined {
  const found = MISSING.exec(text.replaceAll('.format(', ' '));
  return found?.[1];
}

export function optional(value: unknown): unknown {
  return value === undefined ? NONE({}) : SOME({ self: value });
}

const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);
const SYMBOLS: Readonly<Record<string, string>> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' };

/** The name of a field in an expression. undefined: no expression can name it. */
function fieldName(name: string): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_.\-/]*$/.test(name)) return undefined;
  return RESERVED.has(name) ? `__${name}__` : name.replaceAll(/__|[.\-/]/g, (symbol) => SYMBOLS[symbol] ?? symbol);
}

const IDENTITY: JsonSchema = { type: 'object', properties: { name: { type: 'string' }, generateName: { type: 'string' } } };

/** The value as its schema types it. Of an object, expressions see the fields of the schema only; of the root, also its identity. */
export function celValue(json: JsonSchema, value: unknown, isRoot = false): unknown {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.map((item: unknown) => celValue(json.items ?? {}, item));
  if (isRecord(value)) return objectValue(json, value, isRoot);
  if (typeof value === 'number') return json.type === 'number' ? value : BigInt(Math.trunc(value));
  return typeof value === 'string' ? textValue(json, value) : value;
}

function objectValue(json: JsonSchema, value: Readonly<Record<string, unknown>>, isRoot: boolean): unknown {
  const { additionalProperties: rest, properties = {} } = json;
  if (isRecord(rest)) return new Map(Object.entries(value).map(([key, item]) => [key, celValue(rest as JsonSchema, item)]));
  const text: JsonSchema = { type: 'string' };
  const isResource = isRoot || json['x-kubernetes-embedded-resource'] === true;
  const all = isResource
    ? { apiVersion: text, kind: text, ...properties, metadata: { ...IDENTITY, ...properties['metadata'] } }
    : properties;
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, of]): readonly (readonly [string, unknown])[] => {
      const field = fieldName(name);
      return field === undefined || value[name] === undefined ? [] : [[field, celValue(of, value[name])]];
    }),
  );
}

function textValue({ type, format }: JsonSchema, value: string): unknown {
  if (type !== 'string') return value;
  if (format === 'date-time' || format === 'date') return new Date(value);
  if (format === 'byte') return new Uint8Array(Buffer.from(value, 'base64'));
  return format === 'duration' ? DURATION({ text: value }) : value;
}

function order(left: Comparable, right: Comparable): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function extreme(list: readonly Comparable[], sign: 1 | -1): Comparable {
  const [first, ...rest] = list;
  if (first === undefined) throw new Error(`${sign < 0 ? 'min' : 'max'} called on empty list`);
  return rest.reduce((best, item) => (order(item, best) * sign > 0 ? item : best), first);
}

function sum(list: readonly (bigint | number)[]): bigint | number {
  return list.reduce<bigint | number>((total, item) => (typeof item === 'bigint' ? BigInt(total) + item : Number(total) + item), 0n);
}

/** Same content; numbers of an expression have no form in JSON. */
function same(left: unknown, right: unknown): boolean {
  const plain = (value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);
  return sameJson(plain(left), plain(right));
}

/** `%s`, `%d` and their like, as far as messages need them. */
function format(text: string, values: readonly unknown[]): string {
  const left = [...values];
  return text.replaceAll(/%(\.\d+)?([sdfexXob%])/g, (_all, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%';
    const value = left.shift();
    if (verb === 'f') return Number(value).toFixed(precision === undefined ? 6 : Number(precision.slice(1)));
    const radix = { x: 16, X: 16, o: 8, b: 2 }[verb];
    if (radix === undefined) return wordsOf(value);
    const digits = (value as bigint).toString(radix);
    return verb === 'X' ? digits.toUpperCase() : digits;
  });
}

function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(wordsOf).join(', ')}]`;
  if (value instanceof Map) return `{${[...value].map(([key, item]) => `${wordsOf(key)}: ${wordsOf(item)}`).join(', ')}}`;
  return value instanceof Date ? value.toISOString() : String(value);
}

/** The libraries of Kubernetes for lists, regular expressions and texts. */
function withFunctions(environment: Environment): Environment {
  return environment
    .registerFunction('list.isSorted(): bool', (list: readonly Comparable[]) =>
      list.every((item, index) => index === 0 || order(list[index - 1] ?? item, item) <= 0),
    )
    .registerFunction('list.sum(): dyn', (list: readonly (bigint | number)[]) => sum(list))
    .registerFunction('list.min(): dyn', (list: readonly Comparable[]) => extreme(list, -1))
    .registerFunction('list.max(): dyn', (list: readonly Comparable[]) => extreme(list, 1))
    .registerFunction('list.indexOf(dyn): int', (list: readonly unknown[], wanted: unknown) =>
      BigInt(list.findIndex((item) => same(item, wanted))),
    )
    .registerFunction('list.lastIndexOf(dyn): int', (list: readonly unknown[], wanted: unknown) =>
      BigInt(list.findLastIndex((item) => same(item, wanted))),
    )
    .registerFunction('string.find(string): string', (text: string, pattern: string) => new RegExp(pattern).exec(text)?.[0] ?? '')
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) => text.match(new RegExp(pattern, 'g')) ?? [])
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) => text.replaceAll(from, () => to))
    .registerFunction('string.charAt(int): string', (text: string, at: bigint) => text.charAt(Number(at)))
    .registerFunction('string.format(list): string', (text: string, values: readonly unknown[]) => format(text, values));
}
