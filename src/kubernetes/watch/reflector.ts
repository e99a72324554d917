/**
 * Keeps a table equal to one resource of the API server: a full read, then a watch, and both again whenever needed. No
 * failure ends it, and it publishes how long it has heard nothing. Must not know what it reads.
 *
 * The full read is a watch-list (`sendInitialEvents`) if the server supports it, else a LIST in pages. A LIST never
 * sends `resourceVersion=0`: with it the watch cache ignores the page size and returns everything in one body.
 */
import { AutoscalerError, asAutoscalerError } from '../../lib/errors.ts';
import type { ListJson, ObjectJson } from '../api/core-json.ts';
import { backoffMs } from '../api/backoff.ts';
import {
  endWhenSilent,
  BROKEN,
  cutError,
  errorOf,
  isCut,
  isExpired,
  isSilent,
  refusesWatchList,
  restartAfter,
  silentError,
  type RestartCause,
} from './watch-errors.ts';
import { Interner } from './interner.ts';
import { brokenWatch, readEvents, type WatchEvent } from './watch-events.ts';
import { PageTokens } from '../api/list-pages.ts';
import { DEFAULT_TUNING, type ReflectorDeps, type ReflectorTuning } from './reflector-options.ts';
import { RefusalGrace } from '../api/errors.ts';
import type { Query } from '../api/rest.ts';
import { streamFor } from '../../lib/random.ts';

/** Time until a kind that the cluster does not have is tried again. */
const ABSENT_MS = 300_000;

/** More objects than this that cannot be read are reported again. */
const MAX_REPORTED = 1_000;

const ABSENT = 'the cluster does not have this kind';

/**
 * A busy API server may be silent for a while before it sends the first picture, and a LIST would be more work for it. After this many silent
 * watch-lists in a row, each with three times the patience of the one before, one read goes in pages.
 */
const MOST_SILENT = 2;
const PATIENCE_GROWTH = 3;
/** A connection that breaks comes back. Where each is cut before the end, as by a proxy that limits their time, pages get through. */
const MOST_CUT = 5;

/** Server-side limit of one watch. */
const WATCH_SECONDS = { least: 300, most: 600 };
/** A clean end sooner than this without any event counts as a failure: some proxies close every watch at once. */
const SHORT_WATCH_MS = 1_000;

export class Reflector {
  readonly resource: string;
  readonly #deps: ReflectorDeps;
  readonly #tuning: ReflectorTuning;
  readonly #grace: RefusalGrace;
  readonly #firstPicture = Promise.withResolvers<void>();
  readonly #firstAnswer = Promise.withResolvers<void>();
  #trouble: string | undefined = 'not read yet';
  /** If undefined, a full read is due. */
  #version: string | undefined;
  #seenVersion = 0;
  /** The server has refused a watch-list, so this full read goes in pages. The next one asks again: another server may answer then. */
  #refused = false;
  #refusalLogged = false;
  /** Watch-lists in a row that went silent before the full read was complete, and those that were cut. */
  #silentReads = 0;
  #cutReads = 0;
  #failures = 0;
  #lines = 0;
  #bookmarks = 0;
  /** Objects that could not be read, with the reason. Each is logged once. */
  readonly #reported = new Interner<true>(MAX_REPORTED);
  #lastHeardAt: number;
  #running: Promise<void> | undefined;

  constructor(deps: ReflectorDeps) {
    this.resource = deps.resource;
    this.#deps = deps;
    this.#grace = new RefusalGrace(deps.refusalGraceMs);
    this.#tuning = { ...DEFAULT_TUNING, ...deps.tuning };
    this.#lastHeardAt = deps.clock.monotonic();
    // The process may stop before anything waits for this promise.
    this.#firstPicture.promise.catch(() => undefined);
  }

  /** Starts and returns at once. Only the signal ends it. */
  start(signal: AbortSignal): void {
    this.#running ??= this.#run(signal);
  }

  /** Resolves after the first full read. Rejects if the API server keeps refusing us permission before it. */
  get synced(): Promise<void> {
    return this.#firstPicture.promise;
  }

  /** Resolves after the first full read or its first failure. For resources that may be missing. */
  get answered(): Promise<void> {
    return this.#firstAnswer.promise;
  }

  /** Why the table may be wrong: the failure of the last attempt. Undefined after any news. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Whether the cluster does not have the kind, by the last attempt. */
  get isAbsent(): boolean {
    return this.#trouble === ABSENT;
  }

