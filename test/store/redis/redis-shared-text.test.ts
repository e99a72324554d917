/** Texts that processes share, in a real Redis server: who may publish, and what becomes of a store that fails or lies. */
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RedisConnection } from '../../../src/store/redis/redis-connection.ts';
import type { RedisClient } from '../../../src/store/redis/redis-client.ts';
import { RedisSharedText } from '../../../src/store/redis/redis-shared-text.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { freePort } from '../../../world/simulator/real-control-plane/free-ports.ts';
import { hasRedis, RedisServer } from '../../support/redis-server.ts';

const RECORD = 'test:sub-1:v2:{skus:westeurope}';

interface Process {
  readonly share: RedisSharedText;
  readonly connection: RedisConnection;
  readonly clock: FakeClock;
  readonly lines: string[];
  readonly raw: <Result>(work: (client: RedisClient) => Promise<Result>) => Promise<Result>;
}

function messageOf(line: string): string {
  return (JSON.parse(line) as { readonly msg: string }).msg;
}

describe.skipIf(!hasRedis)('a text in Redis', () => {
  let server: RedisServer;
  const processes: Process[] = [];
  beforeAll(async () => {
    server = new RedisServer(await freePort(), ['--requirepass', 'known']);
    await server.start();
  });
  afterEach(async () => {
    await processes[0]?.raw((client) => client.flushAll()).catch(() => undefined);
    for (const { connection } of processes.splice(0)) connection.stop();
  });
  afterAll(() => server.stop());

  async function aProcess(change: { readonly password?: string; readonly region?: string; readonly name?: string } = {}): Promise<Process> {
    const clock = new FakeClock(START_MS);
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => void lines.push(line) });
    const options = { url: server.url, password: change.password ?? 'known', commandMs: 50 };
    const connection = new RedisConnection({ options, clock, log });
    connection.start();
    const share = new RedisSharedText(connection, {
      keys: { prefix: 'test', subscriptionId: 'Sub-1', location: change.region ?? 'westeurope' },
      kind: 'skus',
      identity: change.name ?? 'one',
      lifeMs: 3_600_000,
      claimMs: 60_000,
    });
    const made = {
      share,
      connection,
      clock,
      lines,
      raw: <Result>(work: (client: RedisClient) => Promise<Result>) => connection.command('read', work),
    };
    processes.push(made);
    await expect.poll(() => made.raw((client) => client.ping()).catch((error: Error) => error.message)).toMatch(/PONG|NOAUTH|WRONGPASS/);
    return made;
  }

  async function published(share: RedisSharedText, epoch: number, text: string): Promise<boolean> {
    return (await share.claim(epoch)) && share.publish(epoch, text);
  }

  it('is nothing at first, and then what was published last, by no other process', async () => {
    const { share } = await aProcess();
    expect(await share.latest()).toBeUndefined();
    expect(await published(share, 1, 'sizes')).toBe(true);
    expect(await published(share, 2, 'more sizes')).toBe(true);
    expect(await share.latest()).toEqual({ epoch: 2, text: 'more sizes' });
  });

  it('is seen by the other processes of its scope, and by no others', async () => {
    const [writer, reader, foreign] = [await aProcess(), await aProcess({ name: 'two' }), await aProcess({ region: 'northeurope' })];
    await published(writer.share, 1, 'sizes');
    expect(await reader.share.latest()).toEqual({ epoch: 1, text: 'sizes', by: 'one' });
    expect(await foreign.share.latest()).toBeUndefined();
  });

  it('is compressed, and expires', async () => {
    const { share, raw } = await aProcess();
    await published(share, 1, 'Standard_D4s_v5 '.repeat(10_000));
    expect(await raw((client) => client.memoryUsage(RECORD))).toBeLessThan(2_000);
    expect(await raw((client) => client.pTTL(RECORD))).toBeGreaterThan(3_000_000);
  });

  it('is written by the one process that has the claim', async () => {
    const [first, second] = [await aProcess(), await aProcess()];
    expect([await first.share.claim(1), await second.share.claim(1)]).toEqual([true, false]);
    expect(await second.share.publish(1, 'mine')).toBe(false);
    expect(await first.share.publish(1, 'sizes')).toBe(true);
  });

  it('is not written by a process whose claim another one has now', async () => {
    const [slow, next] = [await aProcess(), await aProcess()];
    await slow.share.claim(1);
    await slow.raw((client) => client.del(`${RECORD}:lock`));
    expect(await next.share.claim(1)).toBe(true);
    expect(await slow.share.publish(1, 'late')).toBe(false);
    expect(await next.share.publish(1, 'sizes')).toBe(true);
    expect(await next.share.latest()).toEqual({ epoch: 1, text: 'sizes' });
  });

  it('stays claimed by its new owner when a process that has lost the claim releases it', async () => {
    const [slow, next, third] = [await aProcess(), await aProcess(), await aProcess()];
    await slow.share.claim(1);
    await slow.raw((client) => client.del(`${RECORD}:lock`));
    expect(await next.share.claim(1)).toBe(true);
    await slow.share.release(1);
    expect(await third.share.claim(1)).toBe(false);
  });

  it.each([
    ['a success', (share: RedisSharedText) => share.publish(1, 'sizes', 60_000)],
    ['a failure', (share: RedisSharedText) => share.release(1, 60_000)],
  ] as const)('stays locked after %s until the next run is due', async (_what, end) => {
    const [first, second] = [await aProcess(), await aProcess()];
    await first.share.claim(1);
    await end(first.share);
    expect(await second.share.claim(2)).toBe(false);
    const restMs = await first.raw((client) => client.pTTL(`${RECORD}:lock`));
    expect([restMs > 50_000, restMs <= 60_000]).toEqual([true, true]);
  });

  it('is not locked for less than half a second, and not for longer by a process that has lost the lock', async () => {
    const [first, second] = [await aProcess(), await aProcess()];
    await first.share.claim(1);
    await first.share.release(1, 499);
    expect(await second.share.claim(1)).toBe(true);
    await second.share.release(1, 60_000);
    await first.share.release(1);
    expect(await first.share.claim(2)).toBe(false);
  });

  it.each(['v1', 'v3'])('does not meet the record of a program of another version: %s', async (version) => {
    const { share, raw } = await aProcess();
    const other = RECORD.replace('v2', version);
    await raw((client) => client.hSet(other, { epoch: '9', text: 'x' }));
    expect(await share.latest()).toBeUndefined();
    await published(share, 1, 'sizes');
    expect(await raw((client) => client.hGetAll(other))).toEqual({ epoch: '9', text: 'x' });
  });

  it('is published again over a record with an epoch that is no number', async () => {
    const { share, raw } = await aProcess();
    await raw((client) => client.hSet(RECORD, { epoch: 'many', text: 'x' }));
    expect(await published(share, 1, 'sizes')).toBe(true);
    expect(await share.latest()).toMatchObject({ epoch: 1, text: 'sizes' });
  });

  it('is not replaced by one of an earlier epoch', async () => {
    const { share } = await aProcess();
    await published(share, 5, 'new');
    expect(await published(share, 4, 'old')).toBe(false);
    expect(await share.latest()).toEqual({ epoch: 5, text: 'new' });
  });

  it('can be claimed again after a release, which releases no claim of another', async () => {
    const [first, second] = [await aProcess(), await aProcess()];
    await first.share.claim(1);
    await second.share.release(1);
    expect(await second.share.claim(1)).toBe(false);
    await first.share.release(1);
    expect(await second.share.claim(1)).toBe(true);
  });

  it.each([
    ['a record of another type', (client: RedisClient) => client.set(RECORD, 'x'), undefined],
    ['more than any list has', (client: RedisClient) => client.hSet(RECORD, { epoch: '1', text: 'x'.repeat(4 * 1024 * 1024) }), undefined],
    ['an epoch that is no number', (client: RedisClient) => client.hSet(RECORD, { epoch: 'many', text: 'x' }), { epoch: 0, text: '' }],
    ['an epoch beyond all reason', (client: RedisClient) => client.hSet(RECORD, { epoch: '1e300', text: 'x' }), { epoch: 0, text: '' }],
    ['a text that is not packed', (client: RedisClient) => client.hSet(RECORD, { epoch: '1', text: 'x' }), { epoch: 1, text: '' }],
    [
      'a text that unpacks to more than any list has',
      (client: RedisClient) => client.hSet(RECORD, { epoch: '1', text: gzipSync(Buffer.alloc(17 * 1024 * 1024)).toString('base64') }),
      { epoch: 1, text: '' },
    ],
  ] as const)('that is a lie says nothing, and is replaced by the next one: %s', async (_what, write, found) => {
    const { share, raw, lines } = await aProcess();
    await raw<unknown>(write);
    expect(await share.latest()).toEqual(found);
    const epoch = (found?.epoch ?? 0) + 1;
    expect(await published(share, epoch, 'sizes')).toBe(true);
    expect(await share.latest()).toEqual({ epoch, text: 'sizes' });
    expect(lines).toEqual([]);
  });

  it('is nothing again after the server was wiped', async () => {
    const { share, raw } = await aProcess();
    await published(share, 7, 'sizes');
    await raw((client) => client.flushAll());
    expect(await share.latest()).toBeUndefined();
    expect(await published(share, 1, 'sizes')).toBe(true);
  });

  it('is refused by a server that is full, which is said once, although its reads work', async () => {
    const { share, raw, lines } = await aProcess();
    await raw((client) => client.configSet('maxmemory', '1'));
    await expect(share.claim(1)).rejects.toThrow('OOM');
    expect(await share.latest()).toBeUndefined();
    await expect(share.claim(1)).rejects.toThrow('OOM');
    await raw((client) => client.configSet('maxmemory', '0'));
    expect(lines.map(messageOf)).toEqual(['Shared store cannot be used; this process reads for itself']);
    expect(await share.claim(1)).toBe(true);
    expect(lines.map(messageOf).slice(1)).toEqual(['Shared store can be used again']);
  });

  it('is not locked by a claim that the server gets after the limit', async () => {
    const [late, next] = [await aProcess(), await aProcess()];
    server.signal('SIGSTOP');
    try {
      const refused = expect(late.share.claim(1, 20)).rejects.toThrow('no answer within 20 ms');
      await expect.poll(() => late.clock.sleeping).toBe(1);
      await late.clock.advance(20);
      await refused;
    } finally {
      server.signal('SIGCONT');
    }
    await expect.poll(() => late.raw((client) => client.exists(`${RECORD}:lock`))).toBe(0);
    expect(await next.share.claim(1)).toBe(true);
  });

  it('is waited for no longer than the limit if the server does not answer', async () => {
    const { share, clock } = await aProcess();
    server.signal('SIGSTOP');
    try {
      const refused = expect(share.latest()).rejects.toThrow('no answer within 50 ms');
      await expect.poll(() => clock.sleeping).toBe(1);
      await clock.advance(50);
      await refused;
    } finally {
      server.signal('SIGCONT');
    }
  });

  it('is waited for no longer than the caller has time', async () => {
    const { share, clock } = await aProcess();
    server.signal('SIGSTOP');
    try {
      const refused = expect(share.latest(20)).rejects.toThrow('no answer within 20 ms');
      await expect.poll(() => clock.sleeping).toBe(1);
      await clock.advance(20);
      await refused;
    } finally {
      server.signal('SIGCONT');
    }
  });

  it('is read through a connection that is just being made if the caller has time for that', async () => {
    const { share } = await aProcess();
    await published(share, 1, 'sizes');
    const connection = new RedisConnection({
      options: { url: server.url, password: 'known', commandMs: 50 },
      clock: new FakeClock(START_MS),
      log: createLog('silent'),
    });
    connection.start();
    const late = new RedisSharedText(connection, {
      keys: { prefix: 'test', subscriptionId: 'Sub-1', location: 'westeurope' },
      kind: 'skus',
      identity: 'late',
      lifeMs: 1_000,
      claimMs: 1_000,
    });
    expect(await late.latest(5_000)).toMatchObject({ text: 'sizes' });
    connection.stop();
  });

  it('is refused at once while the server is gone, and works when it is back', async () => {
    const { share, connection, lines } = await aProcess();
    await server.stop();
    await expect(share.latest()).rejects.toThrow('The shared store cannot be used');
    await expect.poll(() => connection.trouble).toBeDefined();
    await expect(share.latest()).rejects.toThrow('The shared store cannot be used');
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBe(1);
    await server.start();
    await expect.poll(() => share.latest().catch(() => 'refused')).toBeUndefined();
    expect(lines.map(messageOf)).toEqual(['Shared store cannot be used; this process reads for itself', 'Shared store can be used again']);
  });

  it('is refused to a process with a wrong password, which no log line shows', async () => {
    const { share, lines } = await aProcess({ password: 'guessed' });
    await expect(share.latest()).rejects.toThrow('The shared store cannot be used');
    expect(lines.join('\n')).not.toContain('guessed');
  });
});
