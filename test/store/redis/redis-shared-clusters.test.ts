/** Who shares, in a real Redis server: each process reports itself, and lies are bounded. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RedisConnection } from '../../../src/store/redis/redis-connection.ts';
import { RedisSharedClusters } from '../../../src/store/redis/redis-shared-clusters.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { freePort } from '../../../world/simulator/real-control-plane/free-ports.ts';
import { hasRedis, RedisServer } from '../../support/redis-server.ts';

const HASH = 'test:sub-1:v2:{clusters:westeurope}';
const KEYS = { prefix: 'test', subscriptionId: 'Sub-1', location: 'westeurope' };

describe.skipIf(!hasRedis)('clusters that share a Redis server', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  const clock = new FakeClock(START_MS);
  beforeAll(async () => {
    server = new RedisServer(await freePort());
    await server.start();
    connection = new RedisConnection({ options: { url: server.url, commandMs: 60_000 }, clock, log: createLog('silent') });
    connection.start();
    await connection.command('read', (client) => client.ping(), 60_000);
  });
  afterEach(() => connection.command('write', (client) => client.flushAll()));
  afterAll(async () => {
    connection.stop();
    await server.stop();
  });

  function aProcess(cluster: string): RedisSharedClusters {
    return new RedisSharedClusters({ connection, clock, keys: KEYS, self: { cluster, process: 'pod', version: '1' } });
  }

  const names = (each: RedisSharedClusters): readonly string[] => each.present().map(({ cluster }) => cluster);

  it('know each other until one has not reported for a minute and a half', async () => {
    const [one, two] = [aProcess('b'), aProcess('a')];
    expect(names(one)).toEqual(['b']);
    await one.look();
    await two.look();
    await one.look();
    expect([names(one), names(two)]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    await clock.advance(89_000);
    expect(names(one)).toEqual(['a', 'b']);
    await clock.advance(1_000);
    expect(names(one)).toEqual(['b']);
  });

  it('are forgotten by the server half an hour after their last report', async () => {
    const [one, two] = [aProcess('b'), aProcess('a')];
    const fields = (): Promise<string[]> => connection.command('read', (client) => client.hKeys(HASH));
    await two.look();
    await clock.advance(30 * 60_000);
    await one.look();
    expect((await fields()).sort()).toEqual(['a|pod', 'b|pod']);
    await clock.advance(1);
    await one.look();
    expect(await fields()).toEqual(['b|pod']);
  });

  it.each([-5, 5])('stay known to each other beside a process whose clock is wrong by %i minutes', async (minutes) => {
    const [one, two] = [aProcess('a'), aProcess('b')];
    const wrongClock = new FakeClock(clock.now() + minutes * 60_000);
    const self = { cluster: 'wrong', process: 'pod', version: '1' };
    const wrong = new RedisSharedClusters({ connection, clock: wrongClock, keys: KEYS, self });
    await two.look();
    await wrong.look();
    await one.look();
    expect(names(one)).toEqual(['a', 'b']);
    expect(names(wrong)).toEqual(['wrong']);
  });

  it('know each other for that time although the server is away', async () => {
    const [one, two] = [aProcess('a'), aProcess('b')];
    await two.look();
    await one.look();
    await server.stop();
    await one.look();
    expect(names(one)).toEqual(['a', 'b']);
    await server.start();
    await expect.poll(() => connection.command('read', (client) => client.ping()).catch(() => 'away')).toBe('PONG');
  });

  it('find each other again after a key of theirs had another type', async () => {
    const one = aProcess('a');
    await connection.command('write', (client) => client.set(HASH, 'x'));
    await one.look();
    await one.look();
    expect(await connection.command('read', (client) => client.hKeys(HASH))).toEqual(['a|pod']);
  });

  it.each([
    ['no JSON', 'c|pod', 'oops'],
    ['no version', 'c|pod', JSON.stringify({ atMs: START_MS })],
    ['a time of the future', 'c|pod', JSON.stringify({ version: '1', atMs: START_MS + 1e9 })],
    ['no process', 'c', JSON.stringify({ version: '1', atMs: START_MS + 90_000 })],
    ['a name without end', `${'c'.repeat(1_000)}|pod`, JSON.stringify({ version: '1', atMs: START_MS + 90_000 })],
  ])('are not what a liar reports: %s', async (_what, field, value) => {
    const one = aProcess('a');
    await connection.command('write', (client) => client.hSet(HASH, field, value));
    await one.look();
    expect(names(one)).toEqual(['a']);
  });
});
