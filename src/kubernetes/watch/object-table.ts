/** The projected objects of one resource. An unchanged object keeps its identity when the API server sends it again. */
import { isDeepStrictEqual } from 'node:util';
import type { ObjectJson } from '../api/core-json.ts';
import type { ReflectedTable } from './reflector-options.ts';

export interface TableOptions<Item> {
  /** Map key of an object: its uid, or its name where views are keyed by name. */
  readonly keyOf: (object: ObjectJson) => string;
  readonly project: (object: ObjectJson) => Item;
  /** Called for each real change. At least one of the two values is set. */
  readonly onChange?: (before: Item | undefined, after: Item | undefined) => void;
}

export class Table<Item> implements ReflectedTable {
  readonly #items = new Map<string, Item>();
  readonly #options: TableOptions<Item>;
  /** Keys that the current full read has seen so far. Set only if the table had objects before it. */
  #seen: Set<string> | undefined;
  #changed = true;

  constructor(options: TableOptions<Item>) {
    this.#options = options;
  }

  get items(): ReadonlyMap<string, Item> {
    return this.#items;
  }

  begin(): void {
    // Nothing can vanish during the first full read.
    this.#seen = this.#items.size === 0 ? undefined : new Set();
  }

  put(object: ObjectJson): void {
    const key = this.#options.keyOf(object);
    const before = this.#items.get(key);
    const after = this.#options.project(object);
    this.#seen?.add(key);
    if (before !== undefined && isDeepStrictEqual(before, after)) return;
    this.#items.set(key, after);
    this.#changed = true;
    this.#options.onChange?.(before, after);
  }

  remove(object: ObjectJson): void {
    this.#seen?.delete(this.#options.keyOf(object));
    this.#drop(this.#options.keyOf(object));
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
