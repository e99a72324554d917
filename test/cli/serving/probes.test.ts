/** The kubelet's probe is answered whatever other clients do to the port. Real sockets: on Linux, 127.0.0.x are many addresses. */
import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type HttpEndpoint, listen } from '../../../src/cli/serving/listener.ts';
import { PROBE_LIMITS, type ProbeDeps, serveProbes } from '../../../src/cli/serving/probes.ts';

const ANYWHERE = { address: '127.0.0.1:0', host: '127.0.0.1', port: 0 };
const HOUR = 3_600_000;
/** So that no connection ends by itself. */
const PATIENT = { requestMs: HOUR, idleMs: HOUR };
const BATCH = 100;

const DEPS: ProbeDeps = {
  health: () => ({ healthy: true, reason: 'fine' }),
  ready: () => true,
  duty: () => ({ sentence: 'leads; may act' }),
};

interface Clients {
  readonly addresses: number;
  readonly text: string;
  readonly reads: boolean;
}

describe('probes', () => {
  const open: HttpEndpoint[] = [];
  const sockets = new Set<Socket>();

  async function serve(change: Partial<ProbeDeps> = {}): Promise<string> {
    const endpoint = await serveProbes(ANYWHERE, { ...DEPS, ...change }, { ...PROBE_LIMITS, ...PATIENT });
    open.push(endpoint);
    return endpoint.url;
  }

  /** A client that sends `text` and nothing more. One that does not read does not see either that its connection was cut. */
  function hold(url: string, localAddress: string, text: string, reads = true): Promise<Socket> {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress });
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (reads) socket.resume();
    if (text !== '') socket.write(text);
    return new Promise((resolve) => {
      for (const event of ['connect', 'close']) socket.once(event, () => resolve(socket));
    });
  }

  async function holdMany(url: string, count: number, { addresses, text, reads }: Clients): Promise<void> {
    for (let from = 0; from < count; from += BATCH) {
      const indices = Array.from({ length: Math.min(BATCH, count - from) }, (_, at) => from + at);
      await Promise.all(
        indices.map((at) => hold(url, `127.0.${1 + Math.floor((at % addresses) / 200)}.${1 + ((at % addresses) % 200)}`, text, reads)),
      );
    }
  }

  /** As the kubelet does it: a connection of its own, from the address of its node. */
  function probe(url: string, path = '/healthz', localAddress = '127.0.0.1'): Promise<string> {
    return new Promise((resolve) => {
      const request = get(`${url}${path}`, { agent: false, localAddress }, (response) => {
        let text = '';
        response.on('data', (part: Buffer) => (text += part.toString()));
        response.on('end', () => resolve(`${response.statusCode ?? 0} ${text.trim()}`));
      });
      request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
  }

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    for (const endpoint of open.splice(0)) await endpoint.close();
  });

  it.each([
    ['/healthz', {}, '200 ok: fine'],
    ['/healthz', { health: () => ({ healthy: false, reason: 'asleep' }) }, '500 failing: asleep'],
    ['/health-check?full', {}, '200 OK'],
    ['/readyz', {}, '200 ok: leads; may act'],
    ['/readyz', { ready: () => false }, '503 no loop has completed yet: leads; may act'],
    ['/metrics', {}, '404 not found; paths: /healthz, /health-check, /readyz'],
    ['/debug/snapshot', {}, '404 not found; paths: /healthz, /health-check, /readyz'],
  ] as const satisfies readonly (readonly [string, Partial<ProbeDeps>, string])[])('%s %#', async (path, change, answer) => {
    expect(await probe(await serve(change), path)).toBe(answer);
  });

  it('refuses to write, and closes each connection after its answer', async () => {
    const response = await fetch(`${await serve()}/healthz`, { method: 'POST' });
    expect([response.status, response.headers.get('connection')]).toEqual([405, 'close']);
  });

  const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: a\r\n';
  describe.each([
    { whose: 'the address of the kubelet itself', addresses: 1, atLeastHeld: 64, many: 200 },
    { whose: 'other addresses', addresses: 250, atLeastHeld: 500, many: 600 },
  ])('with clients from $whose', ({ addresses, atLeastHeld, many }) => {
    it.each([
      [64, 'that send nothing', '', true],
      [many, 'that send nothing', '', true],
      [many, 'that send half of their headers', REQUEST, true],
      [many, 'that send half of their body', 'POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx', true],
      [many, 'that do not read the answers to many requests', `${REQUEST}\r\n`.repeat(9), false],
    ])('answers the kubelet beside %i connections %s', async (count, _what, text, reads) => {
      const url = await serve();
      await holdMany(url, count, { addresses, text, reads });
      expect(await probe(url)).toBe('200 ok: fine');
      // Connections without a complete request are still there: the probe did not wait until they ended.
      if (text === '' || text === REQUEST) expect(sockets.size).toBeGreaterThanOrEqual(Math.min(count, atLeastHeld) - 1);
      expect(await probe(url, '/readyz')).toBe('200 ok: leads; may act');
    });
  });

  it('answers the kubelet beside clients of its own address that open each connection again when it is cut', async () => {
    const url = await serve();
    let opened = 0;
    let stopped = false;
    const again = async (): Promise<void> => {
      if (stopped) return;
      opened += 1;
      const socket = await hold(url, '127.0.0.1', '');
      if (socket.destroyed) await again();
      else socket.once('close', () => void again());
    };
    await Promise.all(Array.from({ length: 200 }, again));
    for (let at = 0; at < 5; at++) expect(await probe(url)).toBe('200 ok: fine');
    stopped = true;
    expect(opened).toBeGreaterThan(200);
  });

  describe('the place of a new connection', () => {
    /** Answers `/now`, and begins to answer `/later`. */
    async function serveSome(limits: { readonly connections: number; readonly perAddress: number }): Promise<string> {
      const endpoint = await listen(ANYWHERE, { ...PROBE_LIMITS, ...PATIENT, ...limits }, ({ url }, response) => {
        if (url === '/now') response.end('now');
        else response.write('soon');
      });
      open.push(endpoint);
      return endpoint.url;
    }
    const LATER = 'GET /later HTTP/1.1\r\nHost: a\r\n\r\n';
    const NOW = 'GET /now HTTP/1.1\r\nHost: a\r\n\r\n';

    /** A client whose request the server has, without a complete answer. */
    async function waiting(url: string): Promise<Socket> {
      const socket = await hold(url, '127.0.0.1', LATER);
      await once(socket, 'data');
      return socket;
    }

    /** Which of them are closed, once that one is. A thousand turns of the event loop are far more than the end of a connection takes. */
    async function closedWith(cut: Socket, all: readonly Socket[]): Promise<readonly boolean[]> {
      for (let turn = 0; turn < 1_000 && !cut.destroyed; turn++) await setImmediate();
      return all.map(({ destroyed }) => destroyed);
    }

    it('is that of the oldest connection that waits for a request', async () => {
      const url = await serveSome({ connections: 3, perAddress: 9 });
      const waitsForAnswer = await waiting(url);
      const usedAgain = await hold(url, '127.0.0.1', '');
      const silent = await hold(url, '127.0.0.1', '');
      usedAgain.write(NOW);
      await once(usedAgain, 'data');
      expect(await probe(url, '/now')).toBe('200 now');
      expect(await closedWith(silent, [waitsForAnswer, usedAgain, silent])).toEqual([false, false, true]);
    });

    it('is that of the oldest connection if all wait for answers', async () => {
      const url = await serveSome({ connections: 2, perAddress: 9 });
      const [first, second] = [await waiting(url), await waiting(url)];
      expect(await probe(url, '/now')).toBe('200 now');
      expect(await closedWith(first, [first, second])).toEqual([true, false]);
    });

    it('is one of its own address, if that address has as many as it may', async () => {
      const url = await serveSome({ connections: 9, perAddress: 2 });
      const other = await hold(url, '127.0.0.2', '');
      const [older, newer] = [await hold(url, '127.0.0.1', ''), await hold(url, '127.0.0.1', '')];
      expect(await probe(url, '/now')).toBe('200 now');
      expect(await closedWith(older, [other, older, newer])).toEqual([false, true, false]);
    });
  });
});
