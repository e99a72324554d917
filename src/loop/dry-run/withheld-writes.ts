/**
 * What a dry run would have written, once each: a wish that stands is one entry however many loops have it, and one log
 * line. Knows no port.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** A closed set, used as a metric label. */
export type WithheldKind = 'increase' | 'delete-instances' | 'taint' | 'untaint' | 'evict' | 'event' | 'status' | 'delete-object';

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

/** A wish that was not had for so long is news again. */
const FORGOTTEN_AFTER_MS = 3_600_000;
const REMEMBERED = 2_000;
/** Events and soft marks are many and follow from the rest: they are on record, and in the log on request. */
const DETAILS: ReadonlySet<WithheldKind> = new Set(['event', 'taint', 'untaint', 'status']);

/** Owns the record of a dry run, the newest wishes last. Bounded: the oldest are forgotten first. */
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
    if (DETAILS.has(kind)) log.debug(facts, 'withheld: this would have been written');
    else log.info(facts, 'withheld: this would have been written');
  }

  /** Oldest first by when each was last wished for. */
  list(): readonly WithheldWrite[] {
    return [...this.#known.values()];
  }
}
