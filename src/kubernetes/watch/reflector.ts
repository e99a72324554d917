/**
 * Keeps a table equal to one resource of the API server, for ever: a full picture, then a watch, and the same again
 * whenever that is needed. No failure ends it; how long it has not heard anything is visible. Must not know what it reads.
 *
 * The full picture comes from a watch-list (`sendInitialEvents`) when the server takes it, else from a LIST in pages. A
 * LIST never names `resourceVersion=0`: the watch cache ignores the page size then and answers everything in one body.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AutoscalerError, asAutoscalerError } from '../../lib/errors.ts';
import type { ListJson, ObjectJson, StatusJson } from '../api/core-json.ts';
import { backoffMs } from '../api/backoff.ts';
import {
  endWhenSilent,
  BROKEN,
  cutError,
  errorOf,
  isExpired,
  refusesWatchList,
  restartAfter,
  silentError,
  type RestartCause,
} from './watch-errors.ts';
import { LineSplitter, decodeWithoutManagedFields } from './watch-lines.ts';
import { DEFAULT_TUNING, type ReflectorDeps, type ReflectorTuning } from './reflector-options.ts';
import { RefusalGrace } from '../api/errors.ts';
import type { Query } from '../api/rest.ts';

/** Bytes of a watch after which others get their turn: a socket hands over some megabytes at once, and a lease is waiting. */
const TURN_BYTES = 256 * 1024;

/** After how long a kind that the cluster does not know is looked for again. */
const ABSENT_MS = 300_000;

const ABSENT = 'the cluster does not know this kind';

/** Server-side limit of one watch. */
const WATCH_SECONDS = { least: 300, most: 600 };
/** A clean end sooner than this, with nothing heard, counts as a failure: some proxies close every watch at once. */
const SHORT_WATCH_MS = 1_000;

interface WatchEvent {
  readonly type?: string;
  readonly object?: ObjectJson & StatusJson;
}

export class Reflector {
  readonly resource: string;
  readonly #deps: ReflectorDeps;
  readonly #tuning: ReflectorTuning;
  readonly #grace: RefusalGrace;
  readonly #firstPicture = Promise.withResolvers<void>();
  readonly #firstAnswer = Promise.withResolvers<void>();
  #trouble: string | undefined = 'not read yet';
  /** undefined: a full picture is due. */
  #version: string | undefined;
  #seenVersion = 0;
  #takesWatchList = true;
  #failures = 0;
  #lines = 0;
  #lastHeardAt: number;
  #running: Promise<void> | undefined;

  constructor(deps: ReflectorDeps) {
    this.resource = deps.resource;
    this.#deps = deps;
    this.#grace = new RefusalGrace(deps.refusalGraceMs);
    this.#tuning = { ...DEFAULT_TUNING, ...deps.tuning };
    this.#lastHeardAt = deps.clock.monotonic();
    // Nobody may be waiting for it, for example when the process stops first.
    this.#firstPicture.promise.catch(() => undefined);
  }

  /** Begins; returns at once. Ends only by the signal. */
  start(signal: AbortSignal): void {
    this.#running ??= this.#run(signal);
  }

  /** Resolves with the first full picture. Rejects when the API server goes on saying before it that we may not read this. */
  get synced(): Promise<void> {
    return this.#firstPicture.promise;
  }

  /** Resolves with the first full picture or the first failure to get one: for what may be missing. */
  get answered(): Promise<void> {
    return this.#firstAnswer.promise;
  }

  /** Why the present picture cannot be relied on: the last attempt's failure; undefined after any news. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Resolves when the reflector has ended after its signal. */
  async ended(): Promise<void> {
    await this.#running;
  }

  /** The newest resourceVersion that the table reflects; 0 before the first. */
  get version(): number {
    return this.#seenVersion;
  }

  /** Monotonic time of the last byte of meaning: event, bookmark or page. */
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
      const waitMs = Math.max(cause.retryAfterMs, backoffMs(this.#tuning.backoff, this.#failures, this.#deps.random));
      await this.#deps.clock.sleep(waitMs, signal).catch(() => undefined);
    }
    this.#firstPicture.reject(new AutoscalerError({ kind: 'cancelled' }, `The watch of ${this.resource} was stopped.`));
  }

