/**
 * `/api/v1` of one daemon: finds the document for a path, makes it once per loop, and streams changes. Must not know how documents are
 * made, who may read them, or how a page shows them.
 */
import type { Clock } from '../../lib/clock.ts';
import { defined } from '../../lib/defined.ts';
import type { DocumentInput } from '../documents/document-input.ts';
import { openApi } from '../documents/open-api/open-api.ts';
import { overviewOf, type Overview } from '../documents/overview.ts';
import { withoutCredentials } from '../documents/redacted.ts';
import { EventStreams, type StreamTarget } from './event-streams.ts';
import { type ApiReply, documentFor, type Explain } from './routes.ts';

export interface ApiDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  /** undefined: no loop has observed the cluster yet. */
  readonly input: () => DocumentInput | undefined;
  /** Does in slices what `input` needs for a whole answer. If absent, it needs nothing. */
  readonly prepare?: () => Promise<void>;
  /** Simulates in slices. */
  readonly explain: Explain;
}

/** Usually a first loop ends sooner. */
const FIRST_LOOP_SECONDS = 2;
const NOT_YET: ApiReply = { status: 503, document: { message: 'no loop has decided anything yet' }, retryAfterSeconds: FIRST_LOOP_SECONDS };

export class Api {
  readonly #deps: ApiDeps;
  readonly #streams: EventStreams;
  /** Of the input that was asked about last. */
  #overview: { readonly input: DocumentInput; readonly document: Overview } | undefined;

  constructor(deps: ApiDeps) {
    this.#deps = deps;
    this.#streams = new EventStreams({ clock: deps.clock, overview: () => this.#overviewNow() });
  }

  /** @param path without `/api/v1/`. */
  reply(path: string, query: URLSearchParams): ApiReply | Promise<ApiReply> {
    if (path === 'openapi.json') return { status: 200, document: openApi() };
    const { prepare } = this.#deps;
    return prepare === undefined ? this.#replyNow(path, query) : prepare().then(() => this.#replyNow(path, query));
  }

  #replyNow(path: string, query: URLSearchParams): ApiReply | Promise<ApiReply> {
    const { explain, clock } = this.#deps;
    const input = this.#deps.input();
    if (input === undefined) return NOT_YET;
    if (path === 'overview') return { status: 200, document: this.#overviewNow() ?? {} };
    const found = documentFor({ path, query, nowMs: clock.now() }, input, explain);
    return found instanceof Promise ? found.then(cleared) : cleared(found);
  }

  /** Takes over the response until it is closed. @returns false: there are too many streams. */
  stream(target: StreamTarget, lastEventId: string | undefined): boolean {
    return this.#streams.open(target, lastEventId);
  }

  /** Sends what changed to those who watch. Without any it does nothing. */
  loopEnded(): void {
    const { prepare } = this.#deps;
    if (prepare === undefined || !this.#streams.areWatched) return this.#streams.loopEnded();
    const publish = (): void => this.#streams.loopEnded();
    // Without the simulation, they see what was decided all the same.
    prepare().then(publish, publish);
  }

  /** Ends every stream. @param leader the name of the replica that leads now, if known. */
  leadershipLost(leader: string | undefined): void {
    this.#streams.end({ event: 'leader', data: defined({ leader }) });
  }

  close(): void {
    this.#streams.end(undefined);
  }

  /** undefined: no loop has observed the cluster yet. */
  #overviewNow(): Overview | undefined {
    const input = this.#deps.input();
    if (input === undefined) return undefined;
    if (this.#overview?.input !== input) this.#overview = { input, document: withoutCredentials(overviewOf(input)) };
    return this.#overview.document;
  }
}

function cleared(reply: ApiReply): ApiReply {
  return { ...reply, document: withoutCredentials(reply.document) };
}
