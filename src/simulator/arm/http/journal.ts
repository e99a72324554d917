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
  readonly status: number;
  /** Client id of the token; empty without a token. */
  readonly principal: string;
  readonly faultId?: string;
}

export class Journal {
  readonly #limit: number;
  readonly #entries: JournalEntry[] = [];
  #lastSeq = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  nextSeq(): number {
    return ++this.#lastSeq;
  }

  add(entry: JournalEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length > this.#limit) this.#entries.splice(0, this.#entries.length - this.#limit);
  }

  /** Entries with a sequence number above `seq`, in order of arrival. */
  since(seq: number): readonly JournalEntry[] {
    return this.#entries.filter((entry) => entry.seq > seq).sort((left, right) => left.seq - right.seq);
  }
}
