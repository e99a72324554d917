/** Counts how often each thing was asked for. */
import type { ArmRequest } from '../http/messages.ts';

/** Owns the counts of a world. */
export class RequestCounts {
  readonly #counts = new Map<string, number>();

  /** The name of this request: the same in every run in which the same was asked as often before, whatever else was asked. */
  next({ method, path }: Pick<ArmRequest, 'method' | 'path'>): string {
    const asked = `${method} ${path.toLowerCase()}`;
    const count = (this.#counts.get(asked) ?? 0) + 1;
    this.#counts.set(asked, count);
    return `${asked}|${count}`;
  }
}
