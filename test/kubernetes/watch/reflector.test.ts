import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectJson } from '../../../src/kubernetes/api/core-json.ts';
import { Reflector } from '../../../src/kubernetes/watch/reflector.ts';
import type { ReflectorTuning } from '../../../src/kubernetes/watch/reflector-options.ts';
import { Table } from '../../../src/kubernetes/watch/object-table.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { json, refusal, startScriptedApi, until, type Answer, type Received, type ScriptedApi } from '../scripted-api.ts';

const object = (name: string, version: number): ObjectJson => ({ metadata: { name, uid: name, resourceVersion: String(version) } });
const event = (type: string, name: string, version: number): string => `${JSON.stringify({ type, object: object(name, version) })}\n`;
const bookmark = (version: number, end = false): string =>
  `${JSON.stringify({
    type: 'BOOKMARK',
    object: { metadata: { resourceVersion: String(version), annotations: end ? { 'k8s.io/initial-events-end': 'true' } : {} } },
  })}\n`;
const expiredEvent = `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } })}\n`;

const isWatchList = ({ query }: Received): boolean => query.get('sendInitialEvents') === 'true';
const isWatch = ({ query }: Received): boolean => query.get('watch') === 'true';
function open(response: ServerResponse, ...lines: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  for (const line of lines) response.write(line);
}

let api: ScriptedApi;
let clock: FakeClock;
let stop: AbortController;
let table: Table<string>;
let reflector: Reflector;

beforeEach(async () => {
  api = await startScriptedApi();
  clock = new FakeClock(START_MS);
  stop = new AbortController();
  table = new Table({
    keyOf: ({ metadata }) => metadata?.name ?? '',
    project: ({ metadata }) => `${metadata?.name ?? ''}@${metadata?.resourceVersion ?? ''}`,
  });
});

afterEach(async () => {
  stop.abort();
  await reflector.ended();
  await api.stop();
});

function start(answer: Answer, tuning: Partial<ReflectorTuning> = {}): void {
  api.answer(answer);
  const { rest, metrics } = api;
  reflector = new Reflector({
    resource: 'things',
    path: '/things',
    table,
    rest,
    clock,
    random: seededRandom(1),
    log: silentLog(),
    metrics,
    tuning,
  });
  reflector.start(stop.signal);
}

const held = (): readonly string[] => [...table.items.values()].sort();
/** Lets the reflector's waits pass, a second of its own time at each turn. */
const waiting = (): Promise<void> => clock.advance(1_000);
const watches = (): readonly Received[] => api.received.filter(isWatch);

