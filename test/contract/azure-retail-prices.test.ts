/** The reader of the public price list against the emulated one, over HTTPS: pages, faults, and what stays when it fails. */
import { afterEach, describe, expect, it } from 'vitest';
import { PriceCache } from '../../src/azure/prices/price-cache.ts';
import { RetailPriceClient } from '../../src/azure/prices/retail-prices-api.ts';
import type { FaultEffect } from '../../world/simulator/arm/state/fault-rules.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { START_MS } from '../support/builders.ts';
import { MemoryTextServer } from '../support/memory-shared-text.ts';
import type { SharedText } from '../../src/domain/ports/shared-text.ts';
import { aPool, aWorld, startRig, type Rig } from '../../world/test/simulator/arm/harness.ts';

const PATH = '/api/retail/prices';
const DAY = 24 * 3_600_000;
const D4 = 'Standard_D4s_v5';
const rigs: Rig[] = [];
afterEach(async () => {
  await Promise.all(rigs.splice(0).map((rig) => rig.stop()));
});

interface Options {
  readonly currency?: string;
  readonly pageSize?: number;
  readonly sizes?: readonly string[];
  readonly location?: string;
  readonly keptText?: string;
  readonly share?: SharedText;
  readonly onlyShown?: true;
}

async function prepared(options: Options = {}) {
  const { pageSize: retailPageSize = 1000, currency = 'USD', location = 'West Europe' } = options;
  const rig = await startRig(aWorld([aPool('a')]), { knobs: { retailPageSize } });
  rigs.push(rig);
  const clock = new FakeClock(START_MS);
  const lines: string[] = [];
  const kept = { text: options.keptText };
  const client = new RetailPriceClient({
    options: { endpoint: `${rig.arm.url}${PATH}`, currency, refreshMs: DAY },
    location,
    caPem: rig.tls.caPem,
    timeoutMs: 1000,
    clock,
  });
  const sizes = { now: options.sizes ?? [D4] };
  const book = new PriceCache({
    scope: { location, currency },
    refreshMs: DAY,
    clock,
    log: createLog('info', { write: (line) => void lines.push(line) }),
    read: (vmSize, signal) => client.read(vmSize, signal),
    sizes: () => sizes.now,
    share: options.share,
    onlyShown: options.onlyShown,
    stored: {
      read: () => Promise.resolve(kept.text),
      write: (text) => Promise.resolve(void (kept.text = text)),
    },
  });
  const agent = book.agent();
  const signal = new AbortController().signal;
  /** One run of the agent as the scheduler makes it; answers its error. */
  const run = async () => {
    const loaded = await agent.load({ signal, token: { agentId: agent.id, run: 1 } });
    loaded.commit();
    return loaded.error;
  };
  const asked = () => rig.arm.control.journal().filter(({ path }) => path === PATH).length;
  const fail = (effect: FaultEffect, match: object = {}) =>
    rig.arm.control.addFault({ id: 'list', match: { pathGlob: PATH, ...match }, effect });
  const view = () => book.current(clock.now());
  return { rig, clock, client, book, run, asked, fail, view, lines, kept, sizes, signal };
}

