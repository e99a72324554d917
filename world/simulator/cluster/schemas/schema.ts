/**
 * The structure of kinds: which fields an object may have, their types, and how lists and maps are merged. Built-in kinds are read from a
 * table; custom kinds have theirs in their definition. Must not know stored objects, nor HTTP.
 *
 * A line of the table is `TYPE@GROUP/VERSION/KIND: FIELD=TYPE ...`. `!` is an atomic struct or map; `*` a required field; `[T]` a list, with
 * `%KEYS` by keys and `=` as a set; `{T}` a map; `^KEY` and `$` are strategies of strategic merge patches; `~` a struct that is never
 * absent; `:JSON` a default. Leaves: `s` string, `b` boolean, `i` and `I` integers, `n` number, `t` time, `q` quantity, `x` integer or
 * string, `a` anything.
 */
import { KIND_SCHEMAS } from './kind-schemas.ts';
import { POD_GROUP_FIELDS, POD_GROUP_ROWS } from './pod-groups.ts';

export type LeafType = 'string' | 'boolean' | 'int32' | 'int64' | 'number' | 'time' | 'quantity' | 'int-or-string';

export interface StructSchema {
  readonly kind: 'struct';
  /** The name in OpenAPI documents without its prefix; undefined for a struct without a name. */
  readonly name: string | undefined;
  readonly fields: ReadonlyMap<string, FieldSchema>;
  readonly atomic: boolean;
  /** Whether other fields are kept as they are. */
  readonly open: boolean;
}

interface ListSchema {
  readonly kind: 'list';
  readonly of: Schema;
  /** The fields that identify an item. Empty: the list is merged as a set, or not at all. */
  readonly keys: readonly string[];
  readonly set: boolean;
}

interface MapSchema {
  readonly kind: 'map';
  readonly of: Schema;
  readonly atomic: boolean;
}

export type Schema =
  | StructSchema
  | ListSchema
  | MapSchema
  | { readonly kind: 'leaf'; readonly type: LeafType }
  /** Anything: maps are merged by key, lists are atomic. */
  | { readonly kind: 'any' };

export interface FieldSchema {
  /** Read on demand, since schemas refer to themselves. */
  readonly schema: Schema;
  readonly required: boolean;
  /** A struct that is present in every object, if only as `{}`. */
  readonly always: boolean;
  readonly default?: unknown;
  /** The strategies of a strategic merge patch. */
  readonly patch: { readonly mergeKey?: string; readonly retainsKeys: boolean };
}

export const ANY: Schema = { kind: 'any' };

const LEAVES: Readonly<Record<string, LeafType>> = {
  s: 'string',
  b: 'boolean',
  i: 'int32',
  I: 'int64',
  n: 'number',
  t: 'time',
  q: 'quantity',
  x: 'int-or-string',
};

interface Row {
  readonly name: string;
  readonly atomic: boolean;
  readonly gvk: string | undefined;
  readonly fields: readonly string[];
}

const ROWS: ReadonlyMap<string, Row> = new Map(
  `${KIND_SCHEMAS}\n${POD_GROUP_ROWS}`.split('\n').map((line) => [rowOf(line).name, rowOf(line)]),
);
const BY_KIND: ReadonlyMap<string, string> = new Map(
  [...ROWS.values()].flatMap(({ gvk, name }) => (gvk === undefined ? [] : [[gvk, name]])),
);
const structs = new Map<string, StructSchema>();

function rowOf(line: string): Row {
  const [head = '', ...fields] = line.split(' ');
  const [, name = '', mark, gvk] = /^([^@!:]+)(!?)(?:@([^:]*))?:$/.exec(head) ?? [];
  return { name, atomic: mark === '!', gvk, fields };
}

/** The schema of a built-in kind; undefined for any other. */
export function builtInSchema(kind: { readonly group: string; readonly version: string; readonly kind: string }): StructSchema | undefined {
  const name = BY_KIND.get(`${kind.group}/${kind.version}/${kind.kind}`);
  return name === undefined ? undefined : structOf(name);
}

/** The metadata of every object. */
export function metadataSchema(): StructSchema {
  return structOf('meta.v1.ObjectMeta');
}

function structOf(name: string): StructSchema {
  const present = structs.get(name);
  if (present !== undefined) return present;
  const row = ROWS.get(name);
  const fields = new Map([...(row?.fields ?? []), ...(POD_GROUP_FIELDS[name] ?? [])].map(fieldOf));
  const struct: StructSchema = { kind: 'struct', name, fields, atomic: row?.atomic === true, open: false };
  structs.set(name, struct);
  return struct;
}

const FIELD = /^([^=*]+)(\*?)=(.+?)(?:\^([^$~:]*))?(\$?)(~?)(?::(.*))?$/;

function fieldOf(text: string): readonly [string, FieldSchema] {
  const [, name = '', required, type = 's', mergeKey, retains, always, given] = FIELD.exec(text) ?? [];
  let read: Schema | undefined;
  return [
    name,
    {
      get schema() {
        read ??= schemaOf(type);
        return read;
      },
      required: required === '*',
      always: always === '~',
      ...(given === undefined ? {} : { default: JSON.parse(given) as unknown }),
      patch: { ...(mergeKey === undefined ? {} : { mergeKey }), retainsKeys: retains === '$' },
    },
  ];
}

function schemaOf(type: string): Schema {
  const leaf = LEAVES[type];
  if (leaf !== undefined) return { kind: 'leaf', type: leaf };
  if (type === 'a') return ANY;
  const list = /^\[(.*)\](=|%(.*))?$/.exec(type);
  if (list !== null) return { kind: 'list', of: schemaOf(list[1] ?? 'a'), keys: list[3]?.split(',') ?? [], set: list[2] === '=' };
  const map = /^\{(.*)\}(!?)$/.exec(type);
  if (map !== null) return { kind: 'map', of: schemaOf(map[1] ?? 'a'), atomic: map[2] === '!' };
  const struct = structOf(type.replace(/!$/, ''));
  return type.endsWith('!') ? { ...struct, atomic: true } : struct;
}
