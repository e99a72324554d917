import { describe, expect, it } from 'vitest';
import { debugRefusal } from '../../../src/cli/serving/debug-access.ts';
import { serveHttp } from '../../../src/cli/serving/http.ts';

const HOST = { host: 'localhost:8085' };

const from = (remoteAddress: string, authorization?: string) => ({
  headers: authorization === undefined ? HOST : { ...HOST, authorization },
  socket: { remoteAddress },
});

describe('access to /debug', () => {
  it.each([
    ['127.0.0.1', undefined],
    ['::1', undefined],
    ['::ffff:127.0.0.1', undefined],
    ['10.244.0.7', 403],
    ['::ffff:10.244.0.7', 403],
    ['', 403],
  ])('without a token file: %s', (address, status) => {
    expect(debugRefusal(from(address), { token: undefined })?.status).toBe(status);
  });

  it.each([
    ['localhost:8085', undefined],
    ['LocalHost', undefined],
    ['127.0.0.1:9000', undefined],
    ['127.1.2.3:8085', undefined],
    ['[::1]:8085', undefined],
    ['rebound.example.com', 403],
    ['rebound.example.com:8085', 403],
    ['127.0.0.1.example.com', 403],
    ['127.example.com:8085', 403],
    ['localhost.example.com', 403],
    ['localhost@example.com', 403],
    ['10.244.0.7:8085', 403],
    ['0.0.0.0:8085', 403],
    ['', 403],
    [undefined, 403],
  ])('without a token file, under the name %s (DNS rebinding)', (host, status) => {
    const headers = host === undefined ? {} : { host };
    expect(debugRefusal({ headers, socket: { remoteAddress: '127.0.0.1' } }, { token: undefined })?.status).toBe(status);
  });

  it.each([
    ['http://localhost:8085', undefined],
    ['HTTP://LOCALHOST:8085', undefined],
    ['https://localhost:8085', undefined],
    ['http://localhost:3000', 403],
    ['http://127.0.0.1:8085', 403],
    ['https://example.com', 403],
    ['null', 403],
    ['', 403],
    ['http://localhost:8085, https://example.com', 403],
  ])('a page of the origin %s, with a token file and without', (origin, status) => {
    const headers = { ...HOST, origin, authorization: 'Bearer s3cret' };
    const request = { headers, socket: { remoteAddress: '127.0.0.1' } };
    expect(debugRefusal(request, { token: undefined })?.status).toBe(status);
    expect(debugRefusal(request, { token: () => 's3cret' })?.status).toBe(status);
  });

  it('with a token file, any name of the server is accepted', () => {
    const headers = { host: 'aks-autoscaler.kube-system:8085', authorization: 'Bearer s3cret' };
    expect(debugRefusal({ headers, socket: { remoteAddress: '10.244.0.7' } }, { token: () => 's3cret' })).toBeUndefined();
  });

  it.each([
    ['the token', '10.244.0.7', 'Bearer s3cret', undefined],
    ['the token, the scheme in lower case', '10.244.0.7', 'bearer s3cret', undefined],
    ['nothing', '127.0.0.1', undefined, 401],
    ['another token', '127.0.0.1', 'Bearer s3cre', 401],
    ['the token in another scheme', '127.0.0.1', 'Basic s3cret', 401],
    ['no token', '127.0.0.1', 'Bearer ', 401],
  ])('with a token file: %s', (_, address, authorization, status) => {
    expect(debugRefusal(from(address, authorization), { token: () => 's3cret\n' })?.status).toBe(status);
  });

  it.each([
    ['empty', () => ' \n'],
    [
      'away',
      () => {
        throw new Error('ENOENT');
      },
    ],
  ])('a token file that is %s opens no door', (_, token) => {
    expect(debugRefusal(from('127.0.0.1', 'Bearer '), { token })?.status).toBe(503);
  });

  it('guards every path below /debug, POST included, and nothing else; a new token counts at once', async () => {
    let token = 'old';
    const endpoint = await serveHttp(
      { address: '127.0.0.1:0', host: '127.0.0.1', port: 0, debug: { token: () => token } },
      {
        metrics: async () => ({ contentType: 'text/plain', text: 'm' }),
        health: () => ({ healthy: true, reason: '' }),
        ready: () => true,
        duty: () => ({ leads: true, mayAct: true, sentence: 'leads; may act' }),
        agents: () => [],
        clusters: () => ({}),
        templates: () => [],
        snapshot: () => ({}),
        report: () => undefined,
        withheld: () => [],
        api: { reply: () => ({ status: 200, document: {} }), stream: () => false },
        page: async () => ({ html: '<p>the page</p>', policy: '' }),
        refresh: () => ({ kind: 'begun' }),
      },
    );
    const status = async (path: string, bearer?: string, method = 'GET'): Promise<number> => {
      const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
      const response = await fetch(endpoint.url + path, { method, headers });
      await response.text();
      return response.status;
    };
    try {
      // The page contains nothing about the cluster, and a browser that opens it has no token yet.
      for (const path of ['/', '/metrics', '/healthz', '/readyz']) expect(await status(path)).toBe(200);
      for (const path of ['/debug/agents', '/debug/templates', '/debug/snapshot', '/debug/withheld', '/debug/else', '/api/v1/pods/a/b']) {
        expect(await status(path)).toBe(401);
      }
      expect(await status('/debug/refresh', undefined, 'POST')).toBe(401);
      expect(await status('/debug/refresh', 'old', 'POST')).toBe(202);
      token = 'new';
      expect(await status('/debug/agents', 'old')).toBe(401);
      expect(await status('/debug/agents', 'new')).toBe(200);
    } finally {
      await endpoint.close();
    }
  });
});
