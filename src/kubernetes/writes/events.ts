/**
 * Sends events in the background: repeats become a count, the queue is bounded and the rate is limited. An event that
 * cannot be sent is counted and dropped; it never delays or fails a decision. Must not know why events are recorded.
 */
import { untilAborted } from '../../lib/abort.ts';
import { Allowance, limitOfRate, waitForAllowance } from '../../lib/allowance.ts';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError, asAutoscalerError } from '../../lib/errors.ts';
import { stableHash } from '../../lib/random.ts';
import type { AutoscalerEvent, EventRecorder, EventSubject } from '../../domain/ports/records.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { retrying, type Retry } from '../api/backoff.ts';
import type { Rest } from '../api/rest.ts';
import { EventQueue } from './event-queue.ts';

interface EventRecorderDeps {
  readonly rest: Rest;
  readonly clock: Clock;
  readonly retry: Retry;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly source: string;
  readonly identity: string;
  readonly limits?: Partial<EventLimits>;
}

interface EventLimits {
  readonly queued: number;
  readonly perSecond: number;
  readonly burst: number;
  readonly foldMs: number;
  /** Minimum time between two writes of a repeat: an event that repeats for weeks must not cost one write per loop. */
  readonly resendMs: number;
}

const DEFAULT_LIMITS: EventLimits = { queued: 1_000, perSecond: 20, burst: 50, foldMs: 600_000, resendMs: 60_000 };
/** The API server refuses longer notes. */
const MESSAGE_LIMIT = 1_024;
const REMEMBERED = 4_096;

/** One event object in the API, and how often it happened. */
interface Series {
  readonly key: string;
  readonly event: AutoscalerEvent;
  readonly firstAtMs: number;
  lastAtMs: number;
  count: number;
  /** Whether it waits in the queue. */
  queued: boolean;
  /** Set once the event exists in the API. */
  path: string | undefined;
  sentAtMs: number | undefined;
}

/** Holds the queue and its single sender. */
export class QueuedEventRecorder implements EventRecorder {
  readonly #deps: EventRecorderDeps;
  readonly #limits: EventLimits;
  readonly #series = new Map<string, Series>();
  readonly #stop = new AbortController();
  readonly #queue: EventQueue<Series>;
  #sending: Promise<void> | undefined;
  readonly #allowance: Allowance;
  #serial = 0;

  constructor(deps: EventRecorderDeps) {
    this.#deps = deps;
    this.#limits = { ...DEFAULT_LIMITS, ...deps.limits };
    this.#queue = new EventQueue(this.#limits.queued);
    this.#allowance = new Allowance(limitOfRate(this.#limits));
  }

