/** A read-only copy of a map, which readers cannot edit even by casting. */
export class FrozenMap<K, V> implements ReadonlyMap<K, V> {
  readonly #map: ReadonlyMap<K, V>;

  constructor(source: Iterable<readonly [K, V]>) {
    this.#map = new Map(source);
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  forEach(visit: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this.#map) visit(value, key, this);
  }

  entries(): MapIterator<[K, V]> {
    return this.#map.entries();
  }

  keys(): MapIterator<K> {
    return this.#map.keys();
  }

  values(): MapIterator<V> {
    return this.#map.values();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#map.entries();
  }
}

/** The items from index `by` on, modulo their number, then those before. */
export function rotate<Item>(items: readonly Item[], by: number): readonly Item[] {
  const first = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

/** Whether both are the same objects and values in the same order, or both are absent. */
export function sameItems(left: readonly unknown[] | undefined, right: readonly unknown[] | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return left.length === right.length && left.every((item, at) => item === right[at]);
}

/** Below this size, entries without a value are kept. */
const FEW = 1_000;

/** What `WeakRef` offers; a test decides itself when a value is gone. */
export interface WeakReference<Value> {
  deref(): Value | undefined;
}

/**
 * Values by key, as long as anything else holds them. Entries without a value are removed when the map has doubled, so that its size follows
 * the number of living values. Which values are gone is up to the garbage collector: use it only where a lost value is made again as it was.
 */
export class WeakValues<Value extends object> {
  readonly #known = new Map<string, WeakReference<Value>>();
  readonly #refer: (value: Value) => WeakReference<Value>;
  #sweepAt = FEW;

  constructor(refer: (value: Value) => WeakReference<Value> = (value) => new WeakRef(value)) {
    this.#refer = refer;
  }

  get(key: string): Value | undefined {
    return this.#known.get(key)?.deref();
  }

  set(key: string, value: Value): void {
    this.#known.set(key, this.#refer(value));
    if (this.#known.size >= this.#sweepAt) this.#sweep();
  }

  /** At most twice the number of living values, or a thousand. */
  get size(): number {
    return this.#known.size;
  }

  #sweep(): void {
    for (const [key, reference] of this.#known) if (reference.deref() === undefined) this.#known.delete(key);
    this.#sweepAt = Math.max(FEW, 2 * this.#known.size);
  }
}
