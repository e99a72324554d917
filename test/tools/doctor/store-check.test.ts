/** What `doctor` finds out about a shared store, with a real server. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { storeChecks } from '../../../src/tools/doctor/store-check.ts';
import { storeFix } from '../../../src/tools/doctor/store-fixes.ts';
import { systemClock } from '../../../src/cli/process/process.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { isConfigErrors, type Config } from '../../../src/config/types/config.ts';
import { freePort } from '../../../world/simulator/real-control-plane/free-ports.ts';
import { hasRedis, RedisServer, tlsArguments } from '../../support/redis-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const RIGHTS = '+hello +ping +multi +exec +get +set +del +hget +hset +hgetall +hdel +pexpire +eval';
const OWN = 'resetchannels ~aks-autoscaler:s:*';

function configOf(env: Readonly<Record<string, string>>): Config {
  const base = { ARM_SUBSCRIPTION_ID: 's', ARM_TENANT_ID: 't', ARM_RESOURCE_GROUP: 'g', LOCATION: 'l', ARM_CLIENT_ID: 'c' };
  const all = { ...base, ARM_CLIENT_SECRET: 'x', ...env };
  const config = loadConfig({ argv: ['--nodes=0:3:pool'], env: all, readFile: (path) => readFileSync(path, 'utf8'), hostname: 'h' });
  if (isConfigErrors(config)) throw new Error(config.errors.join('\n'));
  return config;
}

/** Looks at a connection that is being made ten times as often. */
const CLOCK: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 10, signal) };

function check(url: string, env: Readonly<Record<string, string>> = {}) {
  return storeChecks(configOf({ AZURE_CACHE_REDIS_URL: url, ...env }), CLOCK, AbortSignal.timeout(30_000));
}

const as = (username: string): Readonly<Record<string, string>> => ({
  AZURE_CACHE_REDIS_USERNAME: username,
  AZURE_CACHE_REDIS_PASSWORD: 'secret',
});

describe('doctor without a server', () => {
  it('says nothing about a store that is not configured', async () => {
    expect(await storeChecks(configOf({}), systemClock, AbortSignal.timeout(1_000))).toEqual([]);
  });

  it('a server that cannot be reached is a warning, because the daemon then reads for itself', async () => {
    const port = await freePort();
    const [found] = await check(`redis://127.0.0.1:${port}`);
    expect(found).toMatchObject({ area: 'store', status: 'warning', fix: `nc -vz 127.0.0.1 ${port}` });
    expect(found?.message).toContain('ECONNREFUSED');
  });
});

describe('the advice about a server', () => {
  const plain = { url: 'redis://cache:6380', keyPrefix: 'p' };
  const secured = { url: 'rediss://cache:6380', keyPrefix: 'p' };

  it.each([
    ["NOPERM User default has no permissions to run the 'eval' command", plain, `redis-cli -u redis://cache:6380 ACL SETUSER default`],
    ["NOPERM User u has no permissions to run the 'select' command", { ...plain, url: 'redis://cache/3' }, '+select'],
    ["OOM command not allowed when used memory > 'maxmemory'", plain, 'maxmemory-policy volatile-ttl'],
    ['MOVED 3999 10.0.0.2:6381', plain, 'no Redis cluster'],
    ['CLUSTERDOWN Hash slot not served', plain, 'no Redis cluster'],
    ["READONLY You can't write against a read only replica", plain, 'the primary server'],
    ["ERR unknown command 'HELLO', with args beginning with: '3'", plain, 'Redis 6 or newer'],
    [
      "Hostname/IP does not match certificate's altnames: Host: cache. is not in the cert's altnames",
      secured,
      'the name that the certificate',
    ],
    ['certificate has expired', secured, 'renew the certificate'],
    ['self-signed certificate in certificate chain', secured, 'azure.caFile'],
    ['Socket closed unexpectedly', plain, 'rediss://cache:6380, if the server expects TLS'],
    ['it accepts connections and does not answer', plain, 'rediss://cache:6380'],
    ['C0FC:error:0A00010B:SSL routines:ssl3_get_record:wrong version number', secured, 'redis://cache:6380, if the server has no TLS'],
    ['getaddrinfo ENOTFOUND cache', plain, 'nc -vz cache 6380'],
  ])('%s', (reason, store, advice) => {
    expect(storeFix(store, reason)).toContain(advice);
  });
});

/** A server until the test is over. */
async function startedServer(port: number, args: readonly string[]): Promise<RedisServer> {
  const server = new RedisServer(port, args);
  await server.start();
  onTestFinished(() => server.stop());
  return server;
}

