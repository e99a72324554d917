/**
 * Equal values become one value, so that 150,000 pods of 3,000 workloads hold 3,000 shapes. Nothing here is needed for
 * correctness: forgetting an entry costs sharing, never truth.
 */

/** Strings that come again and again: node names, namespaces, messages. */
export class StringInterner {
  readonly #known = new Map<string, string>();
  readonly #limit: number;

  constructor(limit = 100_000) {
    this.#limit = limit;
  }

  of(text: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    // A cluster that churns for months must not grow this for ever; starting over costs sharing with older values only.
    if (this.#known.size >= this.#limit) this.#known.clear();
    this.#known.set(text, text);
    return text;
  }
}

/** Values by a key that says everything about them. */
export class Interner<Value> {
  readonly #known = new Map<string, Value>();
  readonly #limit: number;

  constructor(limit = 50_000) {
    this.#limit = limit;
  }

  /** The value of this key, made on first sight. */
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
