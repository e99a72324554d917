/** How long calls to the API server may take: on the injected clock, not on the machine's. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Rest } from '../../../src/kubernetes/api/rest.ts';
import { createPodEvictor } from '../../../src/kubernetes/writes/evictions.ts';
import { json, startScriptedApi, until, type ScriptedApi } from '../scripted-api.ts';

const signal = new AbortController().signal;
let api: ScriptedApi;
beforeEach(async () => {
  api = await startScriptedApi();
});
afterEach(() => api.stop());

const CALLS: readonly (readonly [string, (rest: Rest) => Promise<unknown>, number])[] = [
  ['a read', (rest) => rest.json({ method: 'GET', path: '/x' }, signal), 10_000],
  ['a call with a limit of its own', (rest) => rest.json({ method: 'GET', path: '/x', timeoutMs: 2_000 }, signal), 2_000],
  ['the beginning of a watch', (rest) => rest.stream('/x', {}, signal), 10_000],
];

describe('a call that the API server does not answer', () => {
  it.each(CALLS)('%s ends when its time is over on the injected clock', async (_name, call, limitMs) => {
    api.answer(() => undefined);
    let ended: unknown;
    const done = call(api.rest).catch((thrown: unknown) => (ended = thrown));
    await until(() => api.received.length === 1);
    await api.clock.advance(limitMs - 1);
    expect(ended).toBeUndefined();
    await api.clock.advance(1);
    await done;
    expect(String(ended)).toContain('did not answer GET /x: no answer in time');
    expect(api.clock.sleeping).toBe(0);
  });

  it('an answer in time leaves no timer, and a watch that began goes on', async () => {
    api.answer((request, response) => {
      if (request.path === '/x') return json(response, 200, {});
      response.writeHead(200);
      response.write('first');
      return undefined;
    });
    await api.rest.json({ method: 'GET', path: '/x' }, signal);
    const body = (await api.rest.stream('/watch', {}, signal))[Symbol.asyncIterator]();
    expect(api.clock.sleeping).toBe(0);
    await api.clock.advance(60_000);
    expect(String((await body.next()).value)).toBe('first');
  });
});

it.each([false, true])('a call ends with its caller in the middle of an answer (that is ignored: %s)', async (ignoresAnswer) => {
  api.answer((_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'));
  const stop = new AbortController();
  const call = api.rest.json({ method: 'PUT', path: '/x', body: {}, ignoresAnswer }, stop.signal);
  await until(() => api.received.length === 1);
  stop.abort();
  await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
  expect(api.clock.sleeping).toBe(0);
});

describe('many calls at once', () => {
  const MOST = 100;
  const MOST_EVICTIONS = 70;
  const CALLS_AT_ONCE = 230;
  const read = (rest: Rest, ownSignal = signal): Promise<unknown> => rest.json({ method: 'GET', path: '/x' }, ownSignal);

  /** Holds each answer back until the test asks for it. */
  function holdAnswers(): { readonly open: ServerResponse[]; readonly answerAll: () => void } {
    const open: ServerResponse[] = [];
    api.answer((_request, response) => void open.push(response));
    return { open, answerAll: () => open.splice(0).forEach((response) => json(response, 200, {})) };
  }

  it('go out a hundred at a time, and those that wait have all of their time left', async () => {
    const { open, answerAll } = holdAnswers();
    const calls = Array.from({ length: CALLS_AT_ONCE }, () => read(api.rest));
    for (let left = CALLS_AT_ONCE; left > 0; left -= MOST) {
      await until(() => open.length >= Math.min(MOST, left));
      // Nine seconds of ten, for each hundred.
      await api.clock.advance(9_000);
      expect(open).toHaveLength(Math.min(MOST, left));
      answerAll();
    }
    expect(await Promise.all(calls)).toHaveLength(CALLS_AT_ONCE);
    expect(api.clock.sleeping).toBe(0);
  });

  it('wait for no eviction, however slowly a webhook answers these', async () => {
    api.answer((request, response) => (request.path.endsWith('/eviction') ? undefined : json(response, 200, { metadata: {}, spec: {} })));
    const over = new AbortController();
    const evictor = createPodEvictor(api.rest);
    const evictions = Array.from({ length: CALLS_AT_ONCE }, (_, at) =>
      evictor.evict({ namespace: 'n', name: `p-${at}`, uid: `u-${at}` }, 30_000, over.signal),
    );
    const other = read(api.rest, over.signal);
    await until(() => api.received.length > MOST_EVICTIONS);
    expect(api.received.filter(({ path }) => path === '/x')).toHaveLength(1);
    await other;
    over.abort();
    await Promise.all(evictions);
    expect(api.received).toHaveLength(MOST_EVICTIONS + 1);
  });

  it('keep neither the lease nor a watch waiting', async () => {
    const { open, answerAll } = holdAnswers();
    const calls = Array.from({ length: MOST }, () => read(api.rest));
    await until(() => open.length === MOST);
    const others = [api.rest.json({ method: 'GET', path: '/lease', onLease: true }, signal), api.rest.stream('/watch', {}, signal)];
    await until(() => open.length === MOST + 2);
    answerAll();
    await Promise.all([...calls, ...others]);
  });

  it('a call that is cancelled while it waits is not sent, and its turn is not lost', async () => {
    const { open, answerAll } = holdAnswers();
    const calls = Array.from({ length: MOST }, () => read(api.rest));
    await until(() => open.length === MOST);
    const stop = new AbortController();
    const cancelled = read(api.rest, stop.signal);
    const last = read(api.rest);
    stop.abort();
    await expect(cancelled).rejects.toMatchObject({ kind: 'cancelled' });
    answerAll();
    await Promise.all(calls);
    await until(() => open.length === 1);
    answerAll();
    await last;
    expect(api.received).toHaveLength(MOST + 1);
  });
});

describe('a write whose answer is ignored', () => {
  const write = (): Promise<unknown> => api.rest.json({ method: 'PUT', path: '/x', body: {}, ignoresAnswer: true }, signal);
  const answerAs = (contentType: string, body: string): void =>
    api.answer((_request, response) => void response.writeHead(200, { 'content-type': contentType }).end(body));

  it('is done whatever the object looks like, since it is not read', async () => {
    answerAs('application/json', '{"kind":');
    expect(await write()).toBeUndefined();
  });

  it('is unknown to be done when something else than the API server answered', async () => {
    answerAs('text/html', '<p>Sign in</p>');
    await expect(write()).rejects.toMatchObject({ detail: { kind: 'unavailable', effect: 'unknown' } });
  });

  it('is refused in the words of the API server', async () => {
    api.answer((_request, response) => json(response, 409, { message: 'someone else was faster' }));
    await expect(write()).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining('someone else was faster') });
  });

  it('ends when its time is over in the middle of the answer', async () => {
    api.answer((_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'));
    let ended: unknown;
    const done = write().catch((thrown: unknown) => (ended = thrown));
    await until(() => api.clock.sleeping === 1 && api.received.length === 1);
    await api.clock.advance(10_000);
    await done;
    expect(String(ended)).toContain('no answer in time');
    expect(api.clock.sleeping).toBe(0);
  });
});