describe('the public price list', () => {
  it('distinguishes Linux, Windows, Spot and both, and knows no other', async () => {
    const { run, view } = await prepared();
    expect(await run()).toBeUndefined();
    const { perHour } = view().table['standard_d4s_v5'] ?? { perHour: {} };
    expect(perHour).toEqual({ linux: 0.256, windows: 0.44, 'linux/spot': 0.064, 'windows/spot': 0.11 });
    expect(view().remarks).toEqual([]);
  });

  it('a size that is not sold as Spot has no such price', async () => {
    const { run, view } = await prepared({ sizes: ['Standard_B2ms'] });
    await run();
    expect(Object.keys(view().table['standard_b2ms']?.perHour ?? {})).toEqual(['linux', 'windows']);
  });

  it('reads page after page, and in the currency that was asked for', async () => {
    const whole = await prepared({ currency: 'EUR' });
    await whole.run();
    const paged = await prepared({ currency: 'EUR', pageSize: 2 });
    await paged.run();
    expect(paged.asked()).toBe(3);
    expect(paged.view().table).toEqual(whole.view().table);
    expect(paged.view().table['standard_d4s_v5']?.perHour.linux).toBe(0.2304);
  });

  it('asks for each size once a day, and for a new one at the next look', async () => {
    const { run, asked, clock, sizes } = await prepared({ sizes: [D4, 'Standard_E8s_v5', D4] });
    await run();
    await run();
    expect(asked()).toBe(2);
    sizes.now = [D4, 'Standard_F4s_v2'];
    await run();
    expect(asked()).toBe(3);
    await clock.advance(DAY);
    await run();
    expect(asked()).toBe(5);
  });

  const html = { kind: 'answer', status: 200, body: '<html>busy</html>' } as const;
  const elsewhere = {
    kind: 'answer',
    status: 200,
    body: { Items: [], NextPageLink: 'https://elsewhere.example/api/retail/prices' },
  } as const;
  it.each<[string, FaultEffect, string]>([
    ['5xx', { kind: 'answer', status: 503 }, 'returned HTTP 503'],
    ['404', { kind: 'answer', status: 404 }, 'returned HTTP 404'],
    ['too many calls', { kind: 'answer', status: 429, retryAfterSeconds: 30 }, 'returned HTTP 429'],
    ['a dropped connection', { kind: 'reset', afterEffect: true }, 'could not be read'],
    ['half an answer', { kind: 'truncated-body' }, 'could not be read'],
    ['no answer in time', { kind: 'delay', ms: 10 * 60_000 }, 'no response within 1 s'],
    ['a page that is no JSON', html, 'not a list of items'],
    ['a page without items', { kind: 'answer', status: 200, body: { Count: 0 } }, 'not a list of items'],
    ['an empty body', { kind: 'empty-body' }, 'not a list of items'],
    ['a next page on another host', elsewhere, 'another host'],
  ])('%s: the last valid table stays, and its age is reported when it is old', async (_, effect, message) => {
    const { run, view, clock, fail } = await prepared();
    await run();
    const before = view().table;
    fail(effect);
    await clock.advance(DAY);
    const failing = run();
    // Only the answer that never comes waits for the clock.
    if (effect.kind === 'delay') {
      for (let round = 0; round < 200; round++) await new Promise<void>((resolve) => setImmediate(resolve));
      await clock.advance(1000);
    }
    const error = await failing;
    expect(error?.message).toContain(message);
    expect(view()).toEqual({ table: before, remarks: [], unreachableSinceMs: clock.now() });
    await clock.advance(3 * DAY);
    expect(view().table).toEqual(before);
    expect(view().remarks).toEqual([
      expect.stringMatching(/^The list prices of 1 VM sizes are old: they were last read on \d{4}-\d\d-\d\d \(/),
    ]);
    expect(view().remarks[0]).toContain(message);
  });

  it('a second page that fails leaves the size as it was, all of it, and the next size is not asked in vain', async () => {
    const { run, view, fail, asked, clock } = await prepared({ pageSize: 2, sizes: [D4, 'Standard_E8s_v5'] });
    await run();
    const before = view().table;
    await clock.advance(DAY);
    fail({ kind: 'answer', status: 500 }, { nth: 2 });
    const count = asked();
    await run();
    expect(view().table).toEqual(before);
    expect(asked() - count).toBe(2);
  });

  it('pages that lead back to themselves end', async () => {
    const { rig, run, fail } = await prepared();
    fail({ kind: 'answer', status: 200, body: { Items: [], NextPageLink: `${rig.arm.url}${PATH}?again` } });
    expect((await run())?.message).toContain('do not end');
  });

  it('never read: no price, why, and since when, until a read succeeds', async () => {
    const { run, view, fail, clock, rig } = await prepared();
    fail({ kind: 'answer', status: 500 });
    expect((await run())?.kind).toBe('unavailable');
    const remarks = ['The price list could not be read: it returned HTTP 500.'];
    expect(view()).toEqual({ table: {}, remarks, unreachableSinceMs: START_MS });
    await clock.advance(DAY);
    await run();
    expect(view().unreachableSinceMs).toBe(START_MS);
    rig.arm.control.removeFault('list');
    await run();
    expect(view()).not.toHaveProperty('unreachableSinceMs');
  });

  it('that is read by default is tried again only rarely, and its prices are marked as only shown', async () => {
    const { book, view } = await prepared({ onlyShown: true });
    expect(book.agent().policy).toMatchObject({ errorIntervalMs: 3_600_000, maxErrorIntervalMs: DAY });
    expect(view()).toEqual({ table: {}, remarks: [], onlyShown: true });
  });

  it('a throttled read says until when', async () => {
    const { run, fail } = await prepared();
    fail({ kind: 'answer', status: 429, headers: { 'retry-after': '30' } });
    expect((await run())?.detail).toEqual({ kind: 'throttled', retryAfterMs: 30_000 });
  });

  describe('shared by processes', () => {
    const published = (sizes: Record<string, unknown>) => JSON.stringify({ schema: 1, location: 'westeurope', currency: 'USD', sizes });

    it('each process reads a size once, and after that one process reads it again for the others', async () => {
      const server = new MemoryTextServer(() => START_MS);
      const sizes = [D4, 'Standard_E8s_v5', 'Standard_F4s_v2'];
      const processes = await Promise.all(['one', 'two'].map((name) => prepared({ share: server.of(name), sizes })));
      const [first, second] = processes;
      for (const { run } of processes) await run();
      expect([first?.asked(), second?.asked()]).toEqual([3, 3]);
      for (const { clock, run } of processes) {
        await clock.advance(DAY);
        await run();
      }
      // The second reads one of the three again, as a sample.
      expect([first?.asked(), second?.asked()]).toEqual([6, 4]);
      expect(second?.view().table).toEqual(first?.view().table);
    });

    it('a store that is away is as if there were none', async () => {
      const server = new MemoryTextServer(() => START_MS);
      server.isAway = true;
      const { run, asked, view } = await prepared({ share: server.of('one') });
      expect(await run()).toBeUndefined();
      expect(asked()).toBe(1);
      expect(view().table['standard_d4s_v5']?.perHour.linux).toBe(0.256);
    });

    it('a size that Azure refuses keeps what was read before it, also for the others', async () => {
      const server = new MemoryTextServer(() => START_MS);
      const { run, view, fail } = await prepared({ share: server.of('one'), sizes: [D4, 'Standard_E8s_v5'] });
      fail({ kind: 'answer', status: 500 }, { nth: 2 });
      expect((await run())?.kind).toBe('unavailable');
      expect(Object.keys(view().table)).toEqual(['standard_d4s_v5']);
    });

    it.each<[string, unknown, string]>([
      ['below zero', { readAtMs: START_MS, perHour: { linux: -1 } }, 'one of its prices is not valid'],
      ['without a bound', { readAtMs: START_MS, perHour: { linux: 1e308 } }, 'one of its prices is not valid'],
      ['from next year', { readAtMs: START_MS + 365 * DAY, perHour: { linux: 1 } }, 'one of its prices is not valid'],
      ['of an unknown kind', { readAtMs: START_MS, perHour: { free: 1 } }, 'one of its prices is not valid'],
    ])('a published price %s is ignored, and the size is read from Azure', async (_, lie, reason) => {
      const server = new MemoryTextServer(() => START_MS);
      server.put({ epoch: 7, text: published({ standard_d4s_v5: lie }), by: undefined });
      const { run, view, asked, lines } = await prepared({ share: server.of('one') });
      await run();
      expect(asked()).toBe(1);
      expect(view().table['standard_d4s_v5']?.perHour.linux).toBe(0.256);
      expect(lines.join('\n')).toContain(reason);
    });
  });

  it('the last answer outlives the process, and is not asked for again before its time', async () => {
    const first = await prepared();
    await first.run();
    const second = await prepared({ keptText: first.kept.text ?? '' });
    await second.book.restore(second.signal);
    expect(second.view().table).toEqual(first.view().table);
    await second.run();
    expect(second.asked()).toBe(0);
  });

  it.each<[string, Options, string]>([
    ['another region', { location: 'northeurope' }, 'for region'],
    ['another currency', { currency: 'EUR' }, 'it is in'],
    ['half a file', { keptText: '{"schema": 1, "loc' }, 'not a JSON object'],
    ['a file of a later program', { keptText: '{"schema": 2}' }, 'its schema is 2'],
    ['a price below zero', { keptText: '' }, 'one of its prices is not valid'],
  ])('what was kept of %s is not believed', async (_, options, reason) => {
    const first = await prepared();
    await first.run();
    const text = options.keptText === '' ? (first.kept.text ?? '').replace('0.256', '-1') : first.kept.text;
    const second = await prepared({ ...options, keptText: options.keptText === '' ? text! : (options.keptText ?? text!) });
    await second.book.restore(second.signal);
    expect(second.view().table).toEqual({});
    expect(second.lines.join()).toContain(reason);
  });

  it('a clock that was set back keeps no price for ever', async () => {
    const first = await prepared();
    await first.clock.advance(10 * DAY);
    await first.run();
    const second = await prepared({ keptText: first.kept.text ?? '' });
    await second.book.restore(second.signal);
    await second.run();
    expect(second.asked()).toBe(1);
  });
});
