/**
 * Sets of field paths, and their form in `metadata.managedFields` (FieldsV1): `f:NAME` is a field, `k:{...}` the item of a list by its keys,
 * `v:VALUE` the item of a set, `.` the element itself. The room is server-side apply. Must not know HTTP, nor stored objects.
 */
import { isRecord } from '../store/patches.ts';

/** Elements from the root. */
export type FieldPath = readonly string[];

/** Paths as text; their order is that of insertion. */
export type FieldSet = ReadonlySet<string>;

const BREAK = '\n';

export function pathKey(path: FieldPath): string {
  return path.join(BREAK);
}

export function pathOf(key: string): FieldPath {
  return key.split(BREAK);
}

/** Whether the path is one of the others, or above one of them. */
export function covers(key: string, others: FieldSet): boolean {
  if (others.has(key)) return true;
  for (const other of others) if (other.startsWith(`${key}${BREAK}`)) return true;
  return false;
}

interface Tree {
  member: boolean;
  readonly below: Map<string, Tree>;
}

/** An element with nothing below is itself a member. */
export function toFieldsV1(set: FieldSet): Readonly<Record<string, unknown>> {
  const root: Tree = { member: false, below: new Map() };
  for (const key of set) {
    let at = root;
    for (const element of pathOf(key)) {
      const next = at.below.get(element) ?? { member: false, below: new Map<string, Tree>() };
      at.below.set(element, next);
      at = next;
    }
    at.member = true;
  }
  return treeJson(root);
}

function treeJson({ member, below }: Tree): Readonly<Record<string, unknown>> {
  const inside = [...below].map(([element, tree]) => [element, treeJson(tree)] as const).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries([...(member && below.size > 0 ? [['.', {}] as const] : []), ...inside]);
}

export function fromFieldsV1(json: unknown): FieldSet {
  const keys = new Set<string>();
  const read = (value: unknown, path: FieldPath): void => {
    const entries = isRecord(value) ? Object.entries(value) : [];
    if (entries.length === 0 && path.length > 0) keys.add(pathKey(path));
    for (const [element, below] of entries) {
      if (element === '.') keys.add(pathKey(path));
      else read(below, [...path, element]);
    }
  };
  read(json, []);
  return keys;
}

/** `.spec.template.spec.containers[name="app"].image`. */
export function pathText(key: string): string {
  return pathOf(key)
    .map((element) => {
      const [kind, text] = [element.slice(0, 2), element.slice(2)];
      if (kind === 'f:') return `.${text}`;
      if (kind === 'v:') return `[=${text}]`;
      return `[${keyText(text)}]`;
    })
    .join('');
}

/** `name="app"` of `{"name":"app"}`. */
export function keyText(json: string): string {
  const keys = JSON.parse(json) as Readonly<Record<string, unknown>>;
  return Object.entries(keys)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',');
}
