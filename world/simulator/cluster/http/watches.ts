/** WATCH: replay from a version, initial events, bookmarks, time limits and the 410 of an expired version. */
import type { ServerResponse } from 'node:http';
import type { Api } from '../store/api.ts';
import { encodeObject } from '../store/storage-objects.ts';
import type { KubeObject } from '../store/objects.ts';
import { apiVersionOf } from '../store/resource-types.ts';
import type { Matcher } from '../store/selectors.ts';
import { badRequest, expiredStatus, failureStatus, success, tooLargeVersion, type Result } from '../store/status.ts';
import type { StoreChange } from '../store/store.ts';
import { matcherOf } from './lists.ts';
import { FEW, writeInPortions } from './portions.ts';
import type { ApiRequest, ResourceRoute } from './requests.ts';
import { tableOf } from './tables.ts';
import { defined } from '../../../../src/lib/defined.ts';

export interface WatchOptions {
  /** Time between bookmarks; a real server sends about one a minute. */
  readonly bookmarkMs: number;
  /**
   * How a watch from an expired version fails: with an event in the stream, as the watch cache does, or with the response itself.
   */
  goneAs: 'event' | 'status';
}

interface WatchPlan {
  readonly route: ResourceRoute;
  readonly matches: Matcher;
  /** undefined: begins with the current objects. */
  readonly since: number | undefined;
  readonly initialEvents: boolean;
  readonly bookmarks: boolean;
  /** Seconds of the client's time; 0: no limit. */
  readonly timeoutSeconds: number;
  readonly asTable: boolean;
}

type Send = (type: string, object: unknown) => void;

/** Every open watch of the server. */
export class Watches {
  readonly #open = new Set<ServerResponse>();
  readonly #api: Api;
  readonly #knobs: WatchOptions;

  constructor(api: Api, knobs: WatchOptions) {
    this.#api = api;
    this.#knobs = knobs;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Closes every open watch without a final event. */
  dropAll(): void {
    for (const response of this.#open) response.destroy();
  }

  /** Parses a watch request, or returns why it is refused before a stream begins. */
  plan(route: ResourceRoute, request: ApiRequest, asTable: boolean): Result<WatchPlan> {
    const { query } = request;
    const matches = matcherOf(route, query);
    if (!matches.ok) return matches;
    const versionText = query.get('resourceVersion') ?? '';
    if (!/^\d*$/.test(versionText)) return badRequest(`Invalid value: "${versionText}"`);
    const initialEvents = query.get('sendInitialEvents') === 'true';
    const bookmarks = ['true', '1'].includes(query.get('allowWatchBookmarks') ?? '');
    const refused = refusalOfInitialEvents(query, initialEvents, bookmarks);
    if (refused !== undefined) return { ok: false, refusal: refused };
    const { store } = this.#api;
    const version = Number(versionText);
    if (version > store.version) return tooLargeVersion(version, store.version);
    const since = initialEvents || version === 0 ? undefined : version;
    if (since !== undefined && since < store.compactedTo && this.#knobs.goneAs === 'status') {
      return { ok: false, refusal: this.#tooOld(since) };
    }
    const timeoutSeconds = Number(query.get('timeoutSeconds') ?? '0');
    return success({ route, matches: matches.value, since, initialEvents, bookmarks, timeoutSeconds, asTable });
  }

  /** Streams until the client disconnects, the time limit passes or the server drops it. */
  begin(plan: WatchPlan, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
    // A watch without events yet must still show the client that it began.
    response.flushHeaders();
    const send: Send = (type, object) => response.write(this.#line(plan, type, object));
    const objects = plan.since === undefined ? this.#api.store.list(plan.route.type.storage).filter(plan.matches) : [];
    if (plan.since !== undefined && !this.#replay(plan, plan.since, send)) {
      response.end();
      return;
    }
    const isLong = objects.length > FEW;
    const release = this.#follow(plan, response, { send, isHeld: isLong });
    const end = this.#endOfInitialEvents(plan);
    const lineOf = (object: KubeObject): string => this.#line(plan, 'ADDED', encodeObject(plan.route.type, object));
    if (!isLong) {
      if (objects.length > 0 || end !== '') response.write(`${objects.map(lineOf).join('')}${end}`);
      return;
    }
    void writeInPortions(response, objects, lineOf).then(() => {
      if (response.destroyed) return;
      response.write(end);
      release();
    });
  }

  #line(plan: WatchPlan, type: string, object: unknown): string {
    return `${JSON.stringify({ type, object: plan.asTable && type !== 'ERROR' ? this.#table(plan, object as KubeObject) : object })}\n`;
  }

  /** With the version of the objects before it: later changes follow. */
  #endOfInitialEvents(plan: WatchPlan): string {
    return plan.initialEvents ? this.#line(plan, 'BOOKMARK', this.#bookmark(plan, { 'k8s.io/initial-events-end': 'true' })) : '';
  }

  #table(plan: WatchPlan, object: KubeObject): unknown {
    const isBookmark = object.metadata.name === undefined;
    return tableOf(plan.route.type, isBookmark ? [] : [object], {
      metadata: { resourceVersion: object.metadata.resourceVersion },
      nowMs: this.#api.timers.now(),
      include: 'Metadata',
    });
  }

  #tooOld(since: number): ReturnType<typeof expiredStatus> {
    return expiredStatus(`too old resource version: ${since} (${this.#api.store.compactedTo})`);
  }

