import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { serveHttp, type HttpDeps, type HttpEndpoint } from '../../src/cli/http.ts';
import { aHistory } from '../support/history.ts';

const ANYWHERE = { address: '127.0.0.1:0', host: '127.0.0.1', port: 0, debug: { token: undefined } };

const STANDBY: Pick<HttpDeps, 'duty'> = { duty: () => ({ leads: false, mayAct: false, sentence: 'stands by; other leads' }) };

describe('http', () => {
  const open: HttpEndpoint[] = [];
  const deps = (change: Partial<HttpDeps> = {}): HttpDeps => ({
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'aks_autoscaler_loops_total 1\n' }),
    health: () => ({ healthy: true, reason: 'fine' }),
    ready: () => true,
    duty: () => ({ leads: true, mayAct: true, sentence: 'leads; may act' }),
    agents: () => [{ id: 'scale-sets' }],
    templates: () => [{ group: 'general', source: 'learned' }],
    snapshot: () => ({ loop: { id: 7 } }),
    report: () => undefined,
    withheld: () => undefined,
    history: aHistory(),
    explain: ({ kind, name }) => (name === 'gone/x' ? 'missing' : { kind, name }),
    refresh: () => ({ kind: 'begun' }),
    ...change,
  });
  async function serve(change: Partial<HttpDeps> = {}): Promise<string> {
    const endpoint = await serveHttp(ANYWHERE, deps(change));
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
    ['/api/v1/pods/default/web', {}, 200, '"name": "default/web"'],
    ['/api/v1/pools/vms%2Fsize', {}, 200, '"name": "vms/size"'],
    ['/api/v1/pods/gone/x', {}, 404, 'pod gone/x not found'],
    ['/api/v1/pods/', {}, 404, '/api/v1/pods/NAME'],
    ['/api/v1/users/me', {}, 404, '/api/v1/nodes/NAME'],
    ['/api/v1/pods/%', {}, 404, 'not found'],
    ['/api/v1/nodes/n', { explain: () => undefined }, 503, 'no loop has decided anything yet'],
    ['/api/v1/nodes/n', STANDBY, 503, 'this replica stands by; other leads'],
    ['/api/v1/report', {}, 404, 'this is not a dry run'],
    ['/api/v1/report?since=12h', { report: (spanMs: number) => ({ spanMs }) }, 200, '"spanMs": 43200000'],
    ['/api/v1/report', { report: (spanMs: number) => ({ spanMs }) }, 200, '"spanMs": 604800000'],
    ['/api/v1/report?since=lately', {}, 400, 'since is "lately"; it must be a span such as 12h or 7d'],
    ['/api/v1/report', STANDBY, 503, 'this replica stands by; other leads'],
    ['/health-check', {}, 200, 'OK'],
    ['/health-check', { health: () => ({ healthy: false, reason: 'asleep' }) }, 500, 'Error: asleep'],
    ['/readyz', {}, 200, 'ok: leads; may act'],
    ['/readyz', { ready: () => false }, 503, 'no loop'],
    ['/readyz', STANDBY, 200, 'ok: stands by; other leads'],
    ['/debug/agents', STANDBY, 503, 'this replica stands by; other leads'],
    ['/debug/snapshot', STANDBY, 503, 'this replica stands by; other leads'],
    ['/debug/templates', STANDBY, 503, 'this replica stands by; other leads'],
    ['/metrics', STANDBY, 200, 'aks_autoscaler'],
    ['/debug/agents', {}, 200, '"scale-sets"'],
    ['/debug/templates', {}, 200, '"learned"'],
    ['/debug/snapshot', {}, 200, '"id": 7'],
    ['/debug/snapshot', { snapshot: () => undefined }, 503, 'no loop has observed'],
    ['/debug/withheld', {}, 404, 'not a dry run'],
    ['/debug/withheld', { withheld: () => [{ kind: 'increase' }] }, 200, '"increase"'],
    ['/else', {}, 404, '/metrics'],
  ] as const satisfies readonly (readonly [string, Partial<HttpDeps>, number, string])[])('%s %#', async (path, change, status, text) => {
    const response = await fetch((await serve(change)) + path);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(text);
  });

  it('accepts GET everywhere, and POST only for /debug/refresh', async () => {
    const url = await serve();
    expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${url}/debug/refresh`)).status).toBe(405);
    expect((await fetch(`${url}/debug/refresh`, { method: 'DELETE' })).status).toBe(405);
  });

  it.each([
    ['/debug/refresh', undefined, { kind: 'begun' }, 202, 'refresh of all node groups from Azure requested'],
    ['/debug/refresh?group=pool%2Fsize', 'pool/size', { kind: 'begun' }, 202, 'refresh of pool/size from Azure requested'],
    ['/debug/refresh', undefined, { kind: 'deferred', startsInMs: 6_200 }, 202, 'it starts in 7 s (at most one in 10 s)'],
    ['/debug/refresh?group=x', 'x', { kind: 'unknown-group', reason: 'node group "x" not found' }, 404, 'node group "x" not found'],
    ['/debug/refresh', undefined, { kind: 'not-ready', reason: 'no loop has completed yet' }, 503, 'no loop'],
  ] as const)('POST %s %#', async (path, group, result, status, text) => {
    const requested: (string | undefined)[] = [];
    const refresh: HttpDeps['refresh'] = (name) => {
      requested.push(name);
      return result;
    };
    const response = await fetch((await serve({ refresh })) + path, { method: 'POST' });
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(text)]);
    expect(requested).toEqual([group]);
  });

  it('returns 500 if a document cannot be made, and keeps serving', async () => {
    const url = await serve({ metrics: () => Promise.reject(new Error('broken collector')) });
    expect((await fetch(`${url}/metrics`)).status).toBe(500);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  describe('limits', () => {
    const LIMITS = { connections: 2, headerBytes: 1_024, requestMs: 100, idleMs: 200 };
    const sockets: Socket[] = [];
    const opened = async (url: string): Promise<Socket> => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      sockets.push(socket);
      await once(socket, 'connect');
      return socket;
    };
    /** Everything that the server sent until it closed the connection. */
    const untilClosed = async (socket: Socket): Promise<string> => {
      let text = '';
      socket.on('data', (part: Buffer) => (text += part.toString()));
      await once(socket, 'close');
      return text;
    };
    const limited = async (change: Partial<HttpDeps> = {}): Promise<string> => {
      const endpoint = await serveHttp(ANYWHERE, deps(change), LIMITS);
      open.push(endpoint);
      return endpoint.url;
    };

    afterEach(() => {
      for (const socket of sockets.splice(0)) socket.destroy();
    });

    it('closes a connection above the limit without a response', async () => {
      const url = await limited();
      await opened(url);
      await opened(url);
      expect(await untilClosed(await opened(url))).toBe('');
    });

    it('answers headers above the limit with 431', async () => {
      const socket = await opened(await limited());
      socket.write(`GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(2_000)}\r\n\r\n`);
      expect(await untilClosed(socket)).toContain('431 Request Header Fields Too Large');
    });

    it.each([
      ['nothing', ''],
      ['half of its headers', 'GET /healthz HTTP/1.1\r\nHost: a\r\n'],
      ['half of its body', 'POST /debug/refresh HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx'],
    ])('closes a connection that sends %s', async (_what, text) => {
      const socket = await opened(await limited());
      socket.write(text);
      await untilClosed(socket);
      expect(socket.destroyed).toBe(true);
    });

    it('closes an idle connection whose response does not come', async () => {
      const socket = await opened(await limited({ metrics: () => new Promise(() => undefined) }));
      socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
      expect(await untilClosed(socket)).toBe('');
    });
  });

  it('reports a port in use in one sentence', async () => {
    const port = Number(new URL(await serve()).port);
    const again = serveHttp({ ...ANYWHERE, address: `127.0.0.1:${port}`, port }, deps());
    await expect(again).rejects.toMatchObject({
      kind: 'unavailable',
      message: `Cannot listen on 127.0.0.1:${port}: another process listens there.`,
    });
  });
});
