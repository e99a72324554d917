/**
 * What does not work, by what was tried. Trouble is logged once until all of it is over; if it comes and goes, once in ten minutes. Must
 * not know how anything is tried.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';

const LOG_EVERY_MS = 10 * 60_000;

export class StoreTroubles {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #log: Log;
  /** Empty while all is well. Reads that work do not end the trouble of writes: the log would report both in turns. */
  readonly #reasons = new Map<string, string>();
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #isLogged = false;

  constructor(clock: Pick<Clock, 'monotonic'>, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The first reason. undefined: all is well, or was never tried. */
  get reason(): string | undefined {
    return this.#reasons.values().next().value;
  }

  /** Something is wrong, and what happens next says why: nothing is logged yet. */
  suspected(what: string, reason: string): void {
    this.#reasons.set(what, reason);
  }

  failed(what: string, reason: string): void {
    this.#reasons.set(what, reason);
    if (this.#isLogged || this.#clock.monotonic() - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#isLogged = true;
    this.#loggedAtMs = this.#clock.monotonic();
    this.#log.warn({ what, reason }, 'Shared store cannot be used; this process reads for itself');
  }

  recovered(what: string): void {
    const was = this.#reasons.get(what);
    if (!this.#reasons.delete(what) || this.#reasons.size > 0 || !this.#isLogged) return;
    this.#isLogged = false;
    this.#log.info({ what, was }, 'Shared store can be used again');
  }
}
