/** Results of simulations from loop to loop: the same obstacles stay for hours, so each is simulated once in a while. */

interface RememberedResult<Result> {
  readonly result: Result;
  readonly untilMs: number;
}

export interface MemoryLimits {
  /** How long a result is used. The obstacles may stay while quota, nodes and other pods change. */
  readonly keepMs: number;
  /** How many results are remembered. */
  readonly remembered: number;
}

/** A bounded memory by key; a key is equal for equal obstacles. */
export class Remembered<Result> {
  readonly #limits: MemoryLimits;
  readonly #results = new Map<string, RememberedResult<Result>>();

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
  }

  /** Whatever its age. */
  known(key: string): Result | undefined {
    return this.#results.get(key)?.result;
  }

  /** undefined: it must be simulated. A result that is returned counts as asked for. */
  fresh(key: string, nowMs: number): Result | undefined {
    const known = this.#results.get(key);
    if (known === undefined || known.untilMs <= nowMs) return undefined;
    this.#set(key, known);
    return known.result;
  }

  remember(key: string, result: Result, nowMs: number): void {
    this.#set(key, { result, untilMs: nowMs + this.#limits.keepMs });
  }

  /** Forgets what nothing asked for longest, beyond the limit. */
  forget(): void {
    for (const key of [...this.#results.keys()].slice(0, Math.max(0, this.#results.size - this.#limits.remembered)))
      this.#results.delete(key);
  }

  /** As the last entry: the first ones are those that nothing asked for longest. */
  #set(key: string, result: RememberedResult<Result>): void {
    this.#results.delete(key);
    this.#results.set(key, result);
  }
}