  record(event: AutoscalerEvent): void {
    if (this.#stop.signal.aborted) return;
    const now = this.#deps.clock.now();
    const series = this.#seriesOf(event, now);
    series.count += 1;
    series.lastAtMs = now;
    if (series.queued || (series.sentAtMs !== undefined && now - series.sentAtMs < this.#limits.resendMs)) return;
    series.queued = true;
    const displaced = this.#queue.add(series);
    if (displaced !== undefined) this.#drop(displaced, 'the queue is full');
    this.#sending ??= this.#send();
  }

  /** Series that a repeat would still be added to, and ended ones that the next event removes. */
  get remembered(): number {
    return this.#series.size;
  }

  async flush(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#sending ?? Promise.resolve(), signal);
  }

  /** Drops what is queued. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#sending;
  }

  #seriesOf(event: AutoscalerEvent, now: number): Series {
    const message = event.message.slice(0, MESSAGE_LIMIT);
    const key = JSON.stringify([event.subject, event.type, event.reason, message]);
    this.#forgetEnded(now);
    const known = this.#series.get(key);
    const series = known ?? newSeries(key, { ...event, message }, now);
    // The series that was silent for longest is the first.
    this.#series.delete(key);
    this.#series.set(key, series);
    const oldest = this.#series.keys().next().value;
    if (this.#series.size > REMEMBERED && oldest !== undefined) this.#series.delete(oldest);
    return series;
  }

  /** No repeat is added to a series that was silent for so long. A removal of 1,200 nodes records thousands, a kilobyte each. */
  #forgetEnded(now: number): void {
    for (const { key, lastAtMs } of this.#series.values()) {
      if (now - lastAtMs <= this.#limits.foldMs) return;
      this.#series.delete(key);
    }
  }

  /** Never rejects. */
  async #send(): Promise<void> {
    try {
      for (let series = this.#queue.take(); series !== undefined; series = this.#queue.take()) {
        await this.#untilAllowed();
        series.queued = false;
        await this.#sendOne(series);
      }
    } catch {
      // Only the stop signal ends the wait for a token. The remaining events were not sent.
      for (let series = this.#queue.take(); series !== undefined; series = this.#queue.take()) this.#drop(series, 'stopped');
    } finally {
      this.#sending = undefined;
    }
  }

  async #sendOne(series: Series): Promise<void> {
    try {
      await retrying(this.#deps.retry, () => this.#write(series), this.#stop.signal);
      series.sentAtMs = this.#deps.clock.now();
    } catch (thrown) {
      this.#drop(series, asAutoscalerError(thrown).message);
    }
  }

  async #write(series: Series): Promise<void> {
    const { rest } = this.#deps;
    if (series.path !== undefined) {
      const body = { count: series.count, lastTimestamp: timestamp(series.lastAtMs) };
      try {
        await rest.json(
          {
            method: 'PATCH',
            path: series.path,
            body,
            contentType: 'application/merge-patch+json',
            operation: 'event',
            ignoresAnswer: true,
          },
          this.#stop.signal,
        );
        return;
      } catch (thrown) {
        // Events expire after about an hour. An expired one is created again.
        if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
        series.path = undefined;
      }
    }
    const { collection, body } = this.#compose(series);
    await rest.json({ method: 'POST', path: collection, body, operation: 'event', ignoresAnswer: true }, this.#stop.signal);
    series.path = `${collection}/${encodeURIComponent(body.metadata.name)}`;
  }

  #compose(series: Series) {
    const { source, identity } = this.#deps;
    const { event } = series;
    const namespace = event.subject.kind === 'Node' ? 'default' : event.subject.namespace;
    this.#serial += 1;
    const unique = `${series.firstAtMs.toString(16)}${stableHash(`${identity} ${series.key} ${this.#serial}`).toString(16).padStart(8, '0')}`;
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name: `${event.subject.name}.${unique}` },
      involvedObject: referenceTo(event.subject),
      type: event.type,
      reason: event.reason,
      message: event.message,
      count: series.count,
      firstTimestamp: timestamp(series.firstAtMs),
      lastTimestamp: timestamp(series.lastAtMs),
      source: { component: source },
      reportingComponent: source,
      reportingInstance: identity,
    };
    return { collection: `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`, body };
  }

  /** Rejects when stopped. */
  async #untilAllowed(): Promise<void> {
    if (this.#stop.signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'The event recorder was stopped.');
    await waitForAllowance(this.#allowance, this.#deps.clock, this.#stop.signal);
  }

  #drop(series: Series, why: string): void {
    series.queued = false;
    // Thousands of events that were never sent would displace those whose repeats can still be counted.
    if (series.path === undefined && this.#series.get(series.key) === series) this.#series.delete(series.key);
    this.#deps.metrics.cluster.eventsDropped.inc();
    this.#deps.log.debug({ reason: series.event.reason, subject: series.event.subject.name, why }, 'Event dropped');
  }
}

/** The API of each kind that is not in `v1`. */
const APIS: Partial<Readonly<Record<EventSubject['kind'], string>>> = {
  CapacityBuffer: 'autoscaling.x-k8s.io/v1beta1',
  ProvisioningRequest: 'autoscaling.x-k8s.io/v1',
  ReplicaSet: 'apps/v1',
  StatefulSet: 'apps/v1',
  Job: 'batch/v1',
  PodGroup: 'scheduling.k8s.io/v1alpha2',
  Workload: 'scheduling.k8s.io/v1alpha1',
};

function referenceTo(subject: EventSubject): Readonly<Record<string, string>> {
  const { kind, name } = subject;
  const uid = subject.kind === 'ConfigMap' ? {} : { uid: subject.uid };
  return {
    apiVersion: APIS[kind] ?? 'v1',
    kind,
    name,
    ...(subject.kind === 'Node' ? {} : { namespace: subject.namespace }),
    ...uid,
  };
}

/** Whole seconds, as the API writes its Time. */
function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function newSeries(key: string, event: AutoscalerEvent, nowMs: number): Series {
  return { key, event, firstAtMs: nowMs, lastAtMs: nowMs, count: 0, queued: false, path: undefined, sentAtMs: undefined };
}
