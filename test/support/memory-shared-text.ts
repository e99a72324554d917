/** A shared text in memory: what the processes of one test share, in virtual time. Claims end by a clock. */
import type { SharedText } from '../../src/domain/ports/shared-text.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';

/** The server: one place for all processes. */
export class MemoryTextServer {
  readonly #now: () => number;
  readonly #claimMs: number;
  readonly #claims = new Map<number, { readonly by: string; readonly untilMs: number }>();
  #record: { readonly epoch: number; readonly text: string } | undefined;
  /** While set, every call rejects. */
  isAway = false;

  constructor(now: () => number, claimMs = 180_000) {
    this.#now = now;
    this.#claimMs = claimMs;
  }

  /** Replaces the record, as a server that lies does. undefined: wiped. */
  put(record: { readonly epoch: number; readonly text: string } | undefined): void {
    this.#record = record;
  }

  /** The share as one process sees it. */
  of(process: string): SharedText {
    return {
      latest: () => this.#call(() => this.#record),
      claim: (epoch) =>
        this.#call(() => {
          const claim = this.#claims.get(epoch);
          if (claim !== undefined && claim.untilMs > this.#now()) return false;
          this.#claims.set(epoch, { by: process, untilMs: this.#now() + this.#claimMs });
          return true;
        }),
      release: (epoch) =>
        this.#call(() => {
          if (this.#claims.get(epoch)?.by === process) this.#claims.delete(epoch);
        }),
      publish: (epoch, text) =>
        this.#call(() => {
          const claim = this.#claims.get(epoch);
          if (claim?.by !== process || claim.untilMs <= this.#now() || (this.#record?.epoch ?? 0) >= epoch) return false;
          this.#record = { epoch, text };
          this.#claims.delete(epoch);
          return true;
        }),
    };
  }

  #call<Result>(work: () => Result): Promise<Result> {
    if (this.isAway)
      return Promise.reject(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'The shared store cannot be used.'));
    return Promise.resolve(work());
  }
}
