/** JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386). Strategic merge patches have their own file. */
import { refuse, badRequest, success, type Result } from './status.ts';

// JSON of clients: objects, and the equality of two values.

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Deep equality of JSON values; ignores the order of keys and undefined fields. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => sameJson(item, right[index]));
  }
  if (!isRecord(left) || !isRecord(right)) return false;
  for (const key of Object.keys(left)) if (!sameJson(left[key], right[key])) return false;
  for (const key of Object.keys(right)) if (right[key] !== undefined && left[key] === undefined) return false;
  return true;
}

/** Applies a merge patch: null removes, objects merge, everything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

interface Operation {
  readonly op: string;
  readonly path: readonly string[];
  readonly from: readonly string[] | undefined;
  readonly value: unknown;
}

function parsePointer(pointer: unknown): readonly string[] | undefined {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/'))) return undefined;
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function parseOperation(raw: unknown): Operation | undefined {
  if (!isRecord(raw) || typeof raw['op'] !== 'string') return undefined;
  const path = parsePointer(raw['path']);
  const from = raw['from'] === undefined ? undefined : parsePointer(raw['from']);
  return path === undefined ? undefined : { op: raw['op'], path, from, value: raw['value'] };
}

/** A failed step throws this inside this file; callers get a value. */
const FAILED = Symbol('failed');
type Step = unknown;

function readAt(document: unknown, path: readonly string[]): Step {
  let value = document;
  for (const part of path) {
    if (Array.isArray(value)) value = /^\d+$/.test(part) && Number(part) < value.length ? value[Number(part)] : FAILED;
    else value = isRecord(value) && Object.hasOwn(value, part) ? value[part] : FAILED;
    if (value === FAILED) return FAILED;
  }
  return value;
}

/** Rebuilds the document with the parent of `path` changed by `change`; FAILED if the parent does not exist. */
function changeAt(document: unknown, path: readonly string[], change: (parent: unknown, key: string) => Step): Step {
  const [head, ...rest] = path;
  if (head === undefined) return FAILED;
  if (rest.length === 0) return change(document, head);
  const child = readAt(document, [head]);
  if (child === FAILED) return FAILED;
  const changed = changeAt(child, rest, change);
  if (changed === FAILED) return FAILED;
  return setMember(document, head, changed);
}

function setMember(parent: unknown, key: string, value: unknown): Step {
  if (Array.isArray(parent)) return parent.map((item: unknown, index) => (String(index) === key ? value : item));
  return isRecord(parent) ? { ...parent, [key]: value } : FAILED;
}

function addMember(parent: unknown, key: string, value: unknown): Step {
  if (!Array.isArray(parent)) return isRecord(parent) ? { ...parent, [key]: value } : FAILED;
  const index = key === '-' ? parent.length : Number(key);
  if (!Number.isInteger(index) || index < 0 || index > parent.length) return FAILED;
  return [...parent.slice(0, index), value, ...parent.slice(index)];
}

function removeMember(parent: unknown, key: string): Step {
  if (readAt(parent, [key]) === FAILED) return FAILED;
  if (Array.isArray(parent)) return parent.filter((_, index) => String(index) !== key);
  if (!isRecord(parent)) return FAILED;
  const { [key]: _removed, ...rest } = parent;
  return rest;
}

function add(document: unknown, path: readonly string[], value: unknown): Step {
  return path.length === 0 ? value : changeAt(document, path, (parent, key) => addMember(parent, key, value));
}

function applyOperation(document: unknown, { op, path, from, value }: Operation): Step {
  const source = from === undefined ? FAILED : readAt(document, from);
  switch (op) {
    case 'add':
      return add(document, path, value);
    case 'remove':
      return changeAt(document, path, removeMember);
    case 'replace':
      if (path.length === 0) return value;
      return readAt(document, path) === FAILED ? FAILED : changeAt(document, path, (parent, key) => setMember(parent, key, value));
    case 'test':
      return sameJson(readAt(document, path), value) ? document : FAILED;
    case 'copy':
      return source === FAILED ? FAILED : add(document, path, source);
    case 'move':
      return source === FAILED || from === undefined ? FAILED : add(changeAt(document, from, removeMember), path, source);
    default:
      return FAILED;
  }
}

/** Applies a JSON patch completely or not at all. A failed `test` or a missing path is a 422, as in the real server. */
export function jsonPatch(target: unknown, patch: unknown): Result<unknown> {
  if (!Array.isArray(patch)) return badRequest('error decoding patch: a JSON patch is an array of operations');
  let document = target;
  for (const raw of patch) {
    const operation = parseOperation(raw);
    if (operation === undefined) return badRequest(`error decoding patch: ${JSON.stringify(raw)} is not an operation`);
    document = applyOperation(document, operation);
    if (document === FAILED)
      return refuse(422, 'Invalid', `the server rejected our request due to an error in our request: ${JSON.stringify(raw)}`);
  }
  return success(document);
}
