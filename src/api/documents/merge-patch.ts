/** The difference of two documents as a JSON merge patch (RFC 7396): what changed, and null for what is gone. Arrays are replaced whole. */

type Fields = Readonly<Record<string, unknown>>;

/** The patch that makes `after` of `before`. undefined: they are equal. Neither may contain null. */
export function mergePatch(before: Fields, after: Fields): Fields | undefined {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(before)) if (after[key] === undefined) patch[key] = null;
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined || isSame(before[key], value)) continue;
    const old = before[key];
    patch[key] = isFields(old) && isFields(value) ? mergePatch(old, value) : value;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** RFC 7396, section 2. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const result: Record<string, unknown> = isFields(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSame(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}
