/**
 * Values under their schema: which fields they have, how two of them merge and differ. Lists by keys and sets merge item by item, atomic lists
 * and maps are one field (kubernetes.io, "Server-Side Apply", merge strategy). Must not know managers.
 */
import { ANY, type FieldSchema, type Schema } from '../schemas/schema.ts';
import { isRecord, sameJson } from '../store/patches.ts';
import { keyText, pathKey, type FieldPath, type FieldSet } from './field-sets.ts';

/** One part of a value: a field, or an item. */
interface Part {
  readonly element: string;
  readonly schema: Schema;
  readonly value: unknown;
  /** Whether the part is a member of the set of fields even if it has parts itself. */
  readonly member: boolean;
}

/** The parts of a granular value; undefined for a value that is one field. */
function partsOf(schema: Schema, value: unknown): readonly Part[] | undefined {
  if (Array.isArray(value)) return itemsOf(schema, value);
  if (!isRecord(value)) return undefined;
  if ((schema.kind === 'struct' || schema.kind === 'map') && schema.atomic) return undefined;
  return Object.entries(value).flatMap(([name, item]) => {
    const of = fieldSchema(schema, name);
    const isEmpty = isRecord(item) && Object.keys(item).length === 0;
    return item === undefined ? [] : [{ element: `f:${name}`, schema: of, value: item, member: schema.kind !== 'struct' || isEmpty }];
  });
}

function fieldSchema(schema: Schema, name: string): Schema {
  if (schema.kind === 'map') return schema.of;
  return (schema.kind === 'struct' ? schema.fields.get(name)?.schema : undefined) ?? ANY;
}

function itemsOf(schema: Schema, items: readonly unknown[]): readonly Part[] | undefined {
  if (schema.kind !== 'list' || (!schema.set && schema.keys.length === 0)) return undefined;
  return items.map((item) => ({ element: itemElement(schema, item), schema: schema.of, value: item, member: true }));
}

type ListSchema = Extract<Schema, { readonly kind: 'list' }>;

/** An absent key has the default of its field. */
function itemElement({ set, keys, of }: ListSchema, item: unknown): string {
  if (set) return `v:${JSON.stringify(item)}`;
  const fields = isRecord(item) ? item : {};
  const pairs = keys.toSorted().flatMap((key) => {
    const value = fields[key] ?? (of.kind === 'struct' ? of.fields.get(key)?.default : undefined);
    return value === undefined ? [] : [[key, value] as const];
  });
  return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
}

/** The fields that a configuration has. */
export function fieldSetOf(schema: Schema, value: unknown): FieldSet {
  const keys = new Set<string>();
  const walk = (part: Pick<Part, 'schema' | 'value'>, path: FieldPath): void => {
    const parts = partsOf(part.schema, part.value);
    if (parts === undefined) keys.add(pathKey(path));
    for (const below of parts ?? []) {
      walk(below, [...path, below.element]);
      if (below.member) keys.add(pathKey([...path, below.element]));
    }
  };
  walk({ schema, value }, []);
  return keys;
}

/** The live value with those of the configuration. */
export function mergeValues(schema: Schema, live: unknown, config: unknown): unknown {
  if (config === undefined) return live;
  if (Array.isArray(config)) return Array.isArray(live) ? mergeLists(schema, live, config) : config;
  if (!isRecord(config) || !isRecord(live) || partsOf(schema, config) === undefined) return config;
  const names = [...new Set([...Object.keys(live), ...Object.keys(config)])];
  return Object.fromEntries(names.map((name) => [name, mergeValues(fieldSchema(schema, name), live[name], config[name])]));
}

/** Items of both sides are in the order of the configuration; other live items stay before their next common one. */
function mergeLists(schema: Schema, live: readonly unknown[], config: readonly unknown[]): unknown {
  if (schema.kind !== 'list' || (!schema.set && schema.keys.length === 0)) return config;
  const wanted = config.map((item) => itemElement(schema, item));
  const present = live.map((item) => itemElement(schema, item));
  const result: unknown[] = [];
  const done = new Set<string>();
  let next = 0;
  const takeUntil = (end: number): void => {
    for (; next < end; next++) {
      const element = wanted[next] ?? '';
      const before = live[present.indexOf(element)];
      result.push(mergeValues(schema.of, before, config[next]));
      done.add(element);
    }
  };
  for (const [index, element] of present.entries()) {
    if (!wanted.includes(element)) result.push(live[index]);
    else if (!done.has(element)) takeUntil(wanted.indexOf(element) + 1);
  }
  takeUntil(wanted.length);
  return result;
}

/** The value without what is at the path. */
export function withoutPath(schema: Schema, value: unknown, [element, ...rest]: FieldPath): unknown {
  if (element === undefined) return undefined;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    if (schema.kind !== 'list') return value;
    return items.flatMap((item) => (itemElement(schema, item) === element ? keep(withoutPath(schema.of, item, rest)) : [item]));
  }
  const name = element.slice(2);
  if (!isRecord(value) || !element.startsWith('f:') || !Object.hasOwn(value, name)) return value;
  const { [name]: child, ...others } = value;
  const left = withoutPath(fieldSchema(schema, name), child, rest);
  return left === undefined ? others : { ...value, [name]: left };
}

