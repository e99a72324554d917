/**
 * Fields that a schema does not have. A server drops them; depending on `fieldValidation` it also says so in warnings, or refuses the write
 * (kubernetes.io, "Field validation"). Paths are in the words of the server's strict decoder.
 */
import { isRecord } from '../store/patches.ts';
import type { Schema, StructSchema } from './schema.ts';

interface KnownPart {
  readonly value: unknown;
  /** Paths of dropped fields, in the order of the document. */
  readonly unknown: readonly string[];
}

/** The value without the fields that its schema does not have. The same value if there are none. */
export function withoutUnknown(schema: Schema, value: unknown, path = ''): KnownPart {
  if (Array.isArray(value) && schema.kind === 'list') return inList(schema.of, value, path);
  if (!isRecord(value)) return { value, unknown: [] };
  if (schema.kind === 'struct') return inStruct(schema, value, path);
  if (schema.kind !== 'map') return { value, unknown: [] };
  return collected(
    value,
    Object.entries(value).map(([key, item]) => [key, withoutUnknown(schema.of, item, `${path}.${key}`)] as const),
  );
}

function inList(of: Schema, items: readonly unknown[], path: string): KnownPart {
  const parts = items.map((item, index) => withoutUnknown(of, item, `${path}[${index}]`));
  const unknown = parts.flatMap((part) => part.unknown);
  return { value: unknown.length === 0 ? items : parts.map((part) => part.value), unknown };
}

function inStruct(schema: StructSchema, value: Readonly<Record<string, unknown>>, path: string): KnownPart {
  const parts = Object.entries(value).map(([name, item]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const field = schema.fields.get(name);
    if (field !== undefined) return [name, withoutUnknown(field.schema, item, at)] as const;
    return schema.open ? ([name, { value: item, unknown: [] }] as const) : ([name, { value: undefined, unknown: [at] }] as const);
  });
  return collected(value, parts);
}

function collected(value: unknown, parts: readonly (readonly [string, KnownPart])[]): KnownPart {
  const unknown = parts.flatMap(([, part]) => part.unknown);
  if (unknown.length === 0) return { value, unknown };
  return { value: Object.fromEntries(parts.flatMap(([name, part]) => (part.value === undefined ? [] : [[name, part.value]]))), unknown };
}
