/**
 * The overview as it changes: read once, then followed by the stream; after a loss it reconnects with growing pauses. Must not know how
 * it is shown.
 */
import { applyMergePatch } from '../../api/documents/merge-patch.ts';
import type { Overview } from '../../api/documents/overview.ts';
import { followEvents, readDocument, type Refusal, type StreamEvent } from './api-client.ts';
import { after, localNow, onVisibility } from './browser.ts';
import { withSameParts } from './same-parts.ts';

export interface LiveState {
  /** undefined: none was read yet. */
  readonly overview: Overview | undefined;
  /** Why there is no newer one. undefined: connected. */
  readonly refusal: Refusal | undefined;
  /** Since when the connection is lost, by this machine's clock. */
  readonly lostSinceMs: number | undefined;
  readonly retryAtMs: number | undefined;
  /** The daemon's clock less this machine's. */
  readonly offsetMs: number;
  readonly paused: boolean;
  /** Loops that ended while the page was paused. */
  readonly newer: number;
}

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;
/** The daemon sends something every five seconds. */
const SILENCE_MS = 13_000;
const HIDDEN_MS = 60_000;
const OFFSET_PRECISION_MS = 400;
/** A `Date` header counts whole seconds. */
const HEADER_PRECISION_MS = 1_000;

export class LiveOverview {
  readonly #listeners = new Set<() => void>();
  #state: LiveState = {
    overview: undefined,
    refusal: undefined,
    lostSinceMs: undefined,
    retryAtMs: undefined,
    offsetMs: 0,
    paused: false,
    newer: 0,
  };
  /** The newest, which is not shown while the page is paused. */
  #newest: Overview | undefined;
  #lastId: string | undefined;
  #stream = new AbortController();
  #retryMs = FIRST_RETRY_MS;
  #cancelRetry = (): void => undefined;
  #cancelSilence = (): void => undefined;
  #cancelHidden = (): void => undefined;
  #asleep = false;

  get state(): LiveState {
    return this.#state;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    onVisibility((visible) => this.#visibilityChanged(visible));
    void this.connect();
  }

  /** Reads now instead of at the next retry. */
  async connect(): Promise<void> {
    this.#cancelRetry();
    if (this.#newest === undefined) {
      const answer = await readDocument<Overview>('overview');
      if ('refusal' in answer) return this.#failed(answer.refusal);
      const { document, nowMs } = answer;
      if (nowMs !== undefined && Math.abs(nowMs - localNow()) > HEADER_PRECISION_MS) this.#set({ offsetMs: nowMs - localNow() });
      this.#lastId = `${Date.parse(document.leader.since).toString(36)}.${document.loopId}`;
      this.#take(document);
    }
    await this.#follow();
  }

  setPaused(paused: boolean): void {
    this.#set(paused ? { paused, newer: 0 } : { paused, newer: 0, overview: this.#newest });
  }

  async #follow(): Promise<void> {
    this.#stream.abort();
    const stream = new AbortController();
    this.#stream = stream;
    this.#listen();
    const refusal = await followEvents(this.#lastId, (event) => this.#received(event), stream.signal);
    if (this.#stream !== stream || this.#asleep) return;
    this.#failed(refusal ?? { kind: 'lost' });
  }

  #received({ event, id, data }: StreamEvent): void {
    this.#listen();
    this.#retryMs = FIRST_RETRY_MS;
    if (this.#state.refusal !== undefined) this.#set({ refusal: undefined, lostSinceMs: undefined, retryAtMs: undefined });
    if (id !== undefined) this.#lastId = id;
    if (event === 'ping') this.#setOffset((data as { readonly now: number }).now - localNow());
    if (event === 'resync') this.#take(data as Overview);
    if (event === 'loop') this.#take(applyMergePatch(this.#newest, data) as Overview);
    if (event === 'leader') this.#newest = undefined;
  }

  /** Messages take more or less long: small differences say nothing about the clocks. */
  #setOffset(offsetMs: number): void {
    if (Math.abs(offsetMs - this.#state.offsetMs) > OFFSET_PRECISION_MS) this.#set({ offsetMs });
  }

  #take(received: Overview): void {
    const overview = withSameParts(this.#newest, received);
    this.#newest = overview;
    this.#set(this.#state.paused ? { newer: this.#state.newer + 1 } : { overview });
  }

  #failed(refusal: Refusal): void {
    this.#cancelSilence();
    // Another replica or another process may answer next: it starts over.
    if (refusal.kind !== 'lost') this.#newest = undefined;
    const waitMs = refusal.kind === 'starting' ? refusal.retryMs : this.#retryMs;
    this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
    const lostSinceMs = refusal.kind === 'lost' ? (this.#state.lostSinceMs ?? localNow()) : undefined;
    this.#set({ refusal, lostSinceMs, retryAtMs: localNow() + waitMs });
    this.#cancelRetry();
    if (refusal.kind !== 'token') this.#cancelRetry = after(waitMs, () => void this.connect());
  }

  /** A connection that is silent for too long is lost, although nothing closed it. */
  #listen(): void {
    this.#cancelSilence();
    this.#cancelSilence = after(SILENCE_MS, () => this.#stream.abort());
  }

  #visibilityChanged(visible: boolean): void {
    this.#cancelHidden();
    if (!visible) {
      this.#cancelHidden = after(HIDDEN_MS, () => {
        this.#asleep = true;
        this.#cancelSilence();
        this.#cancelRetry();
        this.#stream.abort();
      });
    } else if (this.#asleep) {
      this.#asleep = false;
      void this.connect();
    }
  }

  #set(change: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