  /** Resolves when the reflector has ended after its signal. */
  async ended(): Promise<void> {
    await this.#running;
  }

  /** The newest resourceVersion in the table; 0 before the first. */
  get version(): number {
    return this.#seenVersion;
  }

  /** Monotonic time of the last event, bookmark or page. */
  get lastHeardAt(): number {
    return this.#lastHeardAt;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const cause = await this.#attempt(signal);
      if (signal.aborted) break;
      if (cause === undefined) continue;
      this.#deps.metrics.cluster.watchRestarts.inc({ resource: this.resource, cause: cause.label });
      if (!cause.failure) continue;
      this.#failures += 1;
      const waitMs = Math.max(
        cause.retryAfterMs,
        backoffMs(this.#tuning.backoff, this.#failures, streamFor(this.#deps.random, this.#deps.path)),
      );
      await this.#deps.clock.sleep(waitMs, signal).catch(() => undefined);
    }
    this.#firstPicture.reject(new AutoscalerError({ kind: 'cancelled' }, `The watch of ${this.resource} was stopped.`));
  }

  /** One full read or one watch. Never throws. If undefined, the next step follows at once. */
  async #attempt(signal: AbortSignal): Promise<RestartCause | undefined> {
    try {
      if (this.#version !== undefined) return await this.#watch(signal);
      if (!this.#refused && this.#silentReads < MOST_SILENT && this.#cutReads < MOST_CUT) return await this.#watchList(signal);
      await this.#list(signal);
      return undefined;
    } catch (thrown) {
      return this.#restartAfter(asAutoscalerError(thrown), signal);
    }
  }

  #restartAfter(error: AutoscalerError, signal: AbortSignal): RestartCause {
    if (signal.aborted) return { label: 'stopped', failure: false, retryAfterMs: 0 };
    if (error.kind === 'not-found' && this.#deps.mayBeAbsent === true) return this.#absent();
    if (this.#grace.isOver(error, this.#deps.clock.monotonic())) this.#firstPicture.reject(error);
    this.#trouble = error.message;
    this.#firstAnswer.resolve();
    // What was in a broken line is lost, so everything is read again.
    if (isExpired(error) || error.kind === 'bug' || error.code === BROKEN) this.#version = undefined;
    this.#deps.log.warn({ resource: this.resource, error: error.message, failures: this.#failures + 1 }, 'Watch restarted');
    return restartAfter(error);
  }

  /** The cluster does not have this kind, or no longer, so it has no objects of it. Logged once. */
  #absent(): RestartCause {
    const { table, log, clock } = this.#deps;
    table.begin();
    table.complete();
    if (this.#trouble !== ABSENT)
      log.info({ resource: this.resource }, 'The cluster does not have this kind; the check is repeated every five minutes');
    this.#trouble = ABSENT;
    this.#version = undefined;
    this.#lastHeardAt = clock.monotonic();
    this.#firstAnswer.resolve();
    return { label: 'absent', failure: true, retryAfterMs: ABSENT_MS };
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { rest, path, table, clock } = this.#deps;
    const seen = new PageTokens(this.resource);
    table.begin();
    for (let page = ''; ;) {
      const query: Query = { ...this.#deps.query, limit: this.#tuning.pageSize, ...(page === '' ? {} : { continue: page }) };
      const list = (await rest.json({ method: 'GET', path, query }, signal)) as ListJson;
      for (const item of itemsOf(this.resource, list)) this.#put(item ?? {});
      this.#lastHeardAt = clock.monotonic();
      page = seen.next(list.metadata?.continue);
      if (page === '') {
        this.#completed(list.metadata?.resourceVersion);
        return;
      }
    }
  }

  /** A full read and the watch after it in one stream. */
  async #watchList(signal: AbortSignal): Promise<RestartCause | undefined> {
    try {
      return await this.#follow({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (this.#version !== undefined || signal.aborted) throw error;
      if (isSilent(error)) this.#silentReads += 1;
      if (isCut(error)) this.#cutReads += 1;
      if (!refusesWatchList(error)) throw error;
      this.#refused = true;
      this.#logRefusal(error);
      return undefined;
    }
  }

  #logRefusal(error: AutoscalerError): void {
    if (this.#refusalLogged) return;
    this.#refusalLogged = true;
    this.#deps.log.info(
      { resource: this.resource, error: error.message },
      'Watch-list not supported by the API server; reading in pages instead',
    );
  }

  #watch(signal: AbortSignal): Promise<RestartCause | undefined> {
    return this.#follow({ resourceVersion: this.#version ?? '' }, signal);
  }

