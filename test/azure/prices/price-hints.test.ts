/** What another process says about prices: how far it is used, and what this process reads itself. */
import { describe, expect, it } from 'vitest';
import { PriceCache } from '../../../src/azure/prices/price-cache.ts';
import { readPriceText, writePriceText } from '../../../src/azure/prices/price-text.ts';
import type { PriceTable } from '../../../src/domain/quotas-and-prices.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryTextServer } from '../../support/memory-shared-text.ts';

const DAY = 24 * 3_600_000;
const SCOPE = { location: 'westeurope', currency: 'USD' };
const TRUE_PRICES: Readonly<Record<string, number>> = { standard_d4s_v5: 0.2, standard_e8s_v5: 0.5, standard_nd96asr_v4: 13 };
const [D4, E8, GPU] = ['Standard_D4s_v5', 'Standard_E8s_v5', 'Standard_ND96asr_v4'];
const signal = new AbortController().signal;

function processBeside(server: MemoryTextServer, clock: FakeClock, sizes: readonly string[]) {
  const asked: string[] = [];
  const kept = { text: '' };
  const inUse = { sizes };
  const lines: string[] = [];
  const cache = new PriceCache({
    scope: SCOPE,
    refreshMs: DAY,
    clock,
    sizes: () => inUse.sizes,
    log: createLog('info', { write: (line) => void lines.push(line) }),
    read: (vmSize) => {
      asked.push(vmSize);
      return Promise.resolve({ readAtMs: clock.now(), perHour: { linux: TRUE_PRICES[vmSize.toLowerCase()] ?? 1 } });
    },
    stored: { read: () => Promise.resolve(kept.text), write: (text) => Promise.resolve(void (kept.text = text)) },
    share: server.of('me'),
  });
  const agent = cache.agent();
  const run = async () => (await agent.load({ signal, token: { agentId: agent.id, run: 1 } })).commit();
  const priceOf = (vmSize: string) => cache.current(clock.now()).table[vmSize.toLowerCase()]?.perHour.linux;
  const stored = (): PriceTable => {
    const reading = readPriceText(kept.text, SCOPE, clock.now());
    return reading.ok ? reading.value : {};
  };
  /** What was read since the last call. */
  const askedSince = () => asked.splice(0);
  return { run, priceOf, askedSince, stored, inUse, lines };
}

function prepared(...sizes: readonly string[]) {
  const clock = new FakeClock(START_MS);
  const server = new MemoryTextServer(() => clock.now());
  let epoch = 50;
  const publish = (prices: Readonly<Record<string, number>>) => {
    const entries = Object.entries(prices).map(([name, linux]) => [name.toLowerCase(), { readAtMs: clock.now(), perHour: { linux } }]);
    server.put({ epoch: (epoch += 50), text: writePriceText(Object.fromEntries(entries) as PriceTable, SCOPE), by: 'another' });
  };
  return { clock, server, publish, ...processBeside(server, clock, sizes) };
}

describe('a price that another process published', () => {
  it('does not replace a reading of this process that is not due', async () => {
    const { clock, publish, run, priceOf, inUse, askedSince } = prepared(D4);
    await run();
    await clock.advance(60_000);
    publish({ [D4]: 0.3, [GPU]: 13 });
    inUse.sizes = [D4, GPU];
    await run();
    expect([priceOf(D4), priceOf(GPU)]).toEqual([0.2, 13]);
    expect(askedSince()).toEqual([D4, GPU]);
  });

  it('of a size that this process has never read is not used before it has', async () => {
    const { publish, run, priceOf, askedSince } = prepared(D4, GPU);
    publish({ [D4]: 0.2, [GPU]: 0.01 });
    await run();
    expect(priceOf(GPU)).toBe(13);
    expect(askedSince()).toEqual([D4, GPU]);
  });

  it('spares reads of due sizes, but for the size that this process has not read itself for the longest', async () => {
    const { clock, publish, run, priceOf, askedSince } = prepared(D4, E8, GPU);
    await run();
    askedSince();
    const sampled: string[] = [];
    for (let day = 0; day < 3; day++) {
      await clock.advance(DAY);
      publish({ [D4]: 0.21, [E8]: 0.51, [GPU]: 13.1 });
      await run();
      sampled.push(...askedSince());
    }
    expect(sampled).toEqual([D4, E8, GPU]);
    expect([priceOf(D4), priceOf(GPU)]).toEqual([0.21, 13]);
  });

  it('is read before it is used if it differs from the own reading by more than a factor of two', async () => {
    const { clock, publish, run, priceOf, askedSince } = prepared(D4, E8);
    await run();
    await clock.advance(DAY);
    askedSince();
    // The first of the two is read as a sample in any case.
    publish({ [D4]: 0.21, [E8]: 1.01 });
    await run();
    expect(priceOf(E8)).toBe(0.5);
    expect(askedSince()).toContain(E8);
  });

  it('is not used if another price of that process is wrong, and that process is not copied', async () => {
    const { clock, server, publish, run, priceOf, askedSince, lines } = prepared(D4, E8, GPU);
    await run();
    await clock.advance(DAY);
    askedSince();
    publish({ [D4]: 900, [E8]: 0.9, [GPU]: 7, standard_x: 1 });
    await run();
    expect([priceOf(D4), priceOf(E8), priceOf(GPU)]).toEqual([0.2, 0.5, 13]);
    expect(new Set(askedSince())).toEqual(new Set([D4, E8, GPU]));
    expect(server.record?.text).not.toContain('standard_x');
    expect(lines.join()).toContain('Shared prices contradict the price list');
  });

  it('moves no price step by step: the own reading is the reference', async () => {
    const { clock, publish, run, priceOf } = prepared(D4, E8, GPU);
    await run();
    for (const price of [0.35, 0.6, 1.1]) {
      await clock.advance(DAY);
      publish({ [D4]: 0.2, [E8]: 0.5, [GPU]: 13 * (price / 0.2) });
      await run();
      expect(priceOf(GPU)).toBeLessThanOrEqual(26);
    }
  });

  it('is not stored for later processes', async () => {
    const { clock, publish, run, stored, priceOf } = prepared(D4, E8);
    await run();
    await clock.advance(DAY);
    publish({ [D4]: 0.21, [E8]: 0.6 });
    await run();
    expect(priceOf(E8)).toBe(0.6);
    expect(stored()['standard_e8s_v5']?.perHour.linux).toBe(0.5);
  });

  it('of a size that only other clusters use stays published', async () => {
    const { server, publish, run } = prepared(D4);
    publish({ standard_x: 1 });
    await run();
    expect(server.record?.text).toContain('standard_x');
    expect(server.record?.text).toContain('standard_d4s_v5');
  });
});
