/**
 * A refusal (403) is not believed at once: a real API server refuses for a while after its own start, until its roles are
 * made, and a chart's RoleBinding may come after its Deployment. A bad credential (401) is told at once.
 */
import type { AutoscalerError } from '../../domain/errors.ts';
import { statusOf } from './api-errors.ts';

/** How long refusals are borne with, milliseconds. */
export const REFUSAL_GRACE_MS = 60_000;

const FORBIDDEN = 403;

/** Owns since when the same asker has been refused. */
export class RefusalGrace {
  readonly #graceMs: number;
  #sinceMs: number | undefined;

  constructor(graceMs = REFUSAL_GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Whether to give up. `nowMs` is monotonic. An answer of any other kind begins the time anew. */
  isOver(error: AutoscalerError, nowMs: number): boolean {
    if (error.kind !== 'auth') {
      this.#sinceMs = undefined;
      return false;
    }
    if (statusOf(error) !== FORBIDDEN) return true;
    this.#sinceMs ??= nowMs;
    return nowMs - this.#sinceMs >= this.#graceMs;
  }
}
