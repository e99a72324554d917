/** A shared text in memory: what the processes of one test share, in virtual time. Locks end by a clock. */
import type { PublishedText, SharedText } from '../../src/domain/ports/shared-text.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';

interface Lock {
  readonly by: string;
  readonly epoch: number;
  readonly untilMs: number;
}

/** The server: one place for all processes. */
export class MemoryTextServer {
  readonly #now: () => number;
  readonly #claimMs: number;
  #lock: Lock | undefined;
  #record: PublishedText | undefined;
  /** While set, every call rejects. */
  isAway = false;
  /** While set, no call is answered. */
  isStopped = false;

  constructor(now: () => number, claimMs = 180_000) {
    this.#now = now;
    this.#claimMs = claimMs;
  }

  /** Replaces the record, as a server that lies does. undefined: wiped. */
  put(record: PublishedText | undefined): void {
    this.#record = record;
    if (record === undefined) this.#lock = undefined;
  }

  get record(): PublishedText | undefined {
    return this.#record;
  }

  /** The share as one process sees it. */
  of(process: string): SharedText {
    return {
      latest: () => this.#call(() => this.#record && { ...this.#record, by: this.#record.by === process ? undefined : this.#record.by }),
      claim: (epoch) =>
        this.#call(() => {
          if (this.#lock !== undefined && this.#lock.untilMs > this.#now()) return false;
          this.#lock = { by: process, epoch, untilMs: this.#now() + this.#claimMs };
          return true;
        }),
      release: (epoch, restMs = 0) => this.#call(() => void this.#end(process, epoch, restMs)),
      publish: (epoch, text, restMs = 0) =>
        this.#call(() => {
          if ((this.#record?.epoch ?? 0) >= epoch || !this.#end(process, epoch, restMs)) return false;
          this.#record = { epoch, text, by: process };
          return true;
        }),
    };
  }

  /** Whether the lock was the process's own. */
  #end(process: string, epoch: number, restMs: number): boolean {
    const lock = this.#lock;
    if (lock?.by !== process || lock.epoch !== epoch || lock.untilMs <= this.#now()) return false;
    this.#lock = { by: '', epoch, untilMs: this.#now() + restMs };
    return true;
  }

  #call<Result>(work: () => Result): Promise<Result> {
    if (this.isStopped) return new Promise(() => undefined);
    if (this.isAway)
      return Promise.reject(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'The shared store cannot be used.'));
    return Promise.resolve(work());
  }
}
