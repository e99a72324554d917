/** How long calls to the API server may take: on the injected clock, not on the machine's. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Rest } from '../../../src/kubernetes/api/rest.ts';
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
