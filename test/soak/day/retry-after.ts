/** Whether the daemon waits as long as Azure says: no request again before the `Retry-After` of its last refusal is over. */
import type { JournalEntry } from '../../../world/simulator/arm/http/journal.ts';

/** Azure counts in whole seconds, and so does the header. */
const SECOND = 1_000;

type Request = Pick<JournalEntry, 'at' | 'method' | 'path' | 'filter' | 'status' | 'retryAfterSeconds' | 'route'>;

export class RetryAfterWatch {
  readonly violations: string[] = [];
  readonly #until = new Map<string, { readonly untilMs: number; readonly sinceMs: number }>();
  #refusals = 0;

  /** Refusals with a `Retry-After` so far. */
  get refusals(): number {
    return this.#refusals;
  }

  /** Requests of one process of the daemon, in order of time. */
  record({ at, method, path, filter = '', status, retryAfterSeconds, route }: Request): void {
    const key = `${method} ${path} ${filter}`.toLowerCase();
    const held = this.#until.get(key);
    if (held !== undefined && at < held.untilMs) {
      this.violations.push(
        `retry-after ${route} again after ${at - held.sinceMs} ms instead of ${held.untilMs - held.sinceMs} ms, at ${at}`,
      );
    }
    this.#until.delete(key);
    if (status < 400 || retryAfterSeconds === undefined) return;
    this.#refusals++;
    this.#until.set(key, { untilMs: at + retryAfterSeconds * SECOND, sinceMs: at });
  }

  /** A new process cannot know what Azure told the one before it. */
  forget(): void {
    this.#until.clear();
  }
}
