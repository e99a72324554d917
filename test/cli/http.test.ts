import { afterEach, describe, expect, it } from 'vitest';
import { serveHttp, type HttpAnswers, type HttpEndpoint } from '../../src/cli/http.ts';

const ANYWHERE = { address: '127.0.0.1:0', host: '127.0.0.1', port: 0 };

describe('http', () => {
  const open: HttpEndpoint[] = [];
  const answers = (change: Partial<HttpAnswers> = {}): HttpAnswers => ({
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'aks_autoscaler_loops_total 1\n' }),
    health: () => ({ healthy: true, reason: 'fine' }),
    ready: () => true,
    agents: () => [{ id: 'scale-sets' }],
    ...change,
  });
  async function serve(change: Partial<HttpAnswers> = {}): Promise<string> {
    const endpoint = await serveHttp(ANYWHERE, answers(change));
    open.push(endpoint);
    return endpoint.url;
  }

  afterEach(async () => {
    for (const endpoint of open.splice(0)) await endpoint.close();
  });

  it.each([
    ['/metrics', {}, 200, 'aks_autoscaler_loops_total 1'],
    ['/healthz', {}, 200, 'ok: fine'],
    ['/healthz?full', { health: () => ({ healthy: false, reason: 'asleep' }) }, 500, 'failing: asleep'],
    ['/readyz', {}, 200, 'ok'],
    ['/readyz', { ready: () => false }, 503, 'no loop'],
    ['/debug/agents', {}, 200, '"scale-sets"'],
    ['/else', {}, 404, '/metrics'],
  ] as const)('%s %#', async (path, change, status, text) => {
    const response = await fetch((await serve(change)) + path);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(text);
  });

  it('answers reads only', async () => {
    expect((await fetch(`${await serve()}/healthz`, { method: 'POST' })).status).toBe(405);
  });

  it('an answer that fails is a 500, not a crash', async () => {
    const url = await serve({ metrics: () => Promise.reject(new Error('broken collector')) });
    expect((await fetch(`${url}/metrics`)).status).toBe(500);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('a taken port is one sentence', async () => {
    const port = Number(new URL(await serve()).port);
    const again = serveHttp({ address: `127.0.0.1:${port}`, host: '127.0.0.1', port }, answers());
    await expect(again).rejects.toMatchObject({
      kind: 'unavailable',
      message: `Cannot listen on 127.0.0.1:${port}: another process listens there.`,
    });
  });
});