describe('reflector', () => {
  it('takes its first picture from a watch-list and goes on in the same stream', async () => {
    const streams: ServerResponse[] = [];
    start((_request, response) => {
      streams.push(response);
      open(response, event('ADDED', 'a', 7), event('ADDED', 'b', 3), bookmark(9, true));
    });
    await reflector.synced;
    expect(held()).toEqual(['a@7', 'b@3']);
    expect(reflector.version).toBe(9);
    streams[0]?.write(event('MODIFIED', 'a', 10) + event('DELETED', 'b', 11) + event('ADDED', 'c', 12));
    await until(() => reflector.version === 12);
    expect(held()).toEqual(['a@10', 'c@12']);
    expect(api.received).toHaveLength(1);
    expect(Object.fromEntries(api.received[0]?.query ?? [])).toMatchObject({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersionMatch: 'NotOlderThan',
    });
    const seconds = Number(api.received[0]?.query.get('timeoutSeconds'));
    expect(seconds).toBeGreaterThanOrEqual(300);
    expect(seconds).toBeLessThanOrEqual(600);
  });

  it.each([400, 422])('falls back to pages when the server answers %d to a watch-list, and never names version 0', async (status) => {
    start((request, response) => {
      if (isWatchList(request)) refusal(response, status, 'Invalid');
      else if (isWatch(request)) open(response);
      else if (request.query.get('continue') === 'more')
        json(response, 200, { metadata: { resourceVersion: '50' }, items: [object('b', 2)] });
      else json(response, 200, { metadata: { resourceVersion: '50', continue: 'more' }, items: [object('a', 1)] });
    });
    await reflector.synced;
    expect(held()).toEqual(['a@1', 'b@2']);
    await until(() => watches().length === 2);
    const lists = api.received.filter((request) => !isWatch(request));
    expect(lists.map(({ query }) => query.get('limit'))).toEqual(['500', '500']);
    expect(lists.map(({ query }) => query.get('resourceVersion'))).toEqual([null, null]);
    expect(watches()[1]?.query.get('resourceVersion')).toBe('50');
  });

  it('falls back to pages when the server has never heard of watch-lists and goes silent', async () => {
    start(
      (request, response) => {
        if (isWatchList(request)) open(response, event('ADDED', 'a', 1));
        else if (isWatch(request)) open(response);
        else json(response, 200, { metadata: { resourceVersion: '5' }, items: [object('a', 1), object('b', 2)] });
      },
      { initialSilenceMs: 30 },
    );
    await until(() => reflector.version === 5, waiting);
    expect(held()).toEqual(['a@1', 'b@2']);
  });

  it('waits longer for a slow watch-list before it has a busy server make a LIST', async () => {
    let silent = 1;
    start(
      (request, response) => {
        if (isWatchList(request) && silent-- > 0) open(response);
        else if (isWatchList(request)) open(response, event('ADDED', 'a', 1), bookmark(9, true));
        else if (isWatch(request)) open(response);
        else json(response, 200, { metadata: { resourceVersion: '5' }, items: [] });
      },
      { initialSilenceMs: 30 },
    );
    await until(() => reflector.version === 9, waiting);
    expect(api.received.filter((request) => !isWatch(request))).toEqual([]);
  });

  it('asks for a watch-list again, and makes no LIST, when its beginning takes too long', async () => {
    const late = 3;
    start((request, response) => {
      if (isWatchList(request) && watches().length <= late) return;
      if (isWatchList(request)) open(response, event('ADDED', 'a', 1), bookmark(9, true));
      else json(response, 200, { metadata: { resourceVersion: '5' }, items: [] });
    });
    let ended = 0;
    const step = (): Promise<void> => (watches().length > ended && ended++ < late ? api.clock.advance(10_000) : waiting());
    await until(() => reflector.version === 9, step);
    expect(api.received.filter((request) => !isWatch(request))).toEqual([]);
    expect(watches()).toHaveLength(late + 1);
  });

  it('reads in pages once after silent watch-lists, and by watch-list again the next time', async () => {
    let silent = 2;
    start(
      (request, response) => {
        if (isWatchList(request) && silent-- > 0) open(response);
        else if (isWatchList(request)) open(response, event('ADDED', 'a', 8), bookmark(9, true));
        else if (isWatch(request)) refusal(response, 410, 'Expired');
        else json(response, 200, { metadata: { resourceVersion: '5' }, items: [object('a', 1)] });
      },
      { initialSilenceMs: 30 },
    );
    await until(() => reflector.version === 9, waiting);
    expect(api.received.filter((request) => !isWatch(request))).toHaveLength(1);
    expect(held()).toEqual(['a@8']);
  });

  it('comes back from the version of the last bookmark', async () => {
    start((request, response) => {
      if (isWatchList(request)) {
        open(response, event('ADDED', 'a', 7), bookmark(9, true), bookmark(40));
        response.end();
      } else open(response);
    });
    await until(() => watches().length === 2, waiting);
    expect(watches()[1]?.query.get('resourceVersion')).toBe('40');
    expect(held()).toEqual(['a@7']);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['as an ERROR event', (response) => open(response, expiredEvent)],
    ['as the answer itself', (response) => refusal(response, 410, 'Expired')],
  ])('reads everything again after a 410 %s, and drops what vanished meanwhile', async (_form, gone) => {
    let lists = 0;
    start((request, response) => {
      if (!isWatchList(request)) {
        gone(response);
        return;
      }
      lists += 1;
      if (lists === 1) {
        open(response, event('ADDED', 'a', 1), event('ADDED', 'b', 2), bookmark(3, true));
        response.end();
      } else open(response, event('ADDED', 'b', 2), event('ADDED', 'c', 8), bookmark(9, true));
    });
    await until(() => reflector.version === 9, waiting);
    expect(held()).toEqual(['b@2', 'c@8']);
  });

  it('keeps what it has while the server fails, waits longer each time, and says how old its picture is', async () => {
    let failing = true;
    const waits: number[] = [];
    start((request, response) => {
      if (isWatchList(request)) {
        open(response, event('ADDED', 'a', 1), bookmark(3, true));
        response.end();
      } else if (failing) {
        waits.push(clock.now());
        refusal(response, 500, 'InternalError');
      } else open(response, event('MODIFIED', 'a', 4));
    });
    await until(
      () => waits.length === 6,
      () => clock.advance(100),
    );
    expect(held()).toEqual(['a@1']);
    const gaps = waits.slice(1).map((at, index) => at - (waits[index] ?? 0));
    expect(gaps.at(-1)).toBeGreaterThan(2 * (gaps[0] ?? 0));
    expect(clock.monotonic() - reflector.lastHeardAt).toBeGreaterThan(3_000);
    failing = false;
    await until(() => reflector.version === 4, waiting);
    expect(held()).toEqual(['a@4']);
    const restarts = await api.metrics.cluster.watchRestarts.get();
    expect(restarts.values.find(({ labels }) => labels.cause === 'unavailable')?.value).toBe(6);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    [
      'a socket dropped in the middle of a line',
      (response) => response.write(event('MODIFIED', 'a', 5).slice(0, 20), () => response.destroy()),
    ],
    ['a stream that ends in the middle of a line', (response) => response.end(event('MODIFIED', 'a', 5).slice(0, 20))],
  ])('loses nothing to %s', async (_what, cut) => {
    start((request, response) => {
      if (isWatchList(request)) {
        open(response, event('ADDED', 'a', 1), bookmark(3, true));
        cut(response);
      } else open(response, event('MODIFIED', 'a', 5));
    });
    await until(() => reflector.version === 5, waiting);
    expect(watches()[1]?.query.get('resourceVersion')).toBe('3');
    expect(held()).toEqual(['a@5']);
  });

  it('reads everything again after a line that is not JSON', async () => {
    let lists = 0;
    start((_request, response) => {
      lists += 1;
      if (lists === 1) open(response, event('ADDED', 'a', 1), bookmark(3, true), '{"type":"DELETED","object":{"metad\n');
      else open(response, event('ADDED', 'b', 6), bookmark(7, true));
    });
    await until(() => reflector.version === 7, waiting);
    expect(held()).toEqual(['b@6']);
    expect(api.received.every(isWatchList)).toBe(true);
  });

  it('believes a first picture only when it is complete', async () => {
    let lists = 0;
    start((_request, response) => {
      lists += 1;
      if (lists === 2) {
        open(response, event('ADDED', 'a', 1));
        response.end();
      } else open(response, event('ADDED', 'a', 1), event('ADDED', 'b', 2), bookmark(lists, true), lists === 1 ? expiredEvent : '');
    });
    await until(() => reflector.version === 3, waiting);
    expect(held()).toEqual(['a@1', 'b@2']);
    expect(lists).toBe(3);
  });

  it('survives a server that goes and comes back', async () => {
    start((request, response) => {
      if (isWatchList(request)) open(response, event('ADDED', 'a', 1), bookmark(3, true));
      else open(response, event('MODIFIED', 'a', 4));
    });
    await reflector.synced;
    await api.goAway();
    for (let round = 0; round < 5; round++) await clock.advance(5_000);
    await api.comeBack();
    await until(() => reflector.version === 4, waiting);
    expect(held()).toEqual(['a@4']);
  });

  it('does not spin when every watch is closed at once', async () => {
    start((request, response) => {
      open(response, ...(isWatchList(request) ? [bookmark(3, true)] : []));
      response.end();
    });
    await until(() => watches().length === 2);
    await until(() => clock.sleeping > 0);
    expect(watches()).toHaveLength(2);
  });

  it('starts a page-wise picture again when its token has expired', async () => {
    let lists = 0;
    start((request, response) => {
      if (isWatchList(request)) refusal(response, 422, 'Invalid');
      else if (isWatch(request)) open(response);
      else if (request.query.has('continue')) {
        lists += 1;
        if (lists === 1) refusal(response, 410, 'Expired');
        else json(response, 200, { metadata: { resourceVersion: '60' }, items: [object('b', 2)] });
      } else json(response, 200, { metadata: { resourceVersion: '60', continue: 'more' }, items: [object('a', 1)] });
    });
    await until(() => reflector.version === 60, waiting);
    expect(held()).toEqual(['a@1', 'b@2']);
  });

  it('says that it may not read when it has been refused for a minute, as it is until the roles are made', async () => {
    start((_request, response) => refusal(response, 403, 'Forbidden'));
    const began = clock.now();
    let over = false;
    const refused = expect(reflector.synced.finally(() => (over = true))).rejects.toMatchObject({ kind: 'auth' });
    await until(() => over, waiting);
    await refused;
    expect(clock.now() - began).toBeGreaterThanOrEqual(60_000);
    expect(clock.now() - began).toBeLessThan(120_000);
  });

  it('goes on when the refusals end in time', async () => {
    let refusals = 5;
    start((request, response) => {
      if (refusals-- > 0) return refusal(response, 403, 'Forbidden');
      return isWatchList(request) ? open(response, bookmark(3, true)) : open(response);
    });
    await until(() => reflector.version === 3, waiting);
    await reflector.synced;
  });

  it('says at once that its credential is bad', async () => {
    start((_request, response) => refusal(response, 401, 'Unauthorized'));
    await expect(reflector.synced).rejects.toMatchObject({ kind: 'auth' });
  });

  it('ends a watch that went silent', async () => {
    start((request, response) => (isWatchList(request) ? open(response, bookmark(3, true)) : open(response, bookmark(4))), {
      initialSilenceMs: 30,
      silenceMs: 30,
    });
    await until(() => watches().length >= 2, waiting);
    expect(watches()[1]?.query.get('resourceVersion')).toBe('3');
  });
});
