/** Publishes the status document in the background of the loop. Must not know where the document is stored. */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import { defined } from '../../lib/defined.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Policy } from '../../domain/policy.ts';
import type { StatusValue, StatusWriter } from '../../domain/ports/records.ts';
import type { Log } from '../../telemetry/log.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import { describeExplanations, type FixOf } from './explanations.ts';
import { describeStatus, initialStatus, type StatusMap, type Transitions } from './status-document.ts';

/** Minimum time between two writes. */
const MIN_INTERVAL_MS = 10_000;
/** An unchanged document is written again after this time, so that its age shows that the autoscaler is alive. */
const REFRESH_MS = 60_000;

interface StatusPublisherDeps {
  readonly writer: StatusWriter;
  readonly policy: Policy;
  readonly clock: Clock;
  readonly log: Log;
  /** If absent, no fixes are known. */
  readonly fixOf?: FixOf;
}

/** Owns the last published document. One write runs at a time, in the background. A failed one is repeated after a later loop. */
export class StatusPublisher {
  #deps: StatusPublisherDeps;
  #transitions: Transitions = new Map();
  #published: { readonly document: StatusMap; readonly atMs: number } | undefined;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;
  /** The newest document that was offered while a write was under way. */
  #offered: { readonly document: StatusMap; readonly nowMs: number } | undefined;

  constructor(deps: StatusPublisherDeps) {
    this.#deps = deps;
  }

  reconfigure(policy: Policy): void {
    this.#deps = { ...this.#deps, policy };
  }

  /** Publishes that a leader has started and has not completed a loop yet. */
  begin(signal: AbortSignal): void {
    const nowMs = this.#deps.clock.now();
    this.#offer(initialStatus(nowMs), nowMs, signal);
  }

  /** Publishes the result of a loop if it changed. A loop without an observation publishes nothing. */
  loopEnded(report: LoopReport, signal: AbortSignal): void {
    const { observation, state, scaleDown } = report;
    if (observation === undefined) return;
    const described = describeStatus({ observation, state, scaleDown, policy: this.#deps.policy, before: this.#transitions });
    this.#transitions = described.transitions;
    const explanations = describeExplanations(report, this.#deps.fixOf ?? (() => undefined));
    this.#offer({ ...described.document, ...defined({ explanations }) }, this.#deps.clock.now(), signal);
  }

  /** Resolves when the write under way has ended. */
  settled(): Promise<void> {
    return this.#writing;
  }

  /** Removes the document at the end, as the Cluster Autoscaler does. @throws AutoscalerError */
  async end(signal: AbortSignal): Promise<void> {
    await this.#writing;
    if (this.#published === undefined) return;
    this.#published = undefined;
    await this.#deps.writer.remove(signal);
  }

  #offer(document: StatusMap, nowMs: number, signal: AbortSignal): void {
    if (signal.aborted) return;
    if (this.#busy) {
      // guard: a status that is offered while another is written is not lost
      this.#offered = { document, nowMs };
      return;
    }
    const last = this.#published;
    if (last !== undefined && nowMs - last.atMs < waitMs(last.document, document)) return;
    this.#busy = true;
    this.#writing = this.#write(document, nowMs, signal).then((written) => {
      this.#busy = false;
      if (written) this.#published = { document, atMs: nowMs };
      const offered = this.#offered;
      this.#offered = undefined;
      if (!written || offered === undefined) return undefined;
      this.#offer(offered.document, offered.nowMs, signal);
      return this.#busy ? this.#writing : undefined;
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

/** The least time after the published document, ms. */
function waitMs(published: StatusMap, document: StatusMap): number {
  if (isDeepStrictEqual(substanceOf(published), substanceOf(document))) return REFRESH_MS;
  // The loop's timers may fire early, so a tenth of the time is tolerated.
  return published['autoscalerStatus'] === 'Initializing' ? 0 : MIN_INTERVAL_MS * 0.9;
}

const PROBE_TIMES: ReadonlySet<string> = new Set(['time', 'lastProbeTime']);
const WITH_AGES: ReadonlySet<string> = new Set(['frozen', 'held']);

/** The part of a document whose change matters: everything but probe times and how long a group has been frozen. */
function substanceOf(value: StatusValue, key = ''): StatusValue {
  if (typeof value === 'string') return WITH_AGES.has(key) ? value.replace(/\d+/g, '#') : value;
  if (typeof value !== 'object') return value;
  const parts = Object.entries(value).filter(([name]) => !PROBE_TIMES.has(name));
  return Object.fromEntries(parts.map(([name, part]) => [name, substanceOf(part, name)]));
}
