/**
 * Server-sent events for those who watch: the changes of the overview, at most one per loop and one per second. The payload is made once
 * for all streams; without a stream nothing is computed.
 */
import type { Clock } from '../../lib/clock.ts';
import { mergePatch } from '../documents/merge-patch.ts';
import type { Overview } from '../documents/overview.ts';

/** The response of one watcher. */
export interface StreamTarget {
  write(text: string): unknown;
  end(): void;
  /** Closes the connection without waiting for the watcher. */
  destroy(): void;
  /** Bytes that the watcher has not read yet. */
  readonly writableLength: number;
  on(event: 'close', listener: () => void): unknown;
}

interface StreamsDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  /** undefined: no loop has observed the cluster yet. */
  readonly overview: () => Overview | undefined;
}

interface StreamEvent {
  readonly event: string;
  readonly data: object;
  readonly id?: string;
}

/** The page of each watcher takes one. */
const MOST_STREAMS = 10;
/** Less often than a watcher would take the connection for lost, and than the server closes an idle one. */
const PING_MS = 5_000;
const LEAST_GAP_MS = 1_000;
/** Patches that a watcher who was away for a moment can still get. */
const REMEMBERED = 20;
/** A watcher that is so far behind does not read any more. */
const MOST_UNREAD_BYTES = 1_000_000;

export class EventStreams {
  readonly #deps: StreamsDeps;
  readonly #open = new Set<StreamTarget>();
  /** What all streams have seen. undefined: there is no stream. */
  #sent: { readonly id: string; readonly overview: Overview } | undefined;
  #patches: readonly { readonly after: string; readonly text: string }[] = [];
  #lastMs = Number.NEGATIVE_INFINITY;
  #due = false;
  #pinging = new AbortController();

  constructor(deps: StreamsDeps) {
    this.#deps = deps;
  }

  get areWatched(): boolean {
    return this.#open.size > 0;
  }

  /** @returns false: there are too many streams. */
  open(target: StreamTarget, lastEventId: string | undefined): boolean {
    if (this.#open.size >= MOST_STREAMS) return false;
    this.#publish();
    this.#open.add(target);
    target.on('close', () => this.#forget(target));
    this.#greet(target, lastEventId);
    if (this.#open.size === 1) void this.#ping();
    return true;
  }

  /** Never throws. */
  loopEnded(): void {
    if (this.#open.size === 0 || this.#due) return;
    const waitMs = this.#lastMs + LEAST_GAP_MS - this.#deps.clock.monotonic();
    if (waitMs <= 0) return this.#publish();
    this.#due = true;
    this.#deps.clock.sleep(waitMs, this.#pinging.signal).then(
      () => {
        this.#due = false;
        this.#publish();
      },
      () => (this.#due = false),
    );
  }

  /** Ends all streams, with a last event if there is one. */
  end(last: StreamEvent | undefined): void {
    if (last !== undefined) this.#sendAll(textOf(last));
    for (const target of this.#open) target.end();
    this.#open.clear();
    this.#reset();
  }

  #forget(target: StreamTarget): void {
    this.#open.delete(target);
    if (this.#open.size === 0) this.#reset();
  }

  /** Nothing is written to it any more: an error of a response that is over would end the process. */
  #drop(target: StreamTarget): void {
    this.#forget(target);
    target.destroy();
  }

  /** Nothing is kept without a watcher. */
  #reset(): void {
    this.#pinging.abort();
    this.#pinging = new AbortController();
    this.#sent = undefined;
    this.#patches = [];
    this.#due = false;
  }

  #greet(target: StreamTarget, lastEventId: string | undefined): void {
    target.write(`retry: 2000\n${textOf({ event: 'ping', data: { now: this.#deps.clock.now() } })}`);
    const sent = this.#sent;
    if (sent === undefined) return;
    const missed = this.#patchesSince(lastEventId);
    if (missed === undefined) target.write(textOf({ event: 'resync', data: sent.overview, id: sent.id }));
    else for (const { text } of missed) target.write(text);
  }

  /** undefined: too old, or of another process. */
  #patchesSince(lastEventId: string | undefined): readonly { readonly text: string }[] | undefined {
    if (this.#sent?.id === lastEventId) return [];
    const at = this.#patches.findIndex(({ after }) => after === lastEventId);
    return at < 0 ? undefined : this.#patches.slice(at);
  }

  #publish(): void {
    const overview = this.#deps.overview();
    if (overview === undefined) return;
    const before = this.#sent;
    const id = idOf(overview);
    this.#sent = { id, overview };
    if (before === undefined) return this.#sendAll(textOf({ event: 'resync', data: overview, id }));
    if (before.id === id) return;
    this.#lastMs = this.#deps.clock.monotonic();
    const patch = mergePatch({ ...before.overview }, { ...overview }) ?? {};
    const text = textOf({ event: 'loop', data: patch, id });
    this.#patches = [...this.#patches, { after: before.id, text }].slice(-REMEMBERED);
    this.#sendAll(text);
  }

  #sendAll(text: string): void {
    for (const target of this.#open) {
      if (target.writableLength <= MOST_UNREAD_BYTES) target.write(text);
      else this.#drop(target);
    }
  }

  async #ping(): Promise<void> {
    const { signal } = this.#pinging;
    try {
      for (;;) {
        await this.#deps.clock.sleep(PING_MS, signal);
        this.#sendAll(textOf({ event: 'ping', data: { now: this.#deps.clock.now() } }));
      }
    } catch {
      // The last stream was closed.
    }
  }
}

/** Each process numbers its loops from 1. */
function idOf({ leader, loopId }: Overview): string {
  return `${Date.parse(leader.since).toString(36)}.${loopId}`;
}

function textOf({ event, data, id }: StreamEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
