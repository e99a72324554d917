/** The projected objects of one resource. An unchanged object keeps its identity when the API server sends it again. */
import { isDeepStrictEqual } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { MAX_CLUSTER_PODS } from '../../domain/platform-limits.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { isRecord, withoutNulls } from '../../lib/json.ts';
import type { ObjectJson } from '../api/core-json.ts';
import type { ReflectedTable } from './reflector-options.ts';

/** What an object needs in the heap while many are read: a pod leaves about half of it, the rest is garbage. */
const HEAP_PER_OBJECT_BYTES = 1_024;

/** Objects of one kind for which a heap has room: a longer list is taken to be endless. At least twice the pods of a cluster. */
export function mostObjectsIn(heapBytes: number): number {
  return Math.max(2 * MAX_CLUSTER_PODS, Math.floor(heapBytes / HEAP_PER_OBJECT_BYTES));
}

const MAX_OBJECTS = mostObjectsIn(getHeapStatistics().heap_size_limit);
const UNDOCUMENTED = 'it is not in the documented form';
/** Empty, or a namespace without a name. */
const NO_KEY = /^(?:[^/]*\/)?$/;

export interface TableOptions<Item> {
  /** Map key of an object: its uid, or its name where views are keyed by name. */
  readonly keyOf: (object: ObjectJson) => string;
  readonly project: (object: ObjectJson) => Item;
  /**
   * What stands for an object that `project` cannot read. `before` is the object as it was last read. undefined, or absent: the
   * object stays as it was last read, or unknown.
   */
  readonly unreadable?: (object: ObjectJson, reason: string, before: Item | undefined) => Item | undefined;
  /** Called for each real change. At least one of the two values is set. */
  readonly onChange?: (before: Item | undefined, after: Item | undefined) => void;
  /** If absent, as many as this process has memory for. */
  readonly maxObjects?: number;
}

export class Table<Item> implements ReflectedTable {
  readonly maxObjects: number;
  readonly #items = new Map<string, Item>();
  readonly #options: TableOptions<Item>;
  /** Keys that the current full read has seen so far. Set only if the table had objects before it. */
  #seen: Set<string> | undefined;
  #changed = true;

  constructor(options: TableOptions<Item>) {
    this.#options = options;
    this.maxObjects = options.maxObjects ?? MAX_OBJECTS;
  }

  get items(): ReadonlyMap<string, Item> {
    return this.#items;
  }

  begin(): void {
    // Nothing can vanish during the first full read.
    this.#seen = this.#items.size === 0 ? undefined : new Set();
  }

  put(object: ObjectJson, report: (reason: string) => void = () => undefined): void {
    const key = keyFrom(object, this.#options.keyOf);
    if (key === undefined) return report('it has no name');
    const before = this.#items.get(key);
    // guard: a kind of objects of the API server has a limited number
    if (before === undefined && this.#items.size >= this.maxObjects) throw tooMany(this.maxObjects);
    const after = this.#read(object, before, report) ?? before;
    if (after === undefined) return;
    this.#seen?.add(key);
    if (before !== undefined && isDeepStrictEqual(before, after)) return;
    this.#items.set(key, after);
    this.#changed = true;
    this.#options.onChange?.(before, after);
  }

  /** One object that cannot be read must not keep the others from being read. Nulls are tried as "not set" first. */
  #read(object: ObjectJson, before: Item | undefined, report: (reason: string) => void): Item | undefined {
    const { project, unreadable } = this.#options;
    for (const read of [() => object, () => withoutNulls(object, { keepInLists: false })]) {
      try {
        return project(read());
      } catch (thrown) {
        if (!isUnreadable(thrown)) throw thrown;
      }
    }
    report(UNDOCUMENTED);
    return unreadable?.(object, UNDOCUMENTED, before);
  }

  remove(object: ObjectJson): void {
    const key = keyFrom(object, this.#options.keyOf);
    if (key === undefined) return;
    this.#seen?.delete(key);
    this.#drop(key);
  }

  complete(): void {
    const seen = this.#seen;
    this.#seen = undefined;
    if (seen === undefined) return;
    for (const key of this.#items.keys()) if (!seen.has(key)) this.#drop(key);
  }

  /** Returns whether anything changed since the last call. */
  takeChanged(): boolean {
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  #drop(key: string): void {
    const before = this.#items.get(key);
    if (before === undefined) return;
    this.#items.delete(key);
    this.#changed = true;
    this.#options.onChange?.(before, undefined);
  }
}

function tooMany(most: number): AutoscalerError {
  return new AutoscalerError(
    { kind: 'unavailable', effect: 'none' },
    `There are more than ${most} objects of one kind. If the cluster has so many, raise the memory limit of the daemon to 2 KiB for each.`,
  );
}

/** undefined: an object without a key, to which no later event could refer. */
function keyFrom(object: unknown, keyOf: (object: ObjectJson) => string): string | undefined {
  const { metadata } = isRecord(object) ? (object as ObjectJson) : {};
  const key: unknown = isRecord(metadata) ? keyOf({ metadata }) : '';
  return typeof key === 'string' && !NO_KEY.test(key) ? key : undefined;
}

/** A field of another type than documented, a text that is not a quantity, or an object nested too deeply. */
function isUnreadable(thrown: unknown): boolean {
  if (thrown instanceof AutoscalerError) return thrown.kind === 'config';
  // guard: one object that cannot be read does not keep the others unread
  return thrown instanceof TypeError || thrown instanceof RangeError;
}

/** The key of an object without a namespace. */
export function nameOf({ metadata }: ObjectJson): string {
  return metadata?.name ?? '';
}

/** `namespace/name`. */
export function namespacedName({ metadata }: ObjectJson): string {
  return `${metadata?.namespace ?? 'default'}/${metadata?.name ?? ''}`;
}
