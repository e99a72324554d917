import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refusal, until } from '../scripted-api.ts';
import { bookmark, event, isWatchList, open, openReflectorStage, type ReflectorStage } from './reflector-stage.ts';

const expiredEvent = `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } })}\n`;

let stage: ReflectorStage;

beforeEach(async () => {
  stage = await openReflectorStage();
});

afterEach(() => stage.end());

describe('reflector', () => {
  it('comes back from the version of the last bookmark', async () => {
    stage.start((request, response) => {
      if (isWatchList(request)) {
        open(response, event('ADDED', 'a', 7), bookmark(9, true), bookmark(40));
        response.end();
      } else open(response);
    });
    await until(() => stage.watches().length === 2, stage.waiting);
    expect(stage.watches()[1]?.query.get('resourceVersion')).toBe('40');
    expect(stage.held()).toEqual(['a@7']);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['as an ERROR event', (response) => open(response, expiredEvent)],
    ['as the answer itself', (response) => refusal(response, 410, 'Expired')],
  ])('reads everything again after a 410 %s, and drops what vanished meanwhile', async (_form, gone) => {
    let lists = 0;
    stage.start((request, response) => {
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
    await until(() => stage.reflector.version === 9, stage.waiting);
    expect(stage.held()).toEqual(['b@2', 'c@8']);
  });

  it('keeps what it has while the server fails, waits longer each time, and says how old its picture is', async () => {
    let failing = true;
    const waits: number[] = [];
    stage.start((request, response) => {
      if (isWatchList(request)) {
        open(response, event('ADDED', 'a', 1), bookmark(3, true));
        response.end();
      } else if (failing) {
        waits.push(stage.clock.now());
        refusal(response, 500, 'InternalError');
      } else open(response, event('MODIFIED', 'a', 4));
    });
    await until(
      () => waits.length === 6,
      () => stage.clock.advance(100),
    );
    expect(stage.held()).toEqual(['a@1']);
    const gaps = waits.slice(1).map((at, index) => at - (waits[index] ?? 0));
    expect(gaps.at(-1)).toBeGreaterThan(2 * (gaps[0] ?? 0));
    expect(stage.clock.monotonic() - stage.reflector.lastHeardAt).toBeGreaterThan(3_000);
    failing = false;
    await until(() => stage.reflector.version === 4, stage.waiting);
    expect(stage.held()).toEqual(['a@4']);
    const restarts = await stage.api.metrics.cluster.watchRestarts.get();
    expect(restarts.values.find(({ labels }) => labels.cause === 'unavailable')?.value).toBe(6);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    [
      'a socket dropped in the middle of a line',
      (response) => response.write(event('MODIFIED', 'a', 5).slice(0, 20), () => response.destroy()),
    ],
    ['a stream that ends in the middle of a line', (response) => response.end(event('MODIFIED', 'a', 5).slice(0, 20))],
  ])('loses nothing to %s', async (_what, cut) => {
    stage.start((request, response) => {
      if (isWatchList(request)) {
        open(response, event('ADDED', 'a', 1), bookmark(3, true));
        cut(response);
      } else open(response, event('MODIFIED', 'a', 5));
    });
    await until(() => stage.reflector.version === 5, stage.waiting);
    expect(stage.watches()[1]?.query.get('resourceVersion')).toBe('3');
    expect(stage.held()).toEqual(['a@5']);
  });

  it('reads everything again after a line that is not JSON', async () => {
    let lists = 0;
    stage.start((_request, response) => {
      lists += 1;
      if (lists === 1) open(response, event('ADDED', 'a', 1), bookmark(3, true), '{"type":"DELETED","object":{"metad\n');
      else open(response, event('ADDED', 'b', 6), bookmark(7, true));
    });
    await until(() => stage.reflector.version === 7, stage.waiting);
    expect(stage.held()).toEqual(['b@6']);
    expect(stage.api.received.every(isWatchList)).toBe(true);
  });

  it('believes a first picture only when it is complete', async () => {
    let lists = 0;
    stage.start((_request, response) => {
      lists += 1;
      if (lists === 2) {
        open(response, event('ADDED', 'a', 1));
        response.end();
      } else open(response, event('ADDED', 'a', 1), event('ADDED', 'b', 2), bookmark(lists, true), lists === 1 ? expiredEvent : '');
    });
    await until(() => stage.reflector.version === 3, stage.waiting);
    expect(stage.held()).toEqual(['a@1', 'b@2']);
    expect(lists).toBe(3);
  });

  it('survives a server that goes and comes back', async () => {
    stage.start((request, response) => {
      if (isWatchList(request)) open(response, event('ADDED', 'a', 1), bookmark(3, true));
      else open(response, event('MODIFIED', 'a', 4));
    });
    await stage.reflector.synced;
    await stage.api.goAway();
    for (let round = 0; round < 5; round++) await stage.clock.advance(5_000);
    await stage.api.comeBack();
    await until(() => stage.reflector.version === 4, stage.waiting);
    expect(stage.held()).toEqual(['a@4']);
  });

  it('does not spin when every watch is closed at once', async () => {
    stage.start((request, response) => {
      open(response, ...(isWatchList(request) ? [bookmark(3, true)] : []));
      response.end();
    });
    await until(() => stage.watches().length === 2);
    await until(() => stage.clock.sleeping > 0);
    expect(stage.watches()).toHaveLength(2);
  });

  it('says that it may not read when it has been refused for a minute, as it is until the roles are made', async () => {
    stage.start((_request, response) => refusal(response, 403, 'Forbidden'));
    const began = stage.clock.now();
    let over = false;
    const refused = expect(stage.reflector.synced.finally(() => (over = true))).rejects.toMatchObject({ kind: 'auth' });
    await until(() => over, stage.waiting);
    await refused;
    expect(stage.clock.now() - began).toBeGreaterThanOrEqual(60_000);
    expect(stage.clock.now() - began).toBeLessThan(120_000);
  });

  it('goes on when the refusals end in time', async () => {
    let refusals = 5;
    stage.start((request, response) => {
      if (refusals-- > 0) return refusal(response, 403, 'Forbidden');
      return isWatchList(request) ? open(response, bookmark(3, true)) : open(response);
    });
    await until(() => stage.reflector.version === 3, stage.waiting);
    await stage.reflector.synced;
  });

  it('says at once that its credential is bad', async () => {
    stage.start((_request, response) => refusal(response, 401, 'Unauthorized'));
    await expect(stage.reflector.synced).rejects.toMatchObject({ kind: 'auth' });
  });

  it('ends a watch that went silent', async () => {
    stage.start((request, response) => (isWatchList(request) ? open(response, bookmark(3, true)) : open(response, bookmark(4))), {
      initialSilenceMs: 30,
      silenceMs: 30,
    });
    await until(() => stage.watches().length >= 2, stage.waiting);
    expect(stage.watches()[1]?.query.get('resourceVersion')).toBe('3');
  });
});
