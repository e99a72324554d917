/** Copies of JSON with parts replaced. */
export type Json = Readonly<Record<string, unknown>>;

/** Replaces fields at any depth: `change` returns the new value, or undefined to look into the old one. */
export function mapped(json: Json, change: (field: string, value: unknown) => unknown): Json {
  return Object.fromEntries(
    Object.entries(json).map(([field, value]) => [field, change(field, value) ?? inside(value, (each) => mapped(each, change))]),
  );
}

function inside(value: unknown, map: (json: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => inside(each, map));
  return typeof value === 'object' && value !== null ? map(value as Json) : value;
}

export function mappedKeys<Value>(values: Readonly<Record<string, Value>>, map: (key: string) => string): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [map(key), value]));
}
