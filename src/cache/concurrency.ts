/**
 * The caching framework. This folder has what tables and agents share: the logical clock and the slots for concurrent
 * reads. Must not know Azure.
 */
export type ReleaseSlot = () => void;

/** Room for a bounded number of concurrent reads. Callers that wait with `take` go before callers that only try. */
export class Slots {
  readonly #max: number;
  #taken = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(max: number) {
    this.#max = max;
  }

  get free(): number {
    return this.#waiting.length > 0 ? 0 : Math.max(0, this.#max - this.#taken);
  }

  /** Returns a slot if one is free and no caller waits for it. */
  tryTake(): ReleaseSlot | undefined {
    return this.free > 0 ? this.#grant() : undefined;
  }

  /** Waits in line for a slot. */
  take(): Promise<ReleaseSlot> {
    const slot = this.tryTake();
    if (slot !== undefined) return Promise.resolve(slot);
    return new Promise((resolve) => this.#waiting.push(() => resolve(this.#grant())));
  }

  /** Calls the listener when a slot became free and no caller waits for it. Returns a function that unsubscribes. */
  onFree(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #grant(): ReleaseSlot {
    this.#taken += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#release();
    };
  }

  #release(): void {
    this.#taken -= 1;
    const next = this.#waiting.shift();
    if (next !== undefined) next();
    else for (const listener of this.#listeners) listener();
  }
}