  /** One full picture or one watch. Never throws. undefined: go on with the next step at once. */
  async #attempt(signal: AbortSignal): Promise<RestartCause | undefined> {
    try {
      if (this.#version !== undefined) return await this.#watch(signal);
      if (this.#takesWatchList) return await this.#watchList(signal);
      await this.#list(signal);
      return undefined;
    } catch (thrown) {
      return this.#judge(asAutoscalerError(thrown), signal);
    }
  }

  #judge(error: AutoscalerError, signal: AbortSignal): RestartCause {
    if (signal.aborted) return { label: 'stopped', failure: false, retryAfterMs: 0 };
    if (error.kind === 'not-found' && this.#deps.mayBeAbsent === true) return this.#absent();
    if (this.#grace.isOver(error, this.#deps.clock.monotonic())) this.#firstPicture.reject(error);
    this.#trouble = error.message;
    this.#firstAnswer.resolve();
    if (isExpired(error) || error.kind === 'bug') this.#version = undefined;
    this.#deps.log.warn({ resource: this.resource, error: error.message, failures: this.#failures + 1 }, 'watch begins again');
    return restartAfter(error);
  }

  /** The kind is not known here (any more), so there are no objects of it. Told once. */
  #absent(): RestartCause {
    const { table, log, clock } = this.#deps;
    table.begin();
    table.complete();
    if (this.#trouble !== ABSENT)
      log.info({ resource: this.resource }, 'the cluster does not know this kind; it is looked for from time to time');
    this.#trouble = ABSENT;
    this.#version = undefined;
    this.#lastHeardAt = clock.monotonic();
    this.#firstAnswer.resolve();
    return { label: 'absent', failure: true, retryAfterMs: ABSENT_MS };
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { rest, path, table, clock } = this.#deps;
    table.begin();
    for (let page = ''; ;) {
      const query: Query = { ...this.#deps.query, limit: this.#tuning.pageSize, ...(page === '' ? {} : { continue: page }) };
      const list = (await rest.json({ method: 'GET', path, query }, signal)) as ListJson;
      for (const item of list.items ?? []) table.put(item);
      this.#lastHeardAt = clock.monotonic();
      page = list.metadata?.continue ?? '';
      if (page === '') {
        this.#completed(list.metadata?.resourceVersion);
        return;
      }
    }
  }

  /** Full picture and the watch after it in one stream. */
  async #watchList(signal: AbortSignal): Promise<RestartCause | undefined> {
    try {
      return await this.#follow({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (this.#version !== undefined || signal.aborted || !refusesWatchList(error)) throw error;
      this.#takesWatchList = false;
      this.#deps.log.info({ resource: this.resource, error: error.message }, 'no watch-list here: reading in pages');
      return undefined;
    }
  }

  #watch(signal: AbortSignal): Promise<RestartCause | undefined> {
    return this.#follow({ resourceVersion: this.#version ?? '' }, signal);
  }

  async #follow(query: Query, signal: AbortSignal): Promise<RestartCause | undefined> {
    const { rest, path, random, clock, table } = this.#deps;
    const timeoutSeconds = Math.round(WATCH_SECONDS.least + random() * (WATCH_SECONDS.most - WATCH_SECONDS.least));
    const initial = this.#version === undefined;
    const silence = endWhenSilent({
      limitMs: () => (this.#version === undefined ? this.#tuning.initialSilenceMs : this.#tuning.silenceMs),
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
      await this.#read(body, silence.heard);
    } catch (thrown) {
      throw silence.signal.aborted && !signal.aborted ? silentError(this.resource, this.#version === undefined) : thrown;
    } finally {
      silence.stop();
    }
    if (this.#version === undefined) throw cutError(`The watch of ${this.resource} ended before its first picture was complete.`);
    const heardNothing = this.#lines === linesBefore;
    const tooShort = heardNothing && clock.monotonic() - startedAt < SHORT_WATCH_MS;
    return { label: 'ended', failure: tooShort, retryAfterMs: 0 };
  }

  async #read(body: AsyncIterable<Buffer>, heard: () => void): Promise<void> {
    const lines = new LineSplitter(decodeWithoutManagedFields);
    let taken = 0;
    try {
      for await (const chunk of body) {
        heard();
        lines.push(chunk, (line) => this.#take(line));
        taken += chunk.length;
        if (taken < TURN_BYTES) continue;
        taken = 0;
        await nextTurn();
      }
    } catch (thrown) {
      if (thrown instanceof AutoscalerError) throw thrown;
      throw cutError(`The watch of ${this.resource} was cut: ${thrown instanceof Error ? thrown.message : String(thrown)}.`);
    }
    if (lines.unfinished > 0) throw cutError(`The watch of ${this.resource} ended in the middle of a line.`);
  }

  #take(line: string): void {
    const event = this.#parse(line);
    const object = event.object ?? {};
    this.#lines += 1;
    this.#lastHeardAt = this.#deps.clock.monotonic();
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#deps.table.put(object);
        break;
      case 'DELETED':
        this.#deps.table.remove(object);
        break;
      case 'BOOKMARK':
        if (object.metadata?.annotations?.['k8s.io/initial-events-end'] === 'true') {
          this.#completed(object.metadata.resourceVersion);
          return;
        }
        break;
      case 'ERROR':
        throw errorOf(this.resource, object);
      default:
        throw this.#broken(`an event of type "${event.type ?? ''}"`);
    }
    this.#advance(object.metadata?.resourceVersion);
  }

  #parse(line: string): WatchEvent {
    try {
      return JSON.parse(line) as WatchEvent;
    } catch {
      throw this.#broken('a line that is not JSON');
    }
  }

  /** What a broken line said is lost, so everything is read again. */
  #broken(what: string): AutoscalerError {
    this.#version = undefined;
    return cutError(`The watch of ${this.resource} brought ${what}.`, BROKEN);
  }

  /** Versions of initial events are in no order: they count only once the picture is complete. */
  #advance(version: string | undefined): void {
    if (this.#version === undefined || version === undefined) return;
    this.#remember(version);
    this.#failures = 0;
    this.#trouble = undefined;
  }

  #completed(version: string | undefined): void {
    if (version === undefined || version === '') {
      throw cutError(`The full picture of ${this.resource} carries no resourceVersion.`, BROKEN);
    }
    this.#deps.table.complete();
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
