/** Hints in a real Redis server: what others reported is bounded, and one process at a time may try. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RedisConnection } from '../../../src/store/redis/redis-connection.ts';
import type { RedisClient } from '../../../src/store/redis/redis-client.ts';
import { RedisSharedHints } from '../../../src/store/redis/redis-shared-hints.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { freePort } from '../../../world/simulator/real-control-plane/free-ports.ts';
import { hasRedis, RedisServer } from '../../support/redis-server.ts';

const KEYS = { prefix: 'test', subscriptionId: 'Sub-1', location: 'westeurope' };
const HASH = 'test:sub-1:v2:{hints:westeurope}';
const MINUTE = 60_000;

describe.skipIf(!hasRedis)('hints in Redis', () => {
  let server: RedisServer;
  const clock = new FakeClock(START_MS);
  const connections: RedisConnection[] = [];
  beforeAll(async () => {
    server = new RedisServer(await freePort());
    await server.start();
  });
  afterEach(async () => {
    await connections[0]?.command('write', (client) => client.flushAll()).catch(() => undefined);
    for (const connection of connections.splice(0)) connection.stop();
  });
  afterAll(() => server.stop());

  async function aProcess(identity: string): Promise<RedisSharedHints> {
    const log = createLog('error', { write: () => undefined });
    const connection = new RedisConnection({ options: { url: server.url, commandMs: 60_000 }, clock, log });
    connection.start();
    connections.push(connection);
    await expect.poll(() => connection.command('read', (client) => client.ping()).catch(() => 'away')).toBe('PONG');
    return new RedisSharedHints({ connection, clock, keys: KEYS, identity });
  }

  function raw<Result>(work: (client: RedisClient) => Promise<Result>): Promise<Result> {
    const [connection] = connections;
    if (connection === undefined) throw new Error('no process yet');
    return connection.command('write', work);
  }

  async function looked(hints: RedisSharedHints): Promise<readonly string[]> {
    await hints.look();
    return hints.reported('stockout').map(({ key, by }) => `${key} by ${by}`);
  }

  it('are reported to the others, not to the process itself, until they are over', async () => {
    const [one, two] = [await aProcess('one'), await aProcess('two')];
    one.report('stockout', 'd4s', clock.now() + MINUTE);
    await expect.poll(() => looked(two)).toEqual(['d4s by one']);
    expect(await looked(one)).toEqual([]);
    await clock.advance(MINUTE);
    expect(two.reported('stockout')).toEqual([]);
  });

  it('hold for their time although the server went away', async () => {
    const [one, two] = [await aProcess('one'), await aProcess('two')];
    one.report('stockout', 'd4s', clock.now() + MINUTE);
    await expect.poll(() => looked(two)).toEqual(['d4s by one']);
    await server.stop();
    expect(await looked(two)).toEqual(['d4s by one']);
    await server.start();
  });

  it('may be tried by one process at a time', async () => {
    const [one, two] = [await aProcess('one'), await aProcess('two')];
    one.requestTry('d4s');
    await expect.poll(() => one.mayTry('d4s')).toBe(true);
    two.requestTry('d4s');
    // One right for all that is out of stock.
    two.requestTry('e4s');
    await raw((client) => client.ping());
    await looked(two);
    expect([two.mayTry('d4s'), two.mayTry('e4s')]).toEqual([false, false]);
    await expect.poll(() => looked(two).then(() => two.reported('tried').map(({ key, by }) => `${key} by ${by}`))).toEqual(['d4s by one']);
    await clock.advance(MINUTE);
    expect(one.mayTry('d4s')).toBe(false);
  });

  it.each([
    ['no JSON', 'oops'],
    ['a time that is no number', '{"by":"x","atMs":"now","untilMs":1e300}'],
    ['one that lasts for ever', JSON.stringify({ by: 'x', atMs: START_MS, untilMs: 1e300 })],
    ['one from the future', JSON.stringify({ by: 'x', atMs: START_MS + 100 * MINUTE, untilMs: START_MS + 101 * MINUTE })],
    ['one from before all dates', JSON.stringify({ by: 'x', atMs: -1e300, untilMs: START_MS + 5 * MINUTE })],
    ['one without end', JSON.stringify({ by: 'x'.repeat(1_000), atMs: START_MS, untilMs: START_MS + 5 * MINUTE })],
  ])('that are lies are not believed: %s', async (_what, value) => {
    const one = await aProcess('one');
    await raw((client) => client.hSet(HASH, 'stockout|d4s', value));
    expect(await looked(one)).toEqual([]);
  });

  it('are not believed if there are more than any subscription has', async () => {
    const one = await aProcess('one');
    const value = JSON.stringify({ by: 'x', atMs: clock.now(), untilMs: clock.now() + MINUTE });
    await raw((client) => client.hSet(HASH, Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`stockout|${at}`, value]))));
    expect(await looked(one)).toEqual([]);
  });

  it.each([
    ['over since half an hour', { by: 'x', atMs: -40 * MINUTE, untilMs: -30 * MINUTE - 1 }],
    ['of a time that never comes', { by: 'x', atMs: 0, untilMs: 1e300 }],
    ['unreadable', {}],
  ])('that are %s are removed', async (_what, { by, atMs = 0, untilMs = Number.NaN }: { by?: string; atMs?: number; untilMs?: number }) => {
    const one = await aProcess('one');
    const value = JSON.stringify({ by, atMs: clock.now() + atMs, untilMs: clock.now() + untilMs });
    await raw((client) => client.hSet(HASH, 'stockout|d4s', value));
    await looked(one);
    await expect.poll(() => raw((client) => client.hLen(HASH))).toBe(0);
  });

  it.each([-5, 5])('hold for the others beside a process whose clock is wrong by %i minutes, which heeds none of them', async (minutes) => {
    const [one, two, three] = [await aProcess('one'), await aProcess('two'), await aProcess('three')];
    const [, , connection] = connections;
    if (connection === undefined) throw new Error('three processes have three connections');
    const wrongClock = new FakeClock(clock.now() + minutes * MINUTE);
    const wrong = new RedisSharedHints({ connection, clock: wrongClock, keys: KEYS, identity: 'wrong' });
    one.report('stockout', 'd4s', clock.now() + MINUTE);
    await expect.poll(() => looked(two)).toEqual(['d4s by one']);
    expect(await looked(wrong)).toEqual([]);
    await raw((client) => client.ping());
    expect(await looked(three)).toEqual(['d4s by one']);
  });
});
