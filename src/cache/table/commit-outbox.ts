/** Collects what a commit reports until all of it is visible: events for listeners, and rows that must be read soon. */
import { withAbort } from '../../lib/abort.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { callHook, type CacheHooks } from './hooks.ts';
import type { Entry } from './row-store.ts';
import type { TableEvent } from './row.ts';

interface OutboxDeps {
  readonly hooks: CacheHooks;
  readonly requestRefresh: (key: string, scope: string) => void;
}

export class Outbox<V> {
  readonly #deps: OutboxDeps;
  readonly #listeners = new Set<(event: TableEvent<V>) => void>();
  #events: TableEvent<V>[] = [];
  #refreshes: Entry<V>[] = [];

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: (event: TableEvent<V>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: TableEvent<V>): void {
    this.#events.push(event);
  }

  refresh(...entries: readonly Entry<V>[]): void {
    this.#refreshes.push(...entries);
  }

  /** Listeners may observe and mutate in turn, so the queues are emptied before any listener is called. */
  flush(): void {
    const events = this.#events;
    const refreshes = this.#refreshes;
    if (events.length === 0 && refreshes.length === 0) return;
    this.#events = [];
    this.#refreshes = [];
    for (const event of events) for (const listener of this.#listeners) callHook(this.#deps.hooks, 'listener', () => listener(event));
    for (const entry of refreshes) this.#deps.requestRefresh(entry.key, entry.scope);
  }
}

interface Waiter {
  readonly afterSeq: number;
  readonly resolve: () => void;
}

/** Callers that wait for a row to be read again. */
export class Waiters {
  readonly #byKey = new Map<string, Set<Waiter>>();

  /** Resolves when a read that began after `afterSeq` confirms the key. Rejects `cancelled` with the signal. */
  wait(key: string, afterSeq: number, signal: AbortSignal): Promise<void> {
    const confirmed = Promise.withResolvers<void>();
    const waiter: Waiter = { afterSeq, resolve: confirmed.resolve };
    const waiting = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, waiting.add(waiter));
    const error = (): AutoscalerError => new AutoscalerError({ kind: 'cancelled' }, 'The wait for a fresh read was cancelled.');
    return withAbort(confirmed.promise, signal, { error }).finally(() => this.#drop(key, waiter));
  }

  /** To be called when a read of the key that began at `seq` was accepted. */
  confirm(key: string, seq: number): void {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) return;
    for (const waiter of waiting) if (seq > waiter.afterSeq) waiter.resolve();
  }

  #drop(key: string, waiter: Waiter): void {
    const waiting = this.#byKey.get(key);
    waiting?.delete(waiter);
    if (waiting?.size === 0) this.#byKey.delete(key);
  }
}
