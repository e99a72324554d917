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

/** Documents of Azure and Kubernetes nest less deeply. What lies deeper stays as it is, so that no document exhausts the stack. */
const MAX_DEPTH = 100;

function hasNull(value: unknown, depth = 0): boolean {
  if (value === null) return true;
  return isContainer(value) && depth < MAX_DEPTH && Object.values(value).some((part) => hasNull(part, depth + 1));
}

function stripped(value: unknown, options: NullOptions, depth = 0): unknown {
  if (!isContainer(value) || depth >= MAX_DEPTH) return value;
  const strip = (part: unknown): unknown => stripped(part, options, depth + 1);
  if (Array.isArray(value)) return (options.keepInLists === true ? value : value.filter((entry) => entry !== null)).map(strip);
  return Object.fromEntries(Object.entries(value).flatMap(([key, part]) => (part === null ? [] : [[key, strip(part)]])));
}

/** Dates and other single values are not containers. */
function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}
