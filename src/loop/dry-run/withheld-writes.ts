/**
 * The record of what a dry run would have written. A write that many loops repeat is one entry and one log line. Must not
 * know any port.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** A closed set, used as a metric label. */
type WithheldKind =
  | 'increase'
  | 'delete-instances'
  | 'reimage-instance'
  | 'taint'
  | 'untaint'
  | 'evict'
  | 'event'
  | 'status'
  | 'delete-object'
  | 'nominate';

export interface WithheldWrite {
  readonly kind: WithheldKind;
  /** The group, node, pod or object that would have been changed. */
  readonly subject: string;
  readonly detail: string;
  /** Milliseconds since the epoch. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly times: number;
}

export interface WithheldDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** A write that was not repeated for this long is logged again. */
const FORGOTTEN_AFTER_MS = 3_600_000;
const REMEMBERED = 2_000;
/** These are many and follow from the rest, so they are logged at debug level only. */
const DETAILS: ReadonlySet<WithheldKind> = new Set(['event', 'taint', 'untaint', 'status', 'nominate']);

/** Owns the record of a dry run, newest last. It is bounded: the oldest entries are dropped first. */
export class WithheldWrites {
  readonly #deps: WithheldDeps;
  readonly #known = new Map<string, WithheldWrite>();

  constructor(deps: WithheldDeps) {
    this.#deps = deps;
  }

  record(kind: WithheldKind, subject: string, detail: string): void {
    const { clock, log, metrics } = this.#deps;
    const nowMs = clock.now();
    const key = JSON.stringify([kind, subject, detail]);
    const known = this.#known.get(key);
    const stands = known !== undefined && nowMs - known.lastAtMs <= FORGOTTEN_AFTER_MS;
    this.#known.delete(key);
    this.#known.set(key, {
      kind,
      subject,
      detail,
      firstAtMs: stands ? known.firstAtMs : nowMs,
      lastAtMs: nowMs,
      times: (stands ? known.times : 0) + 1,
    });
    const oldest = this.#known.keys().next().value;
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    metrics.dryRun.withheld.inc({ kind });
    if (stands) return;
    const facts = { write: kind, subject, detail };
    if (DETAILS.has(kind)) log.debug(facts, 'Write withheld by the dry run');
    else log.info(facts, 'Write withheld by the dry run');
  }

  /** Sorted by the time each write was last withheld, oldest first. */
  list(): readonly WithheldWrite[] {
    return [...this.#known.values()];
  }
}
