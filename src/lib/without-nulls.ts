/** ARM may write `null` where it has nothing to say, and the SDK passes it on against its own types. Pure. */

/** The same value where there is no null in it; else without the fields and list entries that are null, at any depth. */
export function withoutNulls<T>(value: T): T {
  return (hasNull(value) ? stripped(value) : value) as T;
}

function hasNull(value: unknown): boolean {
  if (value === null) return true;
  return isContainer(value) && Object.values(value).some(hasNull);
}

function stripped(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((entry) => entry !== null).map(stripped);
  if (!isContainer(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([key, part]) => (part === null ? [] : [[key, stripped(part)]])));
}

/** Dates and the like are values. */
function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}

/** `null` in a manifest means "not set". */
export function withoutNullFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullFields);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== null)
      .map(([key, part]) => [key, withoutNullFields(part)]),
  );
}
