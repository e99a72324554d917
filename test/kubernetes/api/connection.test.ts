/** Credentials: read again when old, read again and used at once when refused. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openConnection, type Connection } from '../../../src/kubernetes/api/connection.ts';
import { createRest, type Rest } from '../../../src/kubernetes/api/rest.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { json, refusal, startScriptedApi, type ScriptedApi } from '../scripted-api.ts';

const signal = new AbortController().signal;
const OPTIONS = { namespace: 'kube-system', leaseName: 'l', identity: 'me', leaderElect: false };
let api: ScriptedApi;
let clock: FakeClock;
let dir: string;
let connection: Connection | undefined;

beforeEach(async () => {
  api = await startScriptedApi();
  clock = new FakeClock(START_MS);
  dir = await mkdtemp(join(tmpdir(), 'service-account-'));
  await writeFile(join(dir, 'ca.crt'), '');
});
afterEach(async () => {
  await connection?.close();
  connection = undefined;
  await api.stop();
  await rm(dir, { recursive: true });
});

const putToken = (token: string): Promise<void> => writeFile(join(dir, 'token'), `${token}\n`);

async function connect(): Promise<Rest> {
  connection = await openConnection({ ...OPTIONS, apiServer: api.url, serviceAccountDir: dir }, clock);
  return createRest({ connection, clock, metrics: createMetrics(), userAgent: 'test', timeoutMs: 10_000 });
}

/** An API server that takes one token and counts what it did. */
function accepting(state: { token: string; done: number }): void {
  api.answer((request, response) => {
    if (request.headers.authorization !== `Bearer ${state.token}`) return refusal(response, 401, 'Unauthorized');
    state.done += 1;
    json(response, 200, {});
  });
}

const authorizations = (): readonly unknown[] => api.received.map(({ headers }) => headers.authorization);

describe('the token of a service account', () => {
  it('is read again after a minute, not at each call', async () => {
    await putToken('one');
    const rest = await connect();
    const get = () => rest.json({ method: 'GET', path: '/x' }, signal);
    await get();
    await putToken('two');
    await get();
    await clock.advance(60_001);
    await get();
    expect(authorizations()).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
  });

  it.each(['GET', 'POST'] as const)('is read again when it was refused, and the %s made once more with it', async (method) => {
    await putToken('one');
    const rest = await connect();
    const state = { token: 'one', done: 0 };
    accepting(state);
    await rest.json({ method, path: '/x', ...(method === 'POST' ? { body: {} } : {}) }, signal);
    state.token = 'two';
    await putToken('two');
    await expect(rest.json({ method, path: '/x', ...(method === 'POST' ? { body: {} } : {}) }, signal)).resolves.toEqual({});
    expect(state.done).toBe(2);
    expect(authorizations()).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
  });

  it('is read again for a watch too', async () => {
    await putToken('one');
    const rest = await connect();
    await rest.json({ method: 'GET', path: '/x' }, signal);
    accepting({ token: 'two', done: 0 });
    await putToken('two');
    const chunks: Buffer[] = [];
    for await (const chunk of await rest.stream('/things', { watch: true }, signal)) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('{}');
  });

  it('that is still refused is an auth error, after one try when it is the same and two when it is not', async () => {
    await putToken('one');
    const rest = await connect();
    accepting({ token: 'none of these', done: 0 });
    await expect(rest.json({ method: 'GET', path: '/x' }, signal)).rejects.toMatchObject({ kind: 'auth' });
    expect(api.received).toHaveLength(1);
    await putToken('two');
    await expect(rest.json({ method: 'GET', path: '/x' }, signal)).rejects.toMatchObject({ kind: 'auth' });
    expect(authorizations()).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
  });

  it('that cannot be read any more is said so', async () => {
    await putToken('one');
    const rest = await connect();
    await rm(join(dir, 'token'));
    await expect(rest.json({ method: 'GET', path: '/x' }, signal)).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringMatching(/service account cannot be read from .*token/),
    });
  });
});

describe('opening', () => {
  const open = (kubeconfigPath: string, context?: string) =>
    openConnection({ ...OPTIONS, kubeconfigPath, ...(context === undefined ? {} : { context }) }, clock);
  const kubeconfig = async (change: object = {}): Promise<string> => {
    const path = join(dir, 'kubeconfig');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443/' } }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'main',
      ...change,
    };
    await writeFile(path, JSON.stringify(config));
    return path;
  };

  it('neither kubeconfig nor service account: says what is missing', async () => {
    await expect(openConnection({ ...OPTIONS, serviceAccountDir: join(dir, 'none') }, clock)).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringMatching(/No kubeconfig is given, and the service account cannot be read from/),
    });
  });

  it.each<[string, object, RegExp]>([
    ['no current context', { 'current-context': 'gone' }, /no usable context "gone"; it has: main/],
    [
      'a SOCKS proxy',
      { clusters: [{ name: 'c', cluster: { server: 'https://x', 'proxy-url': 'socks5://p:1080' } }] },
      /SOCKS is not supported/,
    ],
    [
      'no verification of the server',
      { clusters: [{ name: 'c', cluster: { server: 'https://x', 'insecure-skip-tls-verify': true } }] },
      /turns off verification of the server .* not accepted/,
    ],
  ])('a kubeconfig with %s is a config error in one sentence', async (_what, change, message) => {
    await expect(open(await kubeconfig(change))).rejects.toMatchObject({ kind: 'config', message: expect.stringMatching(message) });
  });

  it('a list of kubeconfigs is one: the first of a name counts, and what is not there is passed over', async () => {
    const second = await kubeconfig();
    const first = join(dir, 'first');
    await writeFile(first, JSON.stringify({ clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.2:6443' } }] }));
    connection = await open([join(dir, 'none'), first, '', second].join(delimiter));
    expect(connection.server).toBe('https://127.0.0.2:6443');
    expect(await connection.authorization()).toEqual({ authorization: 'Bearer secret' });
    await expect(open([join(dir, 'none'), join(dir, 'neither')].join(delimiter))).rejects.toMatchObject({ kind: 'config' });
  });

  it('a kubeconfig that is not there, or another context than it has', async () => {
    await expect(open(join(dir, 'none'))).rejects.toMatchObject({ kind: 'config', message: expect.stringContaining('cannot be read') });
    await expect(open(await kubeconfig(), 'other')).rejects.toMatchObject({ kind: 'config' });
  });

  it.each<[string, object, string]>([
    ['a token', { token: 'secret' }, 'Bearer secret'],
    ['a password', { username: 'me', password: 'pw' }, `Basic ${Buffer.from('me:pw').toString('base64')}`],
  ])('uses %s of a kubeconfig', async (_what, user, authorization) => {
    connection = await open(await kubeconfig({ users: [{ name: 'u', user }] }));
    expect(connection.server).toBe('https://127.0.0.1:6443');
    expect(await connection.authorization()).toEqual({ authorization });
  });
});
