/** Keeps what Azure told late until the next observation takes it, exactly once, and wakes the loop for it. */
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

// Groups that came and went between two registrations, and why they went. Pure.

/** `isListed`: whether Azure still lists the set, or the size, that a group was made of. */
export function groupsAddedAndRemoved(
  before: Registration | undefined,
  after: Registration,
  atMs: number,
  isListed: (group: RegisteredGroup) => boolean,
): readonly CloudEvent[] {
  if (before === undefined || before === after) return [];
  const came = [...after.byId.keys()].filter((id) => !before.byId.has(id));
  const went = [...before.byId.values()].filter(({ id }) => !after.byId.has(id));
  return [
    ...came.map((group) => ({ kind: 'group-appeared' as const, group, atMs })),
    ...went.map((group) => ({ kind: 'group-vanished' as const, group: group.id, because: removalReason(group, after, isListed), atMs })),
  ];
}

function removalReason(group: RegisteredGroup, { groups, skipped }: Registration, isListed: (group: RegisteredGroup) => boolean): string {
  const other = groups.get(group.key);
  if (other !== undefined) return `its machines are those of the node group "${other.id}"`;
  const reason = skipped.get(group.key) ?? skipped.get(group.id);
  if (reason !== undefined) return reason;
  return isListed(group) ? 'it is neither named nor selected by a rule' : 'Azure lists it no more';
}
