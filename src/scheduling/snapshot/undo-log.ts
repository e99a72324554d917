/** What was changed since which fork, and how to undo it; and which slots are no longer what the last view said. */
import { AutoscalerError } from '../../lib/errors.ts';

interface Undo {
  /** Negative: touches no node. */
  readonly slot: number;
  readonly undo: () => void;
}

export class UndoLog {
  #log: Undo[] = [];
  readonly #forks: number[] = [];
  readonly dirty = new Set<number>();

  get isForked(): boolean {
    return this.#forks.length > 0;
  }

  /** A change of a slot. Without a fork it stays, and only the slot is remembered. */
  record(slot: number, undo: () => void): void {
    if (this.isForked) this.#log.push({ slot, undo });
    else this.dirty.add(slot);
  }

  /** A change that is of no slot. */
  recordAside(undo: () => void): void {
    if (this.isForked) this.#log.push({ slot: -1, undo });
  }

  fork(): void {
    this.#forks.push(this.#log.length);
  }

  /** @throws AutoscalerError `bug` without a fork. */
  commit(): void {
    if (this.#forks.pop() === undefined) throw bug('There is no fork to commit.');
    if (this.isForked) return;
    for (const { slot } of this.#log) if (slot >= 0) this.dirty.add(slot);
    this.#log = [];
  }

  /** Whether there was anything to undo. @throws AutoscalerError `bug` without a fork. */
  revert(): boolean {
    const mark = this.#forks.pop();
    if (mark === undefined) throw bug('There is no fork to revert.');
    const any = this.#log.length > mark;
    while (this.#log.length > mark) this.#log.pop()?.undo();
    return any;
  }
}

export function bug(message: string): AutoscalerError {
  return new AutoscalerError({ kind: 'bug' }, message);
}
