/**
 * Refreshes that operators request: at most one starts in ten seconds, since each one lists scale sets and instances. The
 * first starts at once. Requests that come too early start together at the end of the ten seconds, so each is followed by
 * a read that began after it. Must not know what a refresh reads.
 */
import type { Clock } from '../lib/clock.ts';

interface RefreshDeps {
  readonly clock: Clock;
  /** Cancels refreshes that have not started. */
  readonly signal: AbortSignal;
  /** Starts the refresh of these groups. undefined: of all node groups. */
  readonly start: (groups: ReadonlySet<string> | undefined) => void;
}

const MIN_INTERVAL_MS = 10_000;

export class RefreshRequests {
  readonly #deps: RefreshDeps;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  /** The groups of the next refresh; `all` for all node groups. undefined: none is requested. */
  #next: Set<string> | 'all' | undefined;

  constructor(deps: RefreshDeps) {
    this.#deps = deps;
  }

  /**
   * Requests a refresh of one group, or of all of them if it is undefined.
   * @returns the time until it starts in milliseconds, 0 if it has started.
   */
  request(group: string | undefined): number {
    const { clock } = this.#deps;
    const waitMs = Math.max(0, this.#startedAtMs + MIN_INTERVAL_MS - clock.monotonic());
    const isWaiting = this.#next !== undefined;
    this.#next = group === undefined || this.#next === 'all' ? 'all' : new Set([...(this.#next ?? []), group]);
    if (isWaiting) return waitMs;
    // guard: refreshes by operators are at most one in ten seconds
    if (waitMs === 0) this.#startNext();
    else void this.#startAfter(waitMs);
    return waitMs;
  }

  async #startAfter(waitMs: number): Promise<void> {
    const { clock, signal } = this.#deps;
    try {
      await clock.sleep(waitMs, signal);
    } catch {
      // Cancelled: the daemon stops.
      return;
    }
    this.#startNext();
  }

  #startNext(): void {
    const next = this.#next;
    if (next === undefined) return;
    this.#next = undefined;
    this.#startedAtMs = this.#deps.clock.monotonic();
    this.#deps.start(next === 'all' ? undefined : next);
  }
}
