/** An API server that speaks HTTP/2 behind a path that begins to drop everything: the connection is given up, and the next one works. */
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openConnection, type Connection } from '../../../src/kubernetes/api/connection.ts';
import { endWhenDead, isSilent, LIVENESS } from '../../../src/kubernetes/api/dead-connections.ts';
import { createRest } from '../../../src/kubernetes/api/rest.ts';
import { createServerTls } from '../../../world/simulator/base/tls.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { until } from '../scripted-api.ts';

describe('a connection', () => {
  const before = { bytesRead: 100, bytesWritten: 100 };
  it.each([
    { what: 'that answers', now: { bytesRead: 117, bytesWritten: 117 }, silent: false },
    { what: 'without traffic', now: before, silent: false },
    { what: 'that only receives', now: { bytesRead: 900, bytesWritten: 100 }, silent: false },
    { what: 'that does not answer', now: { bytesRead: 100, bytesWritten: 117 }, silent: true },
  ])('$what is silent: $silent', ({ now, silent }) => expect(isSilent(before, now)).toBe(silent));

  it('that is not of HTTP/2 is not watched', () => {
    expect(() => endWhenDead(undefined, LIVENESS)).not.toThrow();
  });
});

const listening = (server: Server | Http2SecureServer): Promise<number> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));

describe('watches over one connection', () => {
  let dir: string;
  let api: Http2SecureServer;
  let path: Server;
  let connection: Connection;
  const sockets: Socket[] = [];
  let pings = 0;
  const looks: AbortController[] = [];
  const nextLook = (): AbortSignal => {
    const look = new AbortController();
    looks.push(look);
    return look.signal;
  };
  const lookNow = (): void => looks.splice(0).forEach((look) => look.abort());

  beforeEach(async () => {
    const tls = await createServerTls(Date.now());
    pings = 0;
    api = createSecureServer({ key: tls.keyPem, cert: tls.certPem, allowHTTP1: true }, (request, response) => {
      response.writeHead(200, { 'x-version': request.httpVersion });
      if (request.url.startsWith('/watch')) response.write('first\n');
      else response.end(JSON.stringify({ version: request.httpVersion }));
    });
    api.on('session', (session) => session.on('ping', () => (pings += 1)));
    const port = await listening(api);
    path = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      sockets.push(client, server);
      for (const socket of [client, server]) socket.on('error', () => undefined);
      client.pipe(server).pipe(client);
    });
    dir = await mkdtemp(join(tmpdir(), 'dead-'));
    await writeFile(join(dir, 'ca.crt'), tls.caPem);
    await writeFile(join(dir, 'token'), 'token');
    const options = { namespace: 'n', leaseName: 'l', identity: 'me', leaderElect: false, serviceAccountDir: dir };
    const apiServer = `https://127.0.0.1:${await listening(path)}`;
    connection = await openConnection({ ...options, apiServer }, new FakeClock(START_MS), { pingMs: 1, nextLook });
  });
  afterEach(async () => {
    await connection.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    api.close();
    path.close();
    await rm(dir, { recursive: true });
  });

  it('end when it is silent, and the next call opens another one', async () => {
    const rest = createRest({ connection, clock: new FakeClock(START_MS), metrics: createMetrics(), userAgent: 'test', timeoutMs: 10_000 });
    const never = new AbortController().signal;
    const [one, two] = await Promise.all(
      ['/watch/1', '/watch/2'].map(async (at) => (await rest.stream(at, {}, never))[Symbol.asyncIterator]()),
    );
    expect(String((await one?.next())?.value)).toBe('first\n');
    expect(String((await two?.next())?.value)).toBe('first\n');
    expect(sockets).toHaveLength(2);
    for (const socket of sockets) socket.unpipe();
    const ends = [one, two].map(async (body) => body?.next().catch((thrown: unknown) => thrown));
    let ended: readonly unknown[] = [];
    void Promise.all(ends).then((errors) => (ended = errors));
    let calls = 0;
    // Each call is something that a living server would answer.
    await until(
      () => ended.length > 0 || calls > 1_000,
      () => {
        calls += 1;
        rest.json({ method: 'GET', path: '/x' }, never).catch(() => undefined);
        lookNow();
      },
    );
    expect(ended).toEqual([expect.any(Error), expect.any(Error)]);
    expect(await rest.json({ method: 'GET', path: '/x' }, never)).toEqual({ version: '2.0' });
    expect(sockets).toHaveLength(4);
  });

  it('are asked for signs of life', async () => {
    const rest = createRest({ connection, clock: new FakeClock(START_MS), metrics: createMetrics(), userAgent: 'test', timeoutMs: 10_000 });
    await rest.json({ method: 'GET', path: '/x' }, new AbortController().signal);
    await until(() => pings > 0);
  });
});
