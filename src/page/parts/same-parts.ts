/**
 * A newer document with the parts of the older one that did not change, so that a row whose values are the same is the same object. A merge
 * patch replaces lists as a whole, although one of a hundred rows changed. Pure.
 */

/** @returns `newer`, or the same values as objects of `older`. Rows of lists are found by `name`, else `id`, else their place. */
export function withSameParts<Value>(older: unknown, newer: Value): Value {
  return shared(older, newer) as Value;
}

function shared(older: unknown, newer: unknown): unknown {
  if (Object.is(older, newer) || !isObject(older) || !isObject(newer) || Array.isArray(older) !== Array.isArray(newer)) return newer;
  if (Array.isArray(older) && Array.isArray(newer)) return sharedList(older, newer);
  return sharedFields(older, newer);
}

function sharedList(older: readonly unknown[], newer: readonly unknown[]): readonly unknown[] {
  const rows = new Map(older.map((row, at) => [keyOf(row, at), row]));
  const list = newer.map((row, at) => shared(rows.get(keyOf(row, at)), row));
  return list.length === older.length && list.every((row, at) => Object.is(row, older[at])) ? older : list;
}

function keyOf(row: unknown, at: number): unknown {
  return isObject(row) ? (row['name'] ?? row['id'] ?? at) : at;
}

function sharedFields(older: Fields, newer: Fields): Fields {
  const keys = Object.keys(newer);
  const fields = Object.fromEntries(keys.map((key) => [key, shared(older[key], newer[key])]));
  return keys.length === Object.keys(older).length && keys.every((key) => Object.is(fields[key], older[key])) ? older : fields;
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
