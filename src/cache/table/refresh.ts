/**
 * Reads of single rows on demand. Per key, one read runs and one is queued: a request during a run needs the next run,
 * since the running one began too early. Many queued rows of one scope become one list. Must not know what a read is:
 * the adapter reads keys and scopes.
 */
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { callHook, type CacheHooks } from './hooks.ts';
import type { Slots } from '../concurrency.ts';
import { Want } from '../want.ts';
import { withTimeout } from '../../lib/abort.ts';

export interface OnDemandDeps {
  /** Table name, for metrics. */
  readonly name: string;
  readonly clock: Clock;
  /** Shared with the agent scheduler; on-demand reads go first. */
  readonly slots: Slots;
  /** One GET, whose result goes to `table.observe` or, on 404, to `table.observeGone`. Takes its stamp when it is sent. */
  readonly readOne: (key: string, signal: AbortSignal) => Promise<void>;
  /** One list of the scope. It gets no slot, so it may be `scheduler.want(agentId).served(signal)`, which takes one. */
  readonly readScope: (scope: string, signal: AbortSignal) => Promise<void>;
  /** For one read, without the wait for a slot. */
  readonly timeoutMs: number;
  /** More queued keys of one scope than this become one list. */
  readonly listAbove: number;
  readonly hooks: CacheHooks;
}

/** One read that is queued or running, and what it serves. */
interface Job {
  readonly kind: 'key' | 'scope';
  readonly name: string;
  readonly scope: string;
  readonly want: Want;
  /** How often the read has failed in a row. */
  readonly failures: number;
}

/** A failed read is repeated after these times, or after the time that the server asks for. Then the next list must show the row. */
const RETRIES_MS = [5_000, 15_000, 45_000] as const;

export class OnDemand {
  readonly #deps: OnDemandDeps;
  readonly #hooks: CacheHooks;
  readonly #stopped = new AbortController();
  /** At most one of each per key or scope; the map's key is the job's. */
  readonly #running = new Map<string, Job>();
  readonly #queued = new Map<string, Job>();
  /** Pauses before failed reads are repeated, by key. A read that succeeds ends them. */
  readonly #pauses = new Map<string, AbortController>();

  constructor(deps: OnDemandDeps) {
    this.#deps = deps;
    this.#hooks = deps.hooks;
  }

  /** Wants a read of the key that begins after this call. Once stopped, nothing is read, and a caller that waits gets `cancelled`. */
  want(key: string, scope: string): Want {
    return this.#stopped.signal.aborted ? Want.refused(stopped()) : this.#enqueue(key, scope).want;
  }

  /** Aborts running reads and drops queued ones. Waiting callers get `cancelled`. */
  stop(): void {
    this.#stopped.abort();
    for (const { want } of this.#queued.values()) want.settle(stopped());
    this.#queued.clear();
  }

  #enqueue(key: string, scope: string, failures = 0): Job {
    const list = this.#queued.get(`scope:${scope}`);
    const queued = list ?? this.#queued.get(`key:${key}`);
    if (queued !== undefined) {
      this.#reportOutcome('merged');
      return queued;
    }
    const job: Job = { kind: 'key', name: key, scope, want: new Want(), failures };
    this.#queued.set(`key:${key}`, job);
    const listed = this.#mergeIntoList(scope);
    this.#start(listed ?? job);
    return listed ?? job;
  }

  /** Replaces the queued reads of a scope by one list if there are too many of them. */
  #mergeIntoList(scope: string): Job | undefined {
    const jobs = [...this.#queued.values()].filter((job) => job.kind === 'key' && job.scope === scope);
    if (jobs.length <= this.#deps.listAbove) return undefined;
    const list: Job = { kind: 'scope', name: scope, scope, want: new Want(), failures: 0 };
    for (const job of jobs) {
      this.#queued.delete(`key:${job.name}`);
      job.want.joinTo(list.want);
    }
    this.#queued.set(`scope:${scope}`, list);
    this.#reportOutcome('listed');
    return list;
  }

  #start(job: Job): void {
    void this.#startWhenFree(job);
  }

  /** Never rejects. A job that was merged into a list while it waited for its slot does not run. */
  async #startWhenFree(job: Job): Promise<void> {
    const id = `${job.kind}:${job.name}`;
    if (this.#running.has(id)) return;
    // Requests within one turn of the event loop are collected first, so that fifty of them become one list.
    await Promise.resolve();
    const release = job.kind === 'key' ? await this.#deps.slots.take() : undefined;
    if (this.#queued.get(id) === job) await this.#run(id, job);
    release?.();
    const next = this.#queued.get(id);
    if (next !== undefined) this.#start(next);
  }

  async #run(id: string, job: Job): Promise<void> {
    this.#queued.delete(id);
    this.#running.set(id, job);
    try {
      await this.#read(job);
      this.#pauses.get(job.name)?.abort();
      this.#reportOutcome('refreshed');
      job.want.settle(undefined);
    } catch (thrown) {
      this.#reportOutcome('failed');
      const error = asAutoscalerError(thrown);
      job.want.settle(error);
      // guard: a failed read is tried again
      void this.#readAgain(job, error);
    } finally {
      this.#running.delete(id);
    }
  }

  /**
   * Whatever the read was for is still unknown: after a write, the row stays unconfirmed. A list has its own retries. Never rejects.
   */
  async #readAgain({ kind, name, scope, failures }: Job, error: AutoscalerError): Promise<void> {
    const pauseMs = RETRIES_MS[failures];
    if (kind === 'scope' || pauseMs === undefined || error.kind === 'cancelled') return;
    const requestedMs = error.detail.kind === 'throttled' ? error.detail.retryAfterMs : error.retryAfterMs;
    const isOver = await this.#pause(name, Math.max(pauseMs, requestedMs ?? 0));
    // A read that is queued or running by now serves the same purpose.
    const id = `key:${name}`;
    if (isOver && !this.#queued.has(id) && !this.#running.has(id)) this.#enqueue(name, scope, failures + 1);
  }

  /** False if the pause ended early: a read succeeded or failed in the meantime, or reads were stopped. Never rejects. */
  async #pause(key: string, ms: number): Promise<boolean> {
    const ended = new AbortController();
    this.#pauses.get(key)?.abort();
    this.#pauses.set(key, ended);
    try {
      await this.#deps.clock.sleep(ms, AbortSignal.any([this.#stopped.signal, ended.signal]));
      return true;
    } catch {
      return false;
    } finally {
      if (this.#pauses.get(key) === ended) this.#pauses.delete(key);
    }
  }

  async #read(job: Job): Promise<void> {
    const outcome = await withTimeout(this.#deps.clock, {
      timeoutMs: this.#deps.timeoutMs,
      signals: [this.#stopped.signal],
      run: (signal) => (job.kind === 'key' ? this.#deps.readOne(job.name, signal) : this.#deps.readScope(job.name, signal)),
    });
    if (outcome !== 'timed-out') return;
    throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'An on-demand read took too long.', { context: { key: job.name } });
  }

  #reportOutcome(outcome: 'refreshed' | 'failed' | 'merged' | 'listed'): void {
    callHook(this.#hooks, 'onDemand', () => this.#hooks.onDemand(this.#deps.name, outcome));
  }
}

function stopped(): AutoscalerError {
  return new AutoscalerError({ kind: 'cancelled' }, 'On-demand reads were stopped.');
}
