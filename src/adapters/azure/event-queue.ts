/** Keeps what Azure told late until the next observation takes it, exactly once, and wakes the loop for it. */
import { asAutoscalerError } from '../../domain/errors.ts';
import type { CloudEvent } from '../../domain/observation.ts';
import type { Log } from '../../telemetry/log.ts';

export class EventQueue {
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  #events: CloudEvent[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  push(event: CloudEvent): void {
    this.#events.push(event);
    for (const listener of this.#listeners) this.#wake(listener);
  }

  drain(): readonly CloudEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A listener that throws must not lose the event for the others. */
  #wake(listener: () => void): void {
    try {
      listener();
    } catch (thrown) {
      this.#log.error({ err: asAutoscalerError(thrown) }, 'a listener of cloud events failed');
    }
  }
}