  async #follow(query: Query, signal: AbortSignal): Promise<RestartCause | undefined> {
    const { rest, path, clock, table } = this.#deps;
    const random = streamFor(this.#deps.random, path);
    const timeoutSeconds = Math.round(WATCH_SECONDS.least + random() * (WATCH_SECONDS.most - WATCH_SECONDS.least));
    const initial = this.#version === undefined;
    const silence = endWhenSilent({
      limitMs: () => (this.#version === undefined ? this.#initialSilenceMs() : this.#tuning.silenceMs),
    });
    const startedAt = clock.monotonic();
    const linesBefore = this.#lines;
    try {
      const ended = AbortSignal.any([signal, silence.signal]);
      const body = await rest.stream(
        path,
        { watch: true, allowWatchBookmarks: true, timeoutSeconds, ...this.#deps.query, ...query },
        ended,
      );
      if (initial) table.begin();
      let bookmarks = this.#bookmarks;
      const chunkTaken = (): void => {
        // guard: bookmarks alone are no progress of a full read
        // A server that sends nothing else would keep it waiting for ever.
        if (this.#version !== undefined || this.#bookmarks === bookmarks) silence.heard();
        bookmarks = this.#bookmarks;
      };
      await readEvents(body, { resource: this.resource, take: (event) => this.#take(event), chunkTaken });
    } catch (thrown) {
      throw silence.signal.aborted && !signal.aborted ? silentError(this.resource, this.#version === undefined) : thrown;
    } finally {
      silence.stop();
    }
    if (this.#version === undefined) throw cutError(`The watch of ${this.resource} ended before the first full read was complete.`);
    const heardNothing = this.#lines === linesBefore;
    const tooShort = heardNothing && clock.monotonic() - startedAt < SHORT_WATCH_MS;
    return { label: 'ended', failure: tooShort, retryAfterMs: 0 };
  }

  #initialSilenceMs(): number {
    return this.#tuning.initialSilenceMs * PATIENCE_GROWTH ** this.#silentReads;
  }

  #take(event: WatchEvent): void {
    const object = event.object ?? {};
    this.#lines += 1;
    this.#lastHeardAt = this.#deps.clock.monotonic();
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#put(object);
        break;
      case 'DELETED':
        this.#deps.table.remove(object);
        break;
      case 'BOOKMARK':
        this.#bookmarks += 1;
        if (object.metadata?.annotations?.['k8s.io/initial-events-end'] === 'true') {
          this.#completed(object.metadata.resourceVersion);
          return;
        }
        break;
      case 'ERROR':
        throw errorOf(this.resource, object);
      default:
        throw brokenWatch(this.resource, `an event of type "${event.type ?? ''}"`);
    }
    this.#advance(object.metadata?.resourceVersion);
  }

  #put(object: ObjectJson): void {
    this.#deps.table.put(object, (reason) => {
      const { namespace = '', name = '' } = object.metadata ?? {};
      this.#reported.of(`${namespace}/${name} ${reason}`, () => {
        this.#deps.log.warn({ resource: this.resource, namespace, name, reason }, 'Object could not be read');
        return true;
      });
    });
  }

  /** Initial events are in no order of version: a version counts only once the full read is complete. */
  #advance(version: unknown): void {
    if (this.#version === undefined || typeof version !== 'string' || version === '') return;
    this.#remember(version);
    this.#failures = 0;
    this.#trouble = undefined;
  }

  #completed(version: unknown): void {
    if (typeof version !== 'string' || version === '') {
      throw cutError(`The full read of ${this.resource} has no resourceVersion.`, BROKEN);
    }
    this.#deps.table.complete();
    this.#refused = false;
    this.#silentReads = 0;
    this.#cutReads = 0;
    this.#remember(version);
    this.#firstPicture.resolve();
    this.#firstAnswer.resolve();
    this.#trouble = undefined;
  }

  #remember(version: string): void {
    this.#version = version;
    const number = Number(version);
    if (Number.isFinite(number)) this.#seenVersion = Math.max(this.#seenVersion, number);
  }
}

/** An answer without items is no list: it must not count as an empty one. Null is how Go writes an empty list. */
function itemsOf(resource: string, list: ListJson | null): readonly ObjectJson[] {
  const items: unknown = list?.items;
  if (items === null) return [];
  if (!Array.isArray(items)) throw cutError(`The list of ${resource} has no items.`, BROKEN);
  return items as readonly ObjectJson[];
}
