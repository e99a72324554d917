/** The changes since each fork with their undo steps, and the slots that differ from the last observation. */
import { AutoscalerError } from '../../lib/errors.ts';

interface Undo {
  /** Negative if no node changed. */
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

  /** Records a change of a slot. Without a fork the change is permanent, and only the slot is recorded. */
  record(slot: number, undo: () => void): void {
    if (this.isForked) this.#log.push({ slot, undo });
    else this.dirty.add(slot);
  }

  /** Records a change that is not about a slot. */
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

  /** How many changes there were since the innermost fork. @throws AutoscalerError `bug` without a fork. */
  get left(): number {
    const mark = this.#forks.at(-1);
    if (mark === undefined) throw bug('There is no fork to revert.');
    return this.#log.length - mark;
  }

  /** Undoes the newest of these. */
  undoNewest(count: number): void {
    const keeps = this.#log.length - Math.min(count, this.left);
    while (this.#log.length > keeps) this.#log.pop()?.undo();
  }

  /** Returns whether there was anything to undo. @throws AutoscalerError `bug` without a fork. */
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
