/**
 * Events that wait to be sent. What was done goes before what was not, and each namespace has its turn; when the queue is full, the namespace
 * with most events in it loses its newest. Must not know how events are sent.
 */
import type { AutoscalerEvent } from '../../domain/ports/records.ts';

interface Queued {
  readonly event: Pick<AutoscalerEvent, 'reason' | 'subject'>;
}

/** Verdicts: each loop may have one for every pod or node, and nothing was done. All other reasons are of something that was done or failed. */
const VERDICTS: ReadonlySet<string> = new Set(['NotTriggerScaleUp', 'ScaleDownBlocked']);

/** The events of one namespace, oldest first. The namespace whose turn is next is the first. */
type Turns<Item> = Map<string, Item[]>;

export class EventQueue<Item extends Queued> {
  readonly #limit: number;
  readonly #done: Turns<Item> = new Map();
  readonly #verdicts: Turns<Item> = new Map();
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @returns the event that has no place any more, which may be this one. */
  add(item: Item): Item | undefined {
    // guard: events of what was done go before verdicts
    const turns = VERDICTS.has(item.event.reason) ? this.#verdicts : this.#done;
    // guard: each namespace has its share of the queue of events
    const namespace = namespaceOf(item);
    const waiting = turns.get(namespace);
    if (waiting === undefined) turns.set(namespace, [item]);
    else waiting.push(item);
    this.#size += 1;
    if (this.#size <= this.#limit) return undefined;
    this.#size -= 1;
    return removeFromLongest(this.#verdicts.size > 0 ? this.#verdicts : this.#done);
  }

  /** Takes the next event. undefined: none waits. */
  take(): Item | undefined {
    const turns = this.#done.size > 0 ? this.#done : this.#verdicts;
    const [next] = turns;
    if (next === undefined) return undefined;
    const [namespace, waiting] = next;
    const item = waiting.shift();
    turns.delete(namespace);
    if (waiting.length > 0) turns.set(namespace, waiting);
    this.#size -= 1;
    return item;
  }
}

/** Nodes have no namespace; their events share none with pods. */
function namespaceOf({ event: { subject } }: Queued): string {
  return subject.kind === 'Node' ? '' : subject.namespace;
}

function removeFromLongest<Item>(turns: Turns<Item>): Item | undefined {
  let longest: [namespace: string, waiting: Item[]] | undefined;
  // Of equals, the one that came last.
  for (const entry of turns) if (longest === undefined || entry[1].length >= longest[1].length) longest = entry;
  if (longest === undefined) return undefined;
  const [namespace, waiting] = longest;
  const removed = waiting.pop();
  if (waiting.length === 0) turns.delete(namespace);
  return removed;
}
