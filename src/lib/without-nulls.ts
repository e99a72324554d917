/** Removes nulls that stand for "not set". Must not know whose JSON it is. */

interface NullOptions {
  /** Keeps nulls that are entries of lists. */
  readonly keepInLists?: boolean;
}

/**
 * The value without fields and list entries that are null, at any depth. Returns the same value if it has no null.
 * ARM may write null for what is not set, and its SDK passes it on in spite of its types. A manifest may, too.
 */
export function withoutNulls<Value>(value: Value, options: NullOptions = {}): Value {
  return (hasNull(value) ? stripped(value, options) : value) as Value;
}

function hasNull(value: unknown): boolean {
  if (value === null) return true;
  return isContainer(value) && Object.values(value).some(hasNull);
}

function stripped(value: unknown, options: NullOptions): unknown {
  if (Array.isArray(value)) {
    const entries = options.keepInLists === true ? value : value.filter((entry) => entry !== null);
    return entries.map((entry) => stripped(entry, options));
  }
  if (!isContainer(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([key, part]) => (part === null ? [] : [[key, stripped(part, options)]])));
}

/** Dates and other single values are not containers. */
function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}
