/**
 * Operations that were in progress in scale sets when this process began to read, perhaps those of a previous leader. Sends no call.
 * Idea: operation.
 */

/** The limit for an operation whose end is not seen. */
const INHERITED_FOR_MS = 10 * 60_000;

interface SeenSet {
  /** Whether an operation is in progress in the scale set as last read. */
  readonly updating: boolean;
  /** Start of the last complete list of its instances, ms since the epoch. */
  readonly listedAtMs: number;
  readonly nowMs: number;
}

export class InheritedOperations {
  readonly #operations = new Map<string, { readonly sinceMs: number; readonly endedAtMs: number | undefined }>();

  /** An operation was in progress in the scale set when this process began to read. */
  note(group: string, nowMs: number): void {
    this.#operations.set(group, { sinceMs: nowMs, endedAtMs: undefined });
  }

  /**
   * Whether an operation that was in progress at the start may still add or remove instances. It is over once the scale set was
   * read in another state and its instances were listed after that, and in any case after ten minutes.
   */
  mayGoOn(group: string, { updating, listedAtMs, nowMs }: SeenSet): boolean {
    const operation = this.#operations.get(group);
    if (operation === undefined) return false;
    const endedAtMs = updating ? undefined : (operation.endedAtMs ?? nowMs);
    const isOver = nowMs - operation.sinceMs >= INHERITED_FOR_MS || (endedAtMs !== undefined && listedAtMs >= endedAtMs);
    if (isOver) this.#operations.delete(group);
    else this.#operations.set(group, { ...operation, endedAtMs });
    return !isOver;
  }

  /** Whether the end of the operation still needs a list as proof. */
  awaitsProof(group: string): boolean {
    return this.#operations.get(group)?.endedAtMs !== undefined;
  }
}
