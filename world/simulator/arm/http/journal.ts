/** The record of every request in order of arrival: enough to reconstruct every change of the world and its writer. */
import type { Trace } from './messages.ts';

export interface JournalEntry extends Trace {
  readonly seq: number;
  /** Milliseconds since the epoch, on the world's clock. */
  readonly at: number;
  /** The HTTP method, or `EVENT` for a change that the world made by itself or that a test raised. */
  readonly method: string;
  /** Method and route template, for example `PUT virtualMachineScaleSets/{name}`. */
  readonly route: string;
  readonly path: string;
  /** `$filter` of a list: lists of one path with other filters are other reads. */
  readonly filter?: string;
  readonly status: number;
  /** Client id of the token; empty without a token. */
  readonly principal: string;
  readonly faultId?: string;
  /** `Retry-After` of the response, as sent. */
  readonly retryAfterSeconds?: number;
}

export class Journal {
  readonly #limit: number;
  readonly #listeners = new Set<(entry: JournalEntry) => void>();
  #entries: JournalEntry[] = [];
  #lastSeq = 0;

  /** Keeps at least the last `limit` entries and at most twice as many. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  nextSeq(): number {
    return ++this.#lastSeq;
  }

  add(entry: JournalEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length > 2 * this.#limit) this.#entries = this.#entries.slice(-this.#limit);
    for (const listener of this.#listeners) listener(entry);
  }

  /** Called with each new entry. Returns a function that unsubscribes. */
  subscribe(listener: (entry: JournalEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Entries with a sequence number above `seq`, in order of arrival. */
  since(seq: number): readonly JournalEntry[] {
    return this.#entries.filter((entry) => entry.seq > seq).sort((left, right) => left.seq - right.seq);
  }
}
