/** Collects what a commit reports until all of it is visible: events for listeners, and rows that must be read soon. */
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
