/** Publishes the status beside the loop and never in its way. Must not know where the document is kept. */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Policy } from '../../domain/policy.ts';
import type { StatusWriter } from '../../domain/ports/records.ts';
import type { Log } from '../../telemetry/log.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import { describeStatus, initialStatus, type StatusMap, type Transitions } from './status-document.ts';

/** At most one write in this time. */
const LEAST_MS = 10_000;
/** What has not changed is written again after this, so that the age of the document tells that somebody is alive. */
const REFRESH_MS = 60_000;

export interface StatusPublisherDeps {
  readonly writer: StatusWriter;
  readonly policy: Policy;
  readonly clock: Clock;
  readonly log: Log;
}

/** Owns what was last published. One write at a time, in the background; a failed one is tried again after a later loop. */
export class StatusPublisher {
  #deps: StatusPublisherDeps;
  #transitions: Transitions = new Map();
  #published: { readonly substance: string; readonly atMs: number } | undefined;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;

  constructor(deps: StatusPublisherDeps) {
    this.#deps = deps;
  }

  reconfigure(policy: Policy): void {
    this.#deps = { ...this.#deps, policy };
  }

  /** Says that a leader has begun and has not finished a loop yet. */
  begin(signal: AbortSignal): void {
    const nowMs = this.#deps.clock.now();
    this.#offer(initialStatus(nowMs), nowMs, signal);
  }

  /** Publishes what a loop saw, if it is news. A loop that saw nothing leaves the document to grow old. */
  loopEnded(report: LoopReport, signal: AbortSignal): void {
    const { observation, state, scaleDown } = report;
    if (observation === undefined) return;
    const described = describeStatus({ observation, state, scaleDown, policy: this.#deps.policy, before: this.#transitions });
    this.#transitions = described.transitions;
    this.#offer(described.document, this.#deps.clock.now(), signal);
  }

  /** Resolves when the write under way has ended. */
  settled(): Promise<void> {
    return this.#writing;
  }

  /** Takes back what was published, as the Cluster Autoscaler does when it ends. @throws AutoscalerError */
  async end(signal: AbortSignal): Promise<void> {
    await this.#writing;
    if (this.#published === undefined) return;
    this.#published = undefined;
    await this.#deps.writer.remove(signal);
  }

  #offer(document: StatusMap, nowMs: number, signal: AbortSignal): void {
    if (this.#busy || signal.aborted) return;
    const substance = substanceOf(document);
    const last = this.#published;
    // Loops follow each other by timers that may fire a little early; a tenth of the time is forgiven.
    const waitMs = last?.substance === substance ? REFRESH_MS : last === undefined || isFirst(last.substance) ? 0 : LEAST_MS * 0.9;
    if (last !== undefined && nowMs - last.atMs < waitMs) return;
    this.#busy = true;
    this.#writing = this.#write(document, nowMs, signal).then((written) => {
      this.#busy = false;
      if (written) this.#published = { substance, atMs: nowMs };
    });
  }

  async #write(document: StatusMap, atMs: number, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#deps.writer.write({ atMs, document }, signal);
      return true;
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'cancelled') this.#deps.log.warn({ error: error.message }, 'Status could not be written');
      return false;
    }
  }
}

/** What makes a document news: everything but when it was looked at, and how long a group has been left alone. */
function substanceOf(document: StatusMap): string {
  return JSON.stringify(document, (key, value: unknown) => {
    if (key === 'time' || key === 'lastProbeTime') return undefined;
    return key === 'frozen' && typeof value === 'string' ? value.replace(/\d+/g, '#') : value;
  });
}

function isFirst(substance: string): boolean {
  return substance.includes('"Initializing"');
}