describe.skipIf(!hasRedis)('doctor and a server', () => {
  let server: RedisServer;
  beforeAll(async () => {
    const user = (name: string, rights: string): readonly string[] => ['--user', name, 'on', '>secret', ...rights.split(' ')];
    const users = [...user('good', `${OWN} ${RIGHTS}`), ...user('reader', `${OWN} +hello +ping +get`), ...user('default', '~* +@all')];
    server = new RedisServer(await freePort(), users);
    await server.start();
  });
  afterAll(() => server.stop());

  it('a user with the documented rights can be used, and leaves no key', async () => {
    expect(await check(server.url, as('good'))).toEqual([
      { area: 'store', status: 'ok', message: `${server.url} can be used, without TLS` },
    ]);
  });

  it('names the commands that a user may not send, and the right that is missing', async () => {
    const [found] = await check(server.url, as('reader'));
    expect(found).toMatchObject({ area: 'store', status: 'warning' });
    expect(found?.message).toMatch(/refuses SET \(.*NOPERM.*HSET.*EVAL/);
    expect(found?.fix).toBe(`redis-cli -u ${server.url} ACL SETUSER reader resetchannels '~aks-autoscaler:*' ${RIGHTS}`);
  });

  it('keys outside of the user’s prefix are refused', async () => {
    const [found] = await check(server.url, { ...as('good'), AZURE_CACHE_REDIS_KEY_PREFIX: 'other' });
    expect(found?.message).toMatch(/refuses SET/);
    expect(found?.fix).toContain("'~other:*'");
  });

  it('a wrong password is named', async () => {
    const [found] = await check(server.url, { AZURE_CACHE_REDIS_USERNAME: 'good', AZURE_CACHE_REDIS_PASSWORD: 'wrong' });
    expect(found).toMatchObject({ status: 'warning', fix: 'set AZURE_CACHE_REDIS_USERNAME and AZURE_CACHE_REDIS_PASSWORD' });
  });

  it('a server with TLS is verified: its authority must be known, and then its users’ rights are checked', async () => {
    const folder = temporaryFolder();
    const port = await freePort();
    const { extra, caPem } = await tlsArguments(port, folder);
    const user = ['--user', 'good', 'on', '>secret', ...`${OWN} ${RIGHTS}`.split(' '), '--user', 'default', 'off'];
    await startedServer(port, [...extra, ...user]);
    const url = `rediss://localhost:${port}`;
    const [refused] = await check(url, as('good'));
    expect(refused).toMatchObject({ status: 'warning', fix: expect.stringContaining('azure.caFile') });
    await writeFile(join(folder, 'authority.pem'), caPem);
    const accepted = await check(url, { ...as('good'), AZURE_CA_FILE: join(folder, 'authority.pem') });
    expect(accepted).toEqual([{ area: 'store', status: 'ok', message: `${url} can be used` }]);
    const [wrong] = await check(url, { AZURE_CA_FILE: join(folder, 'authority.pem') });
    expect(wrong).toMatchObject({ status: 'warning', fix: 'set AZURE_CACHE_REDIS_USERNAME and AZURE_CACHE_REDIS_PASSWORD' });
  });

  it('a server without TLS is not taken for one with TLS', async () => {
    const [found] = await check(server.url.replace('redis:', 'rediss:'), as('good'));
    expect(found).toMatchObject({ area: 'store', status: 'warning', fix: `openssl s_client -connect 127.0.0.1:${server.port}` });
  });

  it('a server that only speaks TLS is not taken for one without', async () => {
    const folder = temporaryFolder();
    const port = await freePort();
    await startedServer(port, (await tlsArguments(port, folder)).extra);
    const [found] = await check(`redis://localhost:${port}`);
    expect(found).toMatchObject({ status: 'warning', fix: expect.stringContaining(`rediss://localhost:${port}`) });
  });

  it('a server of a cluster that does not serve the keys is named as one', async () => {
    const folder = temporaryFolder();
    const member = await startedServer(await freePort(), [
      '--cluster-enabled',
      'yes',
      '--dir',
      folder,
      '--cluster-port',
      String(await freePort()),
    ]);
    const [found] = await check(member.url);
    expect(found).toMatchObject({ status: 'warning', fix: expect.stringContaining('no Redis cluster') });
  });

  it('a server that is full is told apart from one that forbids', async () => {
    const full = await startedServer(await freePort(), ['--maxmemory', '1']);
    const [found] = await check(full.url);
    expect(found).toMatchObject({ status: 'warning', fix: `redis-cli -u ${full.url} CONFIG SET maxmemory-policy volatile-ttl` });
  });
});