  #replay(plan: WatchPlan, since: number, send: Send): boolean {
    const changes = this.#api.store.changesSince(plan.route.type.storage, since);
    if (changes === undefined) {
      send('ERROR', this.#tooOld(since));
      return false;
    }
    for (const change of changes) deliverChange(plan, change, send);
    return true;
  }

  /** `isHeld`: changes wait until the returned function is called. */
  #follow(plan: WatchPlan, response: ServerResponse, { send, isHeld }: { readonly send: Send; readonly isHeld: boolean }): () => void {
    const { timers, store } = this.#api;
    let held: StoreChange[] | undefined = isHeld ? [] : undefined;
    this.#open.add(response);
    const bookmark = (): void => {
      if (plan.bookmarks && held === undefined) send('BOOKMARK', this.#bookmark(plan));
    };
    let cancelBookmark = (): void => undefined;
    const repeat = (): void => {
      cancelBookmark = timers.after(this.#knobs.bookmarkMs, () => {
        bookmark();
        repeat();
      });
    };
    repeat();
    const finish = (): void => {
      bookmark();
      response.end();
    };
    // The client's watch measures the limit, and it does not run faster in a faster world.
    const cancelLimit = plan.timeoutSeconds > 0 ? timers.after(plan.timeoutSeconds * 1000 * timers.speed, finish) : (): void => undefined;
    const unsubscribe = store.subscribe(
      (change) => {
        if (held === undefined) deliverChange(plan, change, send);
        else held.push(change);
      },
      [plan.route.type.storage],
    );
    response.on('close', () => {
      this.#open.delete(response);
      unsubscribe();
      cancelBookmark();
      cancelLimit();
    });
    return () => {
      for (const change of held ?? []) deliverChange(plan, change, send);
      held = undefined;
    };
  }

  #bookmark(plan: WatchPlan, annotations?: Readonly<Record<string, string>>): unknown {
    const { type } = plan.route;
    const metadata = {
      resourceVersion: String(this.#api.store.version),
      creationTimestamp: null,
      ...defined({ annotations }),
    };
    return { kind: type.kind, apiVersion: apiVersionOf(type), metadata };
  }
}

/** An object that enters or leaves the selection is added or deleted for this watch, regardless of the change itself. */
function deliverChange(plan: WatchPlan, change: StoreChange, send: Send): void {
  const before = change.previous !== undefined && plan.matches(change.previous);
  const after = change.type !== 'DELETED' && plan.matches(change.object);
  if (!before && !after) return;
  const type = before && after ? 'MODIFIED' : after ? 'ADDED' : 'DELETED';
  const shown =
    change.type !== 'DELETED' && type === 'DELETED' ? withVersion(change.previous ?? change.object, change.object) : change.object;
  send(type, encodeObject(plan.route.type, shown));
}

function withVersion(object: KubeObject, versioned: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: versioned.metadata.resourceVersion } };
}

function refusalOfInitialEvents(
  query: URLSearchParams,
  initialEvents: boolean,
  bookmarks: boolean,
): ReturnType<typeof failureStatus> | undefined {
  const match = query.get('resourceVersionMatch');
  if (initialEvents && match !== 'NotOlderThan') {
    return failureStatus(
      422,
      'Invalid',
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    );
  }
  if (initialEvents && !bookmarks) {
    return failureStatus(
      422,
      'Invalid',
      'ListOptions.meta.k8s.io "" is invalid: allowWatchBookmarks: Forbidden: sendInitialEvents requires allowWatchBookmarks',
    );
  }
  if (!initialEvents && match !== null && !query.has('sendInitialEvents')) {
    return failureStatus(
      422,
      'Invalid',
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    );
  }
  return undefined;
}
