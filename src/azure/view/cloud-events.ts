/** Queues results that Azure reports late until the next observation takes them, exactly once. Wakes the loop for each. */
import type { CloudEvent } from '../../domain/observation.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { RegisteredGroup, Registration } from '../groups/registry.ts';

export class CloudEventQueue {
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  #events: CloudEvent[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  push(event: CloudEvent): void {
    this.add(event);
    this.wake();
  }

  /** For the next observation, whenever it comes: no decision needs the event. */
  add(event: CloudEvent): void {
    this.#events.push(event);
  }

  /** Wakes the loop without an event: the next observation shows the news itself. */
  wake(): void {
    for (const listener of this.#listeners) this.#callListener(listener);
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

  /** A listener that throws must not lose the event for the other listeners. */
  #callListener(listener: () => void): void {
    try {
      listener();
    } catch (thrown) {
      this.#log.error({ err: asAutoscalerError(thrown) }, 'A listener of cloud events failed');
    }
  }
}

/**
 * Events for groups that were added or removed between two registrations, with the reason of a removal. `isListed`: whether
 * Azure still lists the set, or the size, of a group.
 */
export function groupsAddedAndRemoved(
  before: Registration | undefined,
  after: Registration,
  atMs: number,
  isListed: (group: RegisteredGroup) => boolean,
): readonly CloudEvent[] {
  if (before === undefined || before === after) return [];
  const added = [...after.byId.keys()].filter((id) => !before.byId.has(id));
  const removed = [...before.byId.values()].filter(({ id }) => !after.byId.has(id));
  return [
    ...added.map((group) => ({ kind: 'group-appeared' as const, group, atMs })),
    ...removed.map((group) => ({ kind: 'group-vanished' as const, group: group.id, because: removalReason(group, after, isListed), atMs })),
  ];
}

function removalReason(group: RegisteredGroup, { groups, skipped }: Registration, isListed: (group: RegisteredGroup) => boolean): string {
  const other = groups.get(group.key);
  if (other !== undefined) return `its instances belong to the node group "${other.id}"`;
  const reason = skipped.get(group.key) ?? skipped.get(group.id);
  if (reason !== undefined) return reason;
  return isListed(group) ? 'it is neither named nor selected by a rule' : 'Azure no longer lists it';
}
