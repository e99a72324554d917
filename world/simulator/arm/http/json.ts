/** JSON as ARM treats it: documents are merged and compared, and returned with all their fields. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of keys, or undefined where the path ends early. */
export function pick(document: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (value, key) => (isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    document,
  );
}

export function pickText(document: Json | undefined, ...path: readonly string[]): string | undefined {
  const value = pick(document, ...path);
  return typeof value === 'string' ? value : undefined;
}

/** An object at a path; empty if it is absent. */
export function pickObject(document: Json | undefined, ...path: readonly string[]): JsonObject {
  const value = pick(document, ...path);
  return isJsonObject(value) ? value : {};
}

/** Merges as in RFC 7396: objects merge, null removes, everything else replaces. No key has a special meaning. */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(target));
  for (const [key, value] of Object.entries(patch)) {
    const before = merged.get(key);
    if (value === null || value === undefined) merged.delete(key);
    else merged.set(key, isJsonObject(value) ? mergePatch(isJsonObject(before) ? before : {}, value) : value);
  }
  return Object.fromEntries(merged);
}

/** Parses text that a client sent. undefined: not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
