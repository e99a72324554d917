/**
 * Reads of single rows on demand. Per key, one read runs and one is queued: a request during a run needs the next run,
 * since the running one began too early. Many queued rows of one scope become one list. Must not know what a read is:
 * the adapter reads keys and scopes.
 */
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { callHook, type CacheHooks } from './hooks.ts';
import type { Slots } from '../concurrency.ts';
import { withAbort, withTimeout } from '../../lib/abort.ts';

export interface OnDemandDeps {
  /** Table name, for metrics. */
  readonly name: string;
  readonly clock: Clock;
  /** Shared with the agent scheduler; on-demand reads go first. */
  readonly slots: Slots;
  /** One GET, whose result goes to `table.observe` or, on 404, to `table.observeGone`. Takes its stamp when it is sent. */
  readonly readOne: (key: string, signal: AbortSignal) => Promise<void>;
  /** One list of the scope. It gets no slot, so it may be `scheduler.runNow(agentId, signal)`, which takes one. */
  readonly readScope: (scope: string, signal: AbortSignal) => Promise<void>;
  /** For one read, without the wait for a slot. Default 30 000. */
  readonly timeoutMs?: number;
  /** More queued keys of one scope than this become one list. Default 10. */
  readonly listAbove?: number;
  readonly hooks?: CacheHooks;
}

/** One read that is queued or running, and its waiting callers. */
interface Job {
  readonly kind: 'key' | 'scope';
  readonly name: string;
  readonly scope: string;
  readonly waiting: Waiting[];
  /** How often the read has failed in a row. */
  readonly failures: number;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: AutoscalerError) => void;
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
    this.#hooks = deps.hooks ?? {};
  }

  /** Requests a read that begins after this call. Does not wait and never throws. Does nothing once stopped. */
  request(key: string, scope: string): void {
    if (!this.#stopped.signal.aborted) this.#enqueue(key, scope);
  }

  /** Waits for a read that begins after this call, and rejects with its failure. The signal ends the wait, not the read. */
  refresh(key: string, scope: string, signal: AbortSignal): Promise<void> {
    if (this.#stopped.signal.aborted) return Promise.reject(stopped());
    const job = this.#enqueue(key, scope);
    const read = new Promise<void>((resolve, reject) => job.waiting.push({ resolve, reject }));
    return withAbort(read, signal);
  }

  /** Aborts running reads and drops queued ones. Waiting callers get `cancelled`. */
  stop(): void {
    this.#stopped.abort();
    for (const job of this.#queued.values()) settle(job, stopped());
    this.#queued.clear();
  }

  #enqueue(key: string, scope: string, failures = 0): Job {
    const list = this.#queued.get(`scope:${scope}`);
    const queued = list ?? this.#queued.get(`key:${key}`);
    if (queued !== undefined) {
      this.#reportOutcome('merged');
      return queued;
    }
    const job: Job = { kind: 'key', name: key, scope, waiting: [], failures };
    this.#queued.set(`key:${key}`, job);
    const listed = this.#mergeIntoList(scope);
    this.#start(listed ?? job);
    return listed ?? job;
  }

  /** Replaces the queued reads of a scope by one list if there are too many of them. */
  #mergeIntoList(scope: string): Job | undefined {
    const jobs = [...this.#queued.values()].filter((job) => job.kind === 'key' && job.scope === scope);
    if (jobs.length <= (this.#deps.listAbove ?? 10)) return undefined;
    for (const job of jobs) this.#queued.delete(`key:${job.name}`);
    const list: Job = { kind: 'scope', name: scope, scope, waiting: jobs.flatMap((job) => job.waiting), failures: 0 };
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
      settle(job, undefined);
    } catch (thrown) {
      this.#reportOutcome('failed');
      const error = asAutoscalerError(thrown);
      settle(job, error);
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
      timeoutMs: this.#deps.timeoutMs ?? 30_000,
      signals: [this.#stopped.signal],
      run: (signal) => (job.kind === 'key' ? this.#deps.readOne(job.name, signal) : this.#deps.readScope(job.name, signal)),
    });
    if (outcome !== 'timed-out') return;
    throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'An on-demand read took too long.', { context: { key: job.name } });
  }

  #reportOutcome(outcome: 'refreshed' | 'failed' | 'merged' | 'listed'): void {
    callHook(this.#hooks, 'onDemand', () => this.#hooks.onDemand?.(this.#deps.name, outcome));
  }
}

function settle(job: Job, error: AutoscalerError | undefined): void {
  for (const waiting of job.waiting) {
    if (error === undefined) waiting.resolve();
    else waiting.reject(error);
  }
}

function stopped(): AutoscalerError {
  return new AutoscalerError({ kind: 'cancelled' }, 'On-demand reads were stopped.');
}