function keep(value: unknown): readonly unknown[] {
  return value === undefined ? [] : [value];
}

export interface Comparison {
  /** New and changed fields. */
  readonly written: FieldSet;
  readonly removed: FieldSet;
}

/** How a value came from an earlier one. A struct that every object has is not new when it gets its first field. */
export function compareValues(schema: Schema, before: unknown, after: unknown): Comparison {
  const written = new Set<string>();
  const removed = new Set<string>();
  const note = (right: unknown, path: FieldPath): void => {
    if (path.length > 0) (right === undefined ? removed : written).add(pathKey(path));
  };
  const walk = (of: Schema, [left, right]: readonly [unknown, unknown], path: FieldPath): void => {
    if (left === right) return;
    const [one, other] = [writtenParts(of, left), writtenParts(of, right)];
    const isField = one === undefined || other === undefined;
    if (isField && sameJson(left, right)) return;
    if (isField || left === undefined || right === undefined) note(right, path);
    const earlier = new Map((one ?? []).map((part) => [part.element, part]));
    for (const part of isField ? [] : (other ?? [])) {
      const was = earlier.get(part.element)?.value ?? emptyOf(of, part.element, left);
      walk(part.schema, [was, part.value], [...path, part.element]);
      earlier.delete(part.element);
    }
    for (const part of earlier.values()) walk(part.schema, [part.value, undefined], [...path, part.element]);
  };
  walk(schema, [before ?? {}, after], []);
  return { written, removed };
}

/** Go structs leave out empty lists and maps, unless they always write the field. */
function writtenParts(schema: Schema, value: unknown): readonly Part[] | undefined {
  if (value === undefined) return [];
  const parts = partsOf(schema, value);
  if (parts === undefined || schema.kind !== 'struct' || schema.name === undefined) return parts;
  return parts.filter(({ element, schema: of, value: part }) => {
    const isEmpty =
      (of.kind === 'map' || of.kind === 'list') && typeof part === 'object' && part !== null && Object.keys(part).length === 0;
    return !isEmpty || schema.fields.get(element.slice(2))?.required === true;
  });
}

/** Go structs write some fields even if they are empty, so these are there before they have a value. */
function emptyOf(schema: Schema, element: string, parent: unknown): unknown {
  if (parent === undefined || schema.kind !== 'struct' || schema.name === undefined) return undefined;
  const field: FieldSchema | undefined = schema.fields.get(element.slice(2));
  if (field?.always === true) return {};
  if (field?.required !== true) return undefined;
  return field.schema.kind === 'list' && (field.schema.set || field.schema.keys.length > 0) ? [] : undefined;
}

/** What a typed server cannot read in a configuration: `.spec.foo: field not declared in schema`. */
export function schemaMismatch(schema: Schema, value: unknown, path = ''): string | undefined {
  if (value === null || value === undefined || schema.kind === 'any') return undefined;
  if (schema.kind === 'leaf') return leafMismatch(schema.type, value, path);
  if (schema.kind === 'list') return listMismatch(schema, value, path);
  if (!isRecord(value)) return `${path}: expected map, got ${goValue(value)}`;
  for (const [name, item] of Object.entries(value)) {
    const at = `${path}.${name}`;
    if (schema.kind === 'struct' && !schema.open && !schema.fields.has(name)) return `${at}: field not declared in schema`;
    const wrong = schemaMismatch(fieldSchema(schema, name), item, at);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function listMismatch(schema: ListSchema, value: unknown, path: string): string | undefined {
  if (!Array.isArray(value)) return `${path}: expected list, got ${goValue(value)}`;
  const items: readonly unknown[] = value;
  const elements = partsOf(schema, items)?.map(({ element }) => element) ?? [];
  const twice = elements.find((element, index) => elements.indexOf(element) < index);
  if (twice !== undefined) return `${path}: duplicate entries for key [${keyOrValue(twice)}]`;
  for (const [index, item] of items.entries()) {
    const wrong = schemaMismatch(
      schema.of,
      item,
      elements[index] === undefined ? `${path}[${index}]` : `${path}[${keyOrValue(elements[index])}]`,
    );
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function keyOrValue(element: string): string {
  return element.startsWith('v:') ? `=${element.slice(2)}` : keyText(element.slice(2));
}

const EXPECTED: Readonly<Partial<Record<string, readonly [type: string, words: string]>>> = {
  string: ['string', 'string'],
  boolean: ['boolean', 'boolean'],
  int32: ['number', 'numeric (int or float)'],
  int64: ['number', 'numeric (int or float)'],
  number: ['number', 'numeric (int or float)'],
};

function leafMismatch(type: string, value: unknown, path: string): string | undefined {
  const [wanted, words] = EXPECTED[type] ?? [];
  return wanted === undefined || typeof value === wanted ? undefined : `${path}: expected ${words ?? wanted}, got ${goValue(value)}`;
}

function goValue(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return typeof value === 'object' ? 'map' : typeof value;
}
