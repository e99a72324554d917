/**
 * The notation by which objects depend on a chart's values, and its first reading: with the values filled in. The second
 * reading, as Helm's expressions, is in helm-text.ts. Tests compare the two.
 */
import { createHash } from 'node:crypto';
import { LIVE_SECTIONS, RESTART_KEYS } from '../src/config/live-keys.ts';
import { stringify } from 'yaml';

export type Json = string | number | boolean | null | readonly Json[] | JsonMap;
export type JsonMap = { readonly [key: string]: Json };

/** True in Helm's sense: not empty, not zero, not false. A string is a path below `.Values`. */
export type Condition =
  | string
  | { readonly any: readonly Condition[] }
  | { readonly all: readonly Condition[] }
  | { readonly not: Condition }
  /** The path has a value, zero and the empty map included. */
  | { readonly set: string };

/** Further items of a list that a path alone cannot express: once for Helm, and once for the plain values. */
export interface Lines {
  readonly helm: readonly string[];
  readonly plain: (values: JsonMap) => readonly Json[];
}

/** A place in an object that depends on a value of the chart. Paths are dotted, below `.Values`. */
export interface Notation {
  readonly name: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly image: string;
  readonly checksum: string;
  /** A string, a number or a boolean. */
  value(path: string): Json;
  /** The same, with a default for an absent value. Zero is a value. */
  valueOr(path: string, byDefault: number): Json;
  /** The same as a string, from the first path that has a value. Environment variables need strings. */
  asText(...paths: readonly string[]): Json;
  /** A string or a number inside another string. */
  inline(path: string): string;
  /** The text at a path, or the release's namespace. */
  orNamespace(path: string): Json;
  /** A map or a list; omitted if it is empty. */
  block(path: string): Json;
  /** A map as the text of a file. */
  text(path: string): Json;
  /** The same, with a default that a user's map replaces as a whole. Helm would merge a default of values.yaml into it. */
  blockOr(path: string, byDefault: JsonMap): Json;
  /** Whole objects of the user's own. */
  documents(path: string): readonly Json[];
  /** Values that make no valid object. Both readings end with the sentence. */
  refuse(condition: Condition, sentence: string): readonly Json[];
  /** Further items of a list. */
  more(path: string): readonly Json[];
  lines(lines: Lines): readonly Json[];
  /** Further entries of a map. If several paths have the same key, the last one's value is taken. */
  entries(...paths: readonly string[]): JsonMap;
  /** A property, an item of a list or a whole object that is present only under a condition. */
  when(condition: Condition, body: Json): Json;
  /** Text that Helm must not interpret. */
  literal(json: Json): Json;
}

/** Placeholder for an absent value; it is dropped from maps and lists. */
const ABSENT = '@absent';

export interface Release {
  readonly name: string;
  readonly namespace: string;
  readonly version: string;
}

export function plainNotation(values: JsonMap, release: Release): Notation {
  const at = (path: string): Json => path.split('.').reduce<Json>((value, key) => member(value, key), values);
  const text = (path: string): string => {
    const value = at(path);
    if (typeof value !== 'string') throw new Error(`${path} is not a string`);
    return value;
  };
  const name = text('fullnameOverride') || partName(release.name, text('nameOverride'));
  return {
    name,
    namespace: release.namespace,
    serviceAccount: text('rbac.serviceAccount.name') || name,
    image: `${text('image.repository')}${text('image.digest') ? `@${text('image.digest')}` : `:${text('image.tag') || release.version}`}`,
    checksum: createHash('sha256')
      .update(JSON.stringify(whatRestarts(at('config'))))
      .digest('hex'),
    value: at,
    valueOr: (path, byDefault) => at(path) ?? byDefault,
    asText: (...paths) => plainly(paths.map(at).find(isTruthy) ?? ''),
    inline: (path) => plainly(at(path)),
    orNamespace: (path) => text(path) || release.namespace,
    block: (path) => (isTruthy(at(path)) ? at(path) : ABSENT),
    blockOr: (path, byDefault) => (at(path) === null ? byDefault : isTruthy(at(path)) ? at(path) : ABSENT),
    refuse: (condition, sentence) => {
      if (holds(condition, at)) throw new Error(sentence);
      return [];
    },
    documents: (path) => (at(path) ?? []) as readonly Json[],
    text: (path) => textOf(at(path)),
    more: (path) => (at(path) ?? []) as readonly Json[],
    lines: ({ plain }) => plain(values),
    entries: (...paths) => Object.fromEntries(paths.flatMap((path) => Object.entries((at(path) ?? {}) as JsonMap))),
    when: (condition, body) => (holds(condition, at) ? body : ABSENT),
    literal: (json) => json,
  };
}

/** The name of a release with the user's own part, as the charts of this ecosystem make it. */
function partName(release: string, part: string): string {
  return part === '' || release.includes(part) ? release : `${release}-${part}`;
}

/** The part of the configuration that needs a restart. Only a change of it replaces the pods. */
function whatRestarts(config: Json): Json {
  const sections = Object.entries(config as JsonMap).filter(([section]) => !LIVE_SECTIONS.some((live) => live === section));
  return Object.fromEntries(
    sections.map(([section, value]) => {
      if (section !== 'scaleUp' && section !== 'cluster') return [section, value];
      const kept = Object.entries((value ?? {}) as JsonMap).filter(([key]) => RESTART_KEYS[section].some((waits) => waits === key));
      return [section, Object.fromEntries(kept)];
    }),
  );
}

/** A string unchanged, everything else as JSON. */
export function plainly(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : stringify(value, { lineWidth: 0 });
}

function holds(condition: Condition, at: (path: string) => Json): boolean {
  if (typeof condition === 'string') return isTruthy(at(condition));
  if ('any' in condition) return condition.any.some((part) => holds(part, at));
  if ('all' in condition) return condition.all.every((part) => holds(part, at));
  if ('set' in condition) return at(condition.set) !== null;
  return !holds(condition.not, at);
}

function isTruthy(value: Json): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function member(value: Json, key: string): Json {
  // A user's null removes the whole map; what depends on its keys is then not written.
  if (value === null) return null;
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`the values have no ${key}`);
  const found = (value as JsonMap)[key];
  if (found === undefined) throw new Error(`the values have no ${key}`);
  return found;
}

/** The value without its absent parts. */
function present(json: Json): Json {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.filter((item) => item !== ABSENT).map(present);
  return Object.fromEntries(
    Object.entries(json)
      .filter(([, value]) => value !== ABSENT)
      .map(([key, value]) => [key, present(value)]),
  );
}

/** Several objects as one YAML text. */
export function plainText(objects: readonly Json[]): string {
  const there = present(objects) as readonly Json[];
  return there.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
}

/** Merges values in Helm's way: maps are merged, everything else is replaced, and null removes a value. */
export function mergedValues(base: JsonMap, given: JsonMap): JsonMap {
  const merged: Record<string, Json> = { ...base };
  for (const [key, value] of Object.entries(given)) {
    const before = merged[key];
    merged[key] = isMap(before) && isMap(value) ? mergedValues(before, value) : value;
  }
  return merged;
}

function isMap(value: Json | undefined): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
