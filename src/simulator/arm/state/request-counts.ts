/** Counts repetitions of each request. */
import type { ArmRequest } from '../http/messages.ts';

/** Owns the counts of a world. */
export class RequestCounts {
  readonly #counts = new Map<string, number>();

  /** The name of this request and its repetition. It is the same in every run, whatever other requests were sent. */
  next({ method, path }: Pick<ArmRequest, 'method' | 'path'>): string {
    const key = `${method} ${path.toLowerCase()}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return `${key}|${count}`;
  }
}
