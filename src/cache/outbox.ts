/** What a commit has to tell, kept until all of it is visible: events for listeners, and rows that must be read soon. */
import { tell, type CacheHooks } from './hooks.ts';
import type { Entry } from './row-store.ts';
import type { TableEvent } from './row.ts';

export interface OutboxParts {
  readonly hooks: CacheHooks;
  readonly wantRefresh: (key: string, scope: string) => void;
}

export class Outbox<V> {
  readonly #parts: OutboxParts;
  readonly #listeners = new Set<(event: TableEvent<V>) => void>();
  #events: TableEvent<V>[] = [];
  #refreshes: Entry<V>[] = [];

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** Returns the way to stop. */
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

  /** Listeners may observe and mutate in turn, so the queues are taken before anybody is told. */
  flush(): void {
    const events = this.#events;
    const refreshes = this.#refreshes;
    if (events.length === 0 && refreshes.length === 0) return;
    this.#events = [];
    this.#refreshes = [];
    for (const event of events) for (const listener of this.#listeners) tell(this.#parts.hooks, 'listener', () => listener(event));
    for (const entry of refreshes) this.#parts.wantRefresh(entry.key, entry.scope);
  }
}
