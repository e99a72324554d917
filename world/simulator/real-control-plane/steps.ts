/** Steps of simulated components of a cluster: each at its time, tried again while the API server is away, none after the end. */
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { SimClock } from '../base/sim-clock.ts';
import type { ApiClient } from './api-client.ts';
import { waitUntil } from './waits.ts';

/** The API server may be away for a while, and the machine may be busy. */
const LIMIT_MS = 300_000;

export interface StepsOptions {
  readonly api: ApiClient;
  readonly clock: SimClock;
  /** Called with one sentence for each step that failed. */
  readonly onFailure: (what: string) => void;
}

/** Owns what is planned. */
export class Steps {
  readonly #options: StepsOptions;
  readonly #cancels = new Set<() => void>();
  #isStopped = false;

  constructor(options: StepsOptions) {
    this.#options = options;
  }

  /** Called at the end. */
  onStop(action: () => void): void {
    this.#cancels.add(action);
  }

  later(simulatedMs: number, what: string, action: () => Promise<void>): void {
    const cancel = this.#options.clock.after(simulatedMs, () => {
      this.#cancels.delete(cancel);
      this.run(what, action);
    });
    this.#cancels.add(cancel);
  }

  run(what: string, action: () => Promise<void>): void {
    if (this.#isStopped) return;
    action().catch((thrown: unknown) => {
      if (!this.#isStopped) this.#options.onFailure(`${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    });
  }

  wait(simulatedMs: number): Promise<void> {
    return new Promise((done) => this.#options.clock.after(simulatedMs, done));
  }

  /** Checks until the condition holds, or everything has stopped. */
  async until(what: string, check: () => Promise<boolean>): Promise<void> {
    await waitUntil({ what, check: async () => this.#isStopped || (await check()), limitMs: LIMIT_MS });
  }

  /** Sends a write until it has a response. It is no failure if the object exists already, or no longer. */
  async write(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown, contentType?: string): Promise<void> {
    await this.until(`${method} ${path}`, async () => {
      const { status, body: reply } = await this.#options.api.call(method, path, body, contentType);
      if (status < 300 || status === 404 || status === 409) return true;
      throw new AutoscalerError({ kind: 'kube-api', status }, JSON.stringify(reply));
    });
  }

  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#cancels) cancel();
  }
}
