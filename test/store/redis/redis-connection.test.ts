/** The connection to a server that is silent, talks about something else, or comes and goes. No Redis is needed. */
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { oneLookUpAtATime, reconnectWaitMs } from '../../../src/store/redis/redis-client.ts';
import { RedisConnection } from '../../../src/store/redis/redis-connection.ts';
import { StoreTroubles } from '../../../src/store/redis/store-troubles.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const SECOND = 1_000;
const TROUBLE = 'Shared store cannot be used; this process reads for itself';
const WELL = 'Shared store can be used again';

function logTo(lines: string[], reasons: (string | undefined)[] = []) {
  const write = (line: string): void => {
    const { msg, reason } = JSON.parse(line) as { readonly msg: string; readonly reason?: string };
    lines.push(msg);
    reasons.push(reason);
  };
  return createLog('info', { write });
}

describe('a connection to a server', () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  /** `answer`: to the data with this number on the connection with this number, both from 1; empty: none. */
  async function against(answer: (connection: number, message: number) => string) {
    const counts: number[] = [];
    const sockets: Socket[] = [];
    const server: Server = createServer((socket) => {
      sockets.push(socket);
      const at = counts.push(0) - 1;
      socket.on('error', () => undefined);
      socket.on('data', () => {
        counts[at] = (counts[at] ?? 0) + 1;
        socket.write(answer(at + 1, counts[at]));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { readonly port: number };
    const clock = new FakeClock(START_MS);
    const lines: string[] = [];
    const reasons: (string | undefined)[] = [];
    const log = logTo(lines, reasons);
    const connection = new RedisConnection({ options: { url: `redis://127.0.0.1:${port}`, commandMs: SECOND }, clock, log });
    connection.start();
    ends.push(
      () => connection.stop(),
      () => sockets.forEach((socket) => socket.destroy()),
      () => server.close(),
    );
    const ping = (): Promise<string> => connection.command('read', (client) => client.ping()).catch((error: Error) => error.message);
    await expect.poll(() => counts).toEqual([1]);
    const endAll = (): void => sockets.splice(0).forEach((socket) => socket.destroy());
    return { connection, clock, lines, reasons, counts, ping, endAll };
  }

  it.each([
    ['that accepts and never answers', '', 'it accepts connections and does not answer'],
    ['of another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'Unknown RESP type'],
  ])('%s is in trouble, which is logged once, and is connected to again, less and less often', async (_what, answer, reason) => {
    const { connection, clock, lines, counts, ping } = await against(() => answer);
    await clock.advance(SECOND);
    await expect.poll(async () => (await ping()).includes(reason)).toBe(true);
    expect(connection.trouble).toContain(reason);
    await clock.advance(13 * SECOND);
    await ping();
    expect(counts).toHaveLength(1);
    await clock.advance(SECOND);
    await ping();
    await expect.poll(() => counts).toEqual([1, 1]);
    await clock.advance(29 * SECOND);
    await ping();
    expect(counts).toHaveLength(2);
    await clock.advance(SECOND);
    await ping();
    await expect.poll(() => counts).toEqual([1, 1, 1]);
    expect(lines).toEqual([TROUBLE]);
  });

  it('leaves nothing behind for each command that waited for it', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    ends.push(() => process.off('warning', note));
    const { connection, clock } = await against(() => '');
    for (let at = 0; at < 12; at++) {
      const refused = connection.command('read', (client) => client.ping(), 50).catch(() => undefined);
      await clock.advance(50);
      await refused;
    }
    expect(warnings).toEqual([]);
  });

  it('that fell silent is replaced, and works again', async () => {
    const { clock, lines, counts, ping } = await against((connection, message) => (connection === 1 && message > 1 ? '' : '+OK\r\n'));
    const silent = ping();
    await expect.poll(() => counts).toEqual([2]);
    await clock.advance(SECOND);
    expect(await silent).toContain('no answer within 1000 ms');
    await clock.advance(14 * SECOND);
    const next = ping();
    // An answer is waited for in virtual time, which does not go on: so the connection is looked for first.
    await expect.poll(() => counts.length).toBe(2);
    await next;
    await expect.poll(ping).toBe('OK');
    expect(counts).toHaveLength(2);
    expect(lines).toEqual([TROUBLE, WELL]);
  });

  it('that ended is in trouble for the reason for which the next one fails, and in none if the next one works', async () => {
    const answers = ['+OK\r\n', '-WRONGPASS of another time\r\n', '+OK\r\n', '+OK\r\n'];
    const { connection, counts, reasons, endAll, ping } = await against((at) => answers[at - 1] ?? '');
    await expect.poll(ping).toBe('OK');
    endAll();
    await expect.poll(() => counts.length, { timeout: 20_000 }).toBe(3);
    await expect.poll(ping, { timeout: 20_000 }).toBe('OK');
    expect(reasons).toEqual(['WRONGPASS of another time', undefined]);
    endAll();
    await expect.poll(() => counts.length, { timeout: 20_000 }).toBe(4);
    await expect.poll(ping, { timeout: 20_000 }).toBe('OK');
    expect(connection.trouble).toBeUndefined();
    expect(reasons).toHaveLength(2);
  });

  it('that answers late, or refuses, is there and is kept', async () => {
    const { clock, counts, ping } = await against((_connection, message) => (message === 1 ? '+OK\r\n' : '-ERR no\r\n'));
    for (let at = 0; at < 5; at++) {
      await expect.poll(ping).toContain('no');
      await clock.advance(10 * SECOND);
    }
    expect(counts).toHaveLength(1);
  });
});

describe('trouble with a store', () => {
  it('that comes and goes is logged once in ten minutes, and its end only after it', async () => {
    const clock = new FakeClock(START_MS);
    const lines: string[] = [];
    const troubles = new StoreTroubles(clock, logTo(lines));
    for (let at = 0; at < 60; at++) {
      troubles.failed('read', 'slow');
      await clock.advance(5 * SECOND);
      troubles.recovered('read');
      await clock.advance(5 * SECOND);
    }
    expect(lines).toEqual([TROUBLE, WELL]);
    expect(troubles.reason).toBeUndefined();
    troubles.failed('read', 'slow');
    troubles.failed('write', 'full');
    troubles.recovered('read');
    expect([lines.length, troubles.reason]).toEqual([3, 'full']);
    troubles.recovered('write');
    expect(lines).toEqual([TROUBLE, WELL, TROUBLE, WELL]);
  });

  it('that lasts is logged although an earlier one was logged shortly before', async () => {
    const clock = new FakeClock(START_MS);
    const lines: string[] = [];
    const troubles = new StoreTroubles(clock, logTo(lines));
    troubles.failed('read', 'slow');
    troubles.recovered('read');
    for (let at = 0; at < 130; at++) {
      troubles.failed('read', 'away');
      await clock.advance(5 * SECOND);
    }
    expect(lines).toEqual([TROUBLE, WELL, TROUBLE]);
  });
});

describe('processes that lost the same server', () => {
  it('return at different times, after half a minute on average when it stays away', () => {
    const first = Array.from({ length: 30 }, (_, at) => reconnectWaitMs(0, `c${at}/pod`));
    expect(new Set(first.map((ms) => Math.round(ms / 10))).size).toBeGreaterThan(20);
    expect([Math.min(...first) >= 250, Math.max(...first) <= 750]).toEqual([true, true]);
    const later = Array.from({ length: 30 }, (_, at) => reconnectWaitMs(40, `c${at}/pod`));
    expect([Math.min(...later) >= 15_000, Math.max(...later) <= 45_000]).toEqual([true, true]);
  });

  it('look the name up one at a time, since each look-up that hangs keeps a thread from other work', () => {
    const answers: (() => void)[] = [];
    const lookUp = oneLookUpAtATime((_name, _options, done) => void answers.push(() => done(null, '10.0.0.1', 4)));
    const heard: string[] = [];
    const find = (): void => lookUp('redis', {}, (error, address) => void heard.push(error?.message ?? JSON.stringify(address)));
    find();
    find();
    expect([answers.length, heard]).toEqual([1, ['the address of redis is still being looked up']]);
    answers[0]?.();
    find();
    answers[1]?.();
    expect(heard.slice(1)).toEqual(['"10.0.0.1"', '"10.0.0.1"']);
  });
});
