import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { serveHttp, type HttpDeps } from '../../../src/cli/serving/http.ts';
import type { HttpEndpoint } from '../../../src/cli/serving/listener.ts';

const ANYWHERE = { address: '127.0.0.1:0', host: '127.0.0.1', port: 0, debug: { token: undefined } };

const STANDBY: Pick<HttpDeps, 'duty'> = {
  duty: () => ({ leads: false, mayAct: false, sentence: 'stands by; other leads', leader: 'other', command: 'kubectl ...' }),
};
const PAGE = { html: '<!doctype html><title>the page</title>', policy: "default-src 'none'" };

describe('http', () => {
  const open: HttpEndpoint[] = [];
  const deps = (change: Partial<HttpDeps> = {}): HttpDeps => ({
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'aks_autoscaler_loops_total 1\n' }),
    health: () => ({ healthy: true, reason: 'fine' }),
    ready: () => true,
    duty: () => ({ leads: true, mayAct: true, sentence: 'leads; may act' }),
    agents: () => [{ id: 'scale-sets' }],
    clusters: () => ({ clusters: [{ cluster: 'c01' }] }),
    templates: () => [{ group: 'general', source: 'learned' }],
    snapshot: () => ({ loop: { id: 7 } }),
    report: () => undefined,
    withheld: () => undefined,
    api: { reply: (path, query) => ({ status: 200, document: { path, q: query.get('q') ?? '' } }), stream: () => false },
    page: async () => PAGE,
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
    ['/', {}, 200, '<title>the page</title>'],
    ['/', { page: async () => undefined }, 404, 'does not contain the page'],
    ['/', STANDBY, 200, '<title>the page</title>'],
    ['/api/v1/search?q=web', {}, 200, '{"path":"search","q":"web"}'],
    ['/api/v1/overview', STANDBY, 409, '{"message":"this replica stands by; other leads","leader":"other","command":"kubectl ..."}'],
    ['/api/v1/events', STANDBY, 409, 'stands by'],
    ['/api/v1/events', {}, 503, 'ten streams'],
    ['/api/v1/report', {}, 404, '{"message":"nothing is compared: this is not a dry run'],
    ['/api/v1/report?since=12h', { report: (spanMs: number) => ({ spanMs }) }, 200, '"spanMs":43200000'],
    ['/api/v1/report', { report: (spanMs: number) => ({ spanMs }) }, 200, '"spanMs":604800000'],
    ['/api/v1/report?since=lately', {}, 400, 'since is \\"lately\\"; it must be a span such as 12h or 7d'],
    ['/api/v1/report', STANDBY, 409, 'this replica stands by; other leads'],
    ['/health-check', {}, 200, 'OK'],
    ['/health-check', { health: () => ({ healthy: false, reason: 'asleep' }) }, 500, 'Error: asleep'],
    ['/readyz', {}, 200, 'ok: leads; may act'],
    ['/readyz', { ready: () => false }, 503, 'no loop'],
    ['/readyz', STANDBY, 200, 'ok: stands by; other leads'],
    ['/debug/agents', STANDBY, 409, 'this replica stands by; other leads'],
    ['/debug/snapshot', STANDBY, 409, 'this replica stands by; other leads'],
    ['/debug/templates', STANDBY, 409, 'this replica stands by; other leads'],
    ['/metrics', STANDBY, 200, 'aks_autoscaler'],
    ['/debug/agents', {}, 200, '"scale-sets"'],
    ['/debug/agents?view=clusters', {}, 200, '"c01"'],
    ['/debug/agents?view=clusters', STANDBY, 409, 'this replica stands by; other leads'],
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

  it('serves the page under the names of this machine only, unless a token protects the documents', async () => {
    const under = (url: string, host: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        get(`${url}/`, { headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).on('error', reject);
      });
    const url = await serve();
    expect([await under(url, 'localhost:8085'), await under(url, 'rebound.example.com')]).toEqual([200, 403]);
    const guarded = await serveHttp({ ...ANYWHERE, debug: { token: () => 'secret' } }, deps());
    open.push(guarded);
    expect(await under(guarded.url, 'autoscaler.example.com')).toBe(200);
    expect((await fetch(`${guarded.url}/api/v1/overview`)).status).toBe(401);
  });

  it('sends with the page what it may load, and whether it changed', async () => {
    const url = await serve();
    const first = await fetch(`${url}/`);
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'content-security-policy': "default-src 'none'",
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-cache',
    });
    const again = await fetch(`${url}/`, { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it('compresses long documents for those who accept it, and asks to come back before the first loop', async () => {
    const long = { status: 200, document: { text: 'x'.repeat(5_000) } } as const;
    const url = await serve({ api: { reply: () => long, stream: () => false } });
    const packed = await fetch(`${url}/api/v1/overview`);
    expect([packed.headers.get('content-encoding'), await packed.json()]).toEqual(['gzip', long.document]);
    const plain = await fetch(`${url}/api/v1/overview`, { headers: { 'accept-encoding': 'identity' } });
    expect([plain.headers.get('content-encoding'), await plain.json()]).toEqual([null, long.document]);
    const early = { status: 503, document: { message: 'not yet' }, retryAfterSeconds: 2 } as const;
    const soon = await fetch(`${await serve({ api: { reply: () => early, stream: () => false } })}/api/v1/overview`);
    expect([soon.status, soon.headers.get('retry-after'), await soon.json()]).toEqual([503, '2', { message: 'not yet' }]);
  });

  it('streams events until the other side closes', async () => {
    const closed = Promise.withResolvers<string>();
    const url = await serve({
      api: {
        reply: () => ({ status: 200, document: {} }),
        stream: (target, lastEventId) => {
          target.on('close', () => closed.resolve(lastEventId ?? ''));
          target.write('event: ping\n\n');
          return true;
        },
      },
    });
    const stop = new AbortController();
    const response = await fetch(`${url}/api/v1/events`, { headers: { 'last-event-id': 'a.7' }, signal: stop.signal });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const { value } = (await response.body?.getReader().read()) ?? {};
    expect(new TextDecoder().decode(value)).toBe('event: ping\n\n');
    stop.abort();
    expect(await closed.promise).toBe('a.7');
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
    const LIMITS = { connections: 2, perAddress: 2, headerBytes: 1_024, requestMs: 100, idleMs: 200 };
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

    it.each([
      ['one client that sends nothing', 1, ''],
      ['two clients that do not read their answers', 2, 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'],
    ])('answers although all connections are those of %s', async (_who, clients, text) => {
      const metrics = async (): Promise<{ contentType: string; text: string }> => ({
        contentType: 'text/plain',
        text: 'x'.repeat(16 * 1024 * 1024),
      });
      const limits = { connections: 4, perAddress: 2, headerBytes: 1_024, requestMs: 3_600_000, idleMs: 3_600_000 };
      const endpoint = await serveHttp(ANYWHERE, deps({ metrics }), limits);
      open.push(endpoint);
      for (let at = 0; at < 8; at++) {
        const socket = connect({
          port: Number(new URL(endpoint.url).port),
          host: '127.0.0.1',
          localAddress: `127.0.1.${1 + (at % clients)}`,
        });
        sockets.push(socket);
        socket.on('error', () => undefined);
        await once(socket, 'connect');
        if (text !== '') socket.write(text);
      }
      for (const path of ['/healthz', '/']) expect((await fetch(`${endpoint.url}${path}`)).status).toBe(200);
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
