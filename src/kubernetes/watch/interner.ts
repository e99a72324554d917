/**
 * Turns equal values into one value, so that 150,000 pods of 3,000 workloads hold 3,000 shapes. Nothing here is needed
 * for correctness: dropping an entry only loses sharing. Must not know what the values mean.
 */
import { WeakValues } from '../../lib/collections.ts';

/** Strings that repeat often: node names, namespaces, messages. */
export class StringInterner {
  readonly #known = new Map<string, string>();
  readonly #limit: number;

  constructor(limit = 100_000) {
    this.#limit = limit;
  }

  of(text: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    // A cluster that churns for months must not grow this forever. Clearing it only loses sharing with older values.
    if (this.#known.size >= this.#limit) this.#known.clear();
    this.#known.set(text, text);
    return text;
  }
}

/**
 * Objects by a key that describes them completely, as long as anything holds them. So a cluster whose jobs come and go retains the shapes of
 * present pods only; a limit of 50,000 let it retain 250 MB of former ones.
 */
export class WeakInterner<Value extends object> {
  readonly #known = new WeakValues<Value>();

  /** Returns the value of this key, and makes it if the key is new. */
  of(key: string, make: () => Value): Value {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.#known.set(key, value);
    return value;
  }

  get size(): number {
    return this.#known.size;
  }
}

/** Values by a key that describes them completely. */
export class Interner<Value> {
  readonly #known = new Map<string, Value>();
  readonly #limit: number;

  constructor(limit = 50_000) {
    this.#limit = limit;
  }

  /** Returns the value of this key, and makes it if the key is new. */
  of(key: string, make: () => Value): Value {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= this.#limit) this.#known.clear();
    const value = make();
    this.#known.set(key, value);
    return value;
  }

  get size(): number {
    return this.#known.size;
  }
}
