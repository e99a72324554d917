/** What parsed JSON is, and removes what stands for "not set" in it: nulls, and what equals its default. Must not know whose JSON it is. */
import { isDeepStrictEqual } from 'node:util';

interface NullOptions {
  /** Keeps nulls that are entries of lists. */
  readonly keepInLists?: boolean;
}

/**
 * The value without fields and list entries that are null, at any depth. Returns the same value if it has no null.
 * ARM may write null for what is not set, and its SDK passes it on in spite of its types. A manifest may, too.
 */
export function withoutNulls<Value>(value: Value, options: NullOptions = {}): Value {
  return stripped(value, options, 0) as Value;
}

/** Documents of Azure and Kubernetes nest less deeply. What lies deeper stays as it is, so that no document exhausts the stack. */
const MAX_DEPTH = 100;

/** Copies only what contains a null: large documents have few. */
function stripped(value: unknown, options: NullOptions, depth: number): unknown {
  if (!isContainer(value) || depth >= MAX_DEPTH) return value;
  return Array.isArray(value) ? strippedList(value, options, depth) : strippedMap(value, options, depth);
}

function strippedList(list: readonly unknown[], options: NullOptions, depth: number): readonly unknown[] {
  const kept = options.keepInLists === true || !list.includes(null) ? list : list.filter((entry) => entry !== null);
  let changed: unknown[] | undefined;
  for (let at = 0; at < kept.length; at++) {
    const entry = kept[at];
    if (typeof entry !== 'object') continue;
    const without = stripped(entry, options, depth + 1);
    if (without === entry) continue;
    changed ??= [...kept];
    changed[at] = without;
  }
  return changed ?? kept;
}

function strippedMap(map: object, options: NullOptions, depth: number): object {
  let changed: Record<string, unknown> | undefined;
  for (const key of Object.keys(map)) {
    const part: unknown = (map as Readonly<Record<string, unknown>>)[key];
    if (typeof part !== 'object') continue;
    const kept = stripped(part, options, depth + 1);
    if (part !== null && kept === part) continue;
    changed ??= { ...map };
    if (part === null) delete changed[key];
    else changed[key] = kept;
  }
  return changed ?? map;
}

/** Dates and other single values are not containers. */
function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}

type Sparse<Value, Defaults> = Omit<Value, keyof Defaults> & Partial<Value>;

/** The value without the parts that equal their default. */
export function withoutDefaults<Value extends object, Defaults extends Partial<Value>>(
  value: Value,
  defaults: Defaults,
): Sparse<Value, Defaults> {
  const unusual = Object.entries(value).filter(
    ([key, part]) => !Object.hasOwn(defaults, key) || !isDeepStrictEqual(part, defaults[key as keyof Defaults]),
  );
  return Object.fromEntries(unusual) as Sparse<Value, Defaults>;
}

/** Whether the value is an object with named parts, and no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, or an empty text if it is no text. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
