/** Violations of the write-safety rules in the world. A run passes only if the list is empty. */
export interface Violation {
  readonly rule:
    | 'capacity-lowered-by-put'
    | 'below-min'
    | 'above-max'
    | 'node-deleted-with-pods'
    | 'instance-deleted-that-was-never-named'
    | 'lost-update';
  readonly subject: string;
  readonly detail: string;
  readonly atMs: number;
}

export class ViolationLog {
  readonly #entries: Violation[] = [];

  add(violation: Violation): void {
    this.#entries.push(violation);
  }

  list(): readonly Violation[] {
    return [...this.#entries];
  }
}

/** The names under which the ARM side lets other writers write. */
export function isForeignByName(principal: string): boolean {
  return principal.startsWith('foreign') || principal === 'aks-resource-provider';
}
