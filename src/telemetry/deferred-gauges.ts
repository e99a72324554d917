/**
 * Gauges that are computed when the metrics are read. A loop sets hundreds of them, and the values of most loops are overwritten by a
 * later loop before they are read. Counters and histograms do not belong here: each loop counts. Must not know what is published.
 */

/** Sets the gauges from what was known when the work was deferred. */
type Publish = () => void;

export class DeferredGauges {
  readonly #pending = new Map<string, Publish>();
  #report: ((name: string, thrown: unknown) => void) | undefined;

  /** Failures go there from now on, and other metrics are still read. If absent, the read fails. */
  reportFailures(report: (name: string, thrown: unknown) => void): void {
    this.#report = report;
  }

  /** Replaces the work of that name that is not done yet. */
  defer(name: string, publish: Publish): void {
    this.#pending.set(name, publish);
  }

  /** Called before a gauge is read. Work that fails is not tried again. */
  publish(): void {
    for (const [name, publish] of this.#pending) {
      this.#pending.delete(name);
      this.#tryOne(name, publish);
    }
  }

  #tryOne(name: string, publish: Publish): void {
    try {
      publish();
    } catch (thrown) {
      if (this.#report === undefined) throw thrown;
      this.#report(name, thrown);
    }
  }
}
