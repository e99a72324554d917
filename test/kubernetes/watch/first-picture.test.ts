import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { json, refusal, until } from '../scripted-api.ts';
import { bookmark, event, isWatch, isWatchList, object, open, openReflectorStage, type ReflectorStage } from './reflector-stage.ts';

let stage: ReflectorStage;

beforeEach(async () => {
  stage = await openReflectorStage();
});

afterEach(() => stage.end());

describe('the first picture of a reflector', () => {
  it('takes its first picture from a watch-list and goes on in the same stream', async () => {
    const streams: ServerResponse[] = [];
    stage.start((_request, response) => {
      streams.push(response);
      open(response, event('ADDED', 'a', 7), event('ADDED', 'b', 3), bookmark(9, true));
    });
    await stage.reflector.synced;
    expect(stage.held()).toEqual(['a@7', 'b@3']);
    expect(stage.reflector.version).toBe(9);
    streams[0]?.write(event('MODIFIED', 'a', 10) + event('DELETED', 'b', 11) + event('ADDED', 'c', 12));
    await until(() => stage.reflector.version === 12);
    expect(stage.held()).toEqual(['a@10', 'c@12']);
    expect(stage.api.received).toHaveLength(1);
    expect(Object.fromEntries(stage.api.received[0]?.query ?? [])).toMatchObject({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersionMatch: 'NotOlderThan',
    });
    const seconds = Number(stage.api.received[0]?.query.get('timeoutSeconds'));
    expect(seconds).toBeGreaterThanOrEqual(300);
    expect(seconds).toBeLessThanOrEqual(600);
  });

  it.each([400, 422])('falls back to pages when the server answers %d to a watch-list, and never names version 0', async (status) => {
    stage.start((request, response) => {
      if (isWatchList(request)) refusal(response, status, 'Invalid');
      else if (isWatch(request)) open(response);
      else if (request.query.get('continue') === 'more')
        json(response, 200, { metadata: { resourceVersion: '50' }, items: [object('b', 2)] });
      else json(response, 200, { metadata: { resourceVersion: '50', continue: 'more' }, items: [object('a', 1)] });
    });
    await stage.reflector.synced;
    expect(stage.held()).toEqual(['a@1', 'b@2']);
    await until(() => stage.watches().length === 2);
    const lists = stage.api.received.filter((request) => !isWatch(request));
    expect(lists.map(({ query }) => query.get('limit'))).toEqual(['500', '500']);
    expect(lists.map(({ query }) => query.get('resourceVersion'))).toEqual([null, null]);
    expect(stage.watches()[1]?.query.get('resourceVersion')).toBe('50');
  });

  it('falls back to pages when the server has never heard of watch-lists and goes silent', async () => {
    stage.start(
      (request, response) => {
        if (isWatchList(request)) open(response, event('ADDED', 'a', 1));
        else if (isWatch(request)) open(response);
        else json(response, 200, { metadata: { resourceVersion: '5' }, items: [object('a', 1), object('b', 2)] });
      },
      { initialSilenceMs: 30 },
    );
    await until(() => stage.reflector.version === 5, stage.waiting);
    expect(stage.held()).toEqual(['a@1', 'b@2']);
  });

  it('waits longer for a slow watch-list before it has a busy server make a LIST', async () => {
    let silent = 1;
    stage.start(
      (request, response) => {
        if (isWatchList(request) && silent-- > 0) open(response);
        else if (isWatchList(request)) open(response, event('ADDED', 'a', 1), bookmark(9, true));
        else if (isWatch(request)) open(response);
        else json(response, 200, { metadata: { resourceVersion: '5' }, items: [] });
      },
      { initialSilenceMs: 30 },
    );
    await until(() => stage.reflector.version === 9, stage.waiting);
    expect(stage.api.received.filter((request) => !isWatch(request))).toEqual([]);
  });

  it('asks for a watch-list again, and makes no LIST, when its beginning takes too long', async () => {
    const late = 3;
    stage.start((request, response) => {
      if (isWatchList(request) && stage.watches().length <= late) return;
      if (isWatchList(request)) open(response, event('ADDED', 'a', 1), bookmark(9, true));
      else json(response, 200, { metadata: { resourceVersion: '5' }, items: [] });
    });
    let ended = 0;
    const step = (): Promise<void> =>
      stage.watches().length > ended && ended++ < late ? stage.api.clock.advance(10_000) : stage.waiting();
    await until(() => stage.reflector.version === 9, step);
    expect(stage.api.received.filter((request) => !isWatch(request))).toEqual([]);
    expect(stage.watches()).toHaveLength(late + 1);
  });

  it('reads in pages once after silent watch-lists, and by watch-list again the next time', async () => {
    let silent = 2;
    stage.start(
      (request, response) => {
        if (isWatchList(request) && silent-- > 0) open(response);
        else if (isWatchList(request)) open(response, event('ADDED', 'a', 8), bookmark(9, true));
        else if (isWatch(request)) refusal(response, 410, 'Expired');
        else json(response, 200, { metadata: { resourceVersion: '5' }, items: [object('a', 1)] });
      },
      { initialSilenceMs: 30 },
    );
    await until(() => stage.reflector.version === 9, stage.waiting);
    expect(stage.api.received.filter((request) => !isWatch(request))).toHaveLength(1);
    expect(stage.held()).toEqual(['a@8']);
  });

  it('asks for a watch-list again at the next full read after a refusal: another API server may answer', async () => {
    let refused = false;
    stage.start((request, response) => {
      if (isWatchList(request) && !refused) {
        refused = true;
        refusal(response, 422, 'Invalid');
      } else if (isWatchList(request)) open(response, event('ADDED', 'a', 8), bookmark(9, true));
      else if (isWatch(request)) refusal(response, 410, 'Expired');
      else json(response, 200, { metadata: { resourceVersion: '5' }, items: [object('a', 1)] });
    });
    await until(() => stage.reflector.version === 9, stage.waiting);
    expect(stage.api.received.filter((request) => !isWatch(request))).toHaveLength(1);
    expect(stage.held()).toEqual(['a@8']);
  });

  it.each([
    { answer: 'a 429', status: 429, reason: 'TooManyRequests' },
    { answer: 'a 503', status: 503, reason: 'ServiceUnavailable' },
    { answer: 'a 504', status: 504, reason: 'Timeout' },
  ])('makes no LIST after $answer to a watch-list, however often', async ({ status, reason }) => {
    let busy = 8;
    stage.start((request, response) => {
      if (isWatchList(request) && busy-- > 0) refusal(response, status, reason);
      else if (isWatchList(request)) open(response, event('ADDED', 'a', 1), bookmark(9, true));
      else json(response, 200, { metadata: { resourceVersion: '5' }, items: [] });
    });
    await until(() => stage.reflector.version === 9, stage.waiting);
    expect(stage.api.received.filter((request) => !isWatch(request))).toEqual([]);
  });

  it('waits as long as a busy server says before it asks for the watch-list again', async () => {
    const asked: number[] = [];
    stage.start((request, response) => {
      asked.push(stage.clock.now());
      if (asked.length === 1) json(response, 429, { kind: 'Status', code: 429, details: { retryAfterSeconds: 7 } });
      else open(response, bookmark(9, true));
    });
    await until(() => stage.reflector.version === 9, stage.waiting);
    expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBe(7_000);
    expect(stage.api.received.every(isWatchList)).toBe(true);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['dropped', (response) => response.write(event('ADDED', 'a', 1), () => response.destroy())],
    ['ended', (response) => response.end(event('ADDED', 'a', 1))],
    ['ended in the middle of a line', (response) => response.end(event('ADDED', 'a', 1).slice(0, 20))],
    ['broken', (response) => response.end('<html>\n')],
  ])('reads in pages once when every watch-list is %s before its end, and not after a single one', async (_how, cut) => {
    stage.start((request, response) => {
      if (isWatchList(request)) cut(response);
      else if (isWatch(request)) open(response);
      else json(response, 200, { metadata: { resourceVersion: '5' }, items: [object('a', 1)] });
    });
    await until(() => stage.reflector.version === 5, stage.waiting);
    expect(stage.watches().filter(isWatchList)).toHaveLength(5);
    expect(stage.held()).toEqual(['a@1']);
  });

  it('starts a page-wise picture again when its token has expired', async () => {
    let lists = 0;
    stage.start((request, response) => {
      if (isWatchList(request)) refusal(response, 422, 'Invalid');
      else if (isWatch(request)) open(response);
      else if (request.query.has('continue')) {
        lists += 1;
        if (lists === 1) refusal(response, 410, 'Expired');
        else json(response, 200, { metadata: { resourceVersion: '60' }, items: [object('b', 2)] });
      } else json(response, 200, { metadata: { resourceVersion: '60', continue: 'more' }, items: [object('a', 1)] });
    });
    await until(() => stage.reflector.version === 60, stage.waiting);
    expect(stage.held()).toEqual(['a@1', 'b@2']);
  });
});
