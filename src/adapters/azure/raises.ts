/**
 * What is still ours of a set's capacity: raises that nobody else has written over. The tag in the answer to a write is the
 * proof, as equal tags mean equal sets. Known to this process alone: after a restart no raise is ours. Pure bookkeeping.
 */

/** `to` was written by us over `before`; `etag` is the set's tag as long as nobody wrote since. */
export interface Raise {
  readonly before: number;
  readonly to: number;
  readonly etag: string;
}

/** What a write of ours was made over and what Azure answered. */
export interface RaiseWritten {
  /** The capacity that was read together with `condition`; undefined: changes of ours were under way beside. */
  readonly read: number | undefined;
  readonly from: number;
  readonly to: number;
  /** The tag that the write named. */
  readonly condition: string | undefined;
  /** The tag and the capacity in the answer. */
  readonly etag: string | undefined;
  readonly capacity: number | undefined;
}

/** By folded name of the set. */
export class Raises {
  readonly #last = new Map<string, Raise>();

  /** A raise was accepted. Returns it, with what it continues; undefined when it cannot be told what of it is ours. */
  written(group: string, { read, from, to, condition, etag, capacity }: RaiseWritten): Raise | undefined {
    const last = this.#last.get(group);
    this.#last.delete(group);
    if (condition === undefined || etag === undefined || capacity !== to) return undefined;
    const continues = last !== undefined && last.etag === condition && last.to === from;
    if (!continues && read !== from) return undefined;
    const raise = { before: continues ? last.before : from, to, etag };
    this.#last.set(group, raise);
    return raise;
  }

  isLast(group: string, raise: Raise): boolean {
    return this.#last.get(group) === raise;
  }

  /** All of it came, or it is no longer ours to take back. */
  forget(group: string, raise: Raise): void {
    if (this.isLast(group, raise)) this.#last.delete(group);
  }
}
