/** What the clusters of a subscription tell each other, and what comes of it. */
import { describeBlock } from '../../../src/domain/group-blocks.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { SubscriptionHints } from '../../../src/azure/view/subscription-hints.ts';
import { AutoscalerError, type StockScope } from '../../../src/lib/errors.ts';
import { anInstance, START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryHintServer } from '../../support/memory-hints.ts';

const SIZE = { vmSize: 'Standard_D4s_v5', priority: 'Regular', zones: [] } as const;
const REASON =
  'another cluster of the subscription got no Standard_D4s_v5 at 00:00:00 UTC; it grows only for pods that no other pool can take';

function soldOut(scope: StockScope): AutoscalerError {
  return new AutoscalerError({ kind: 'out-of-capacity', scope }, 'Allocation failed.');
}

let clock = new FakeClock(START_MS);
let server = new MemoryHintServer(() => clock.now());
/** Of every cluster. */
let phase = 0;
const holds: (readonly [family: string, untilMs: number])[] = [];
beforeEach(() => {
  clock = new FakeClock(Date.UTC(2026, 0, 1));
  server = new MemoryHintServer(() => clock.now());
  holds.length = 0;
  phase = 0;
});

function cluster(name: string): SubscriptionHints {
  return new SubscriptionHints({
    hints: server.of(name),
    clock,
    holdReads: (family, untilMs) => void holds.push([family, untilMs]),
    phase: () => phase,
  });
}

describe('a stockout that another cluster met', () => {
  it.each([
    ['the same size', { vmSize: 'standard_d4s_v5' }, SIZE, true],
    ['another size', { vmSize: 'Standard_E4s_v5' }, SIZE, false],
    ['another priority', { vmSize: 'Standard_D4s_v5', priority: 'Spot' as const }, SIZE, false],
    ['a zone, for a group without zones', { vmSize: 'Standard_D4s_v5', zone: '1' }, SIZE, false],
    ['the only zone', { vmSize: 'Standard_D4s_v5', zone: '1' }, { ...SIZE, zones: ['westeurope-1'] }, true],
    ['one of two zones', { vmSize: 'Standard_D4s_v5', zone: '1' }, { ...SIZE, zones: ['westeurope-1', 'westeurope-2'] }, false],
    ['the region, for a zonal group', { vmSize: 'Standard_D4s_v5' }, { ...SIZE, zones: ['westeurope-1'] }, true],
    ['no size at all', { quota: 'cores' }, SIZE, false],
  ])('makes a group the last resort: %s', (_what, scope, size, expected) => {
    cluster('one').noteFailure(soldOut(scope));
    expect(describeBlock(cluster('two').lastResortReason(size, true))).toBe(expected ? REASON : undefined);
  });

  it('is known from an instance that Azure could not allocate, once for each instance, before the increase has ended', () => {
    const error = { detail: { kind: 'out-of-capacity', scope: {} } as const, code: 'AllocationFailed', message: 'x' };
    const group = { ...SIZE, instances: [anInstance({ state: 'failed', error, zone: undefined })] };
    const [one, two] = [cluster('one'), cluster('two')];
    one.noteFailedInstances([group]);
    one.noteFailedInstances([group]);
    expect(describeBlock(two.lastResortReason(SIZE, false))).toBe(REASON);
    expect(server.reports).toBe(1);
  });

  it('concerns no group of the cluster that met it: that has a memory of its own', () => {
    const one = cluster('one');
    one.noteFailure(soldOut({ vmSize: 'Standard_D4s_v5' }));
    expect(one.lastResortReason(SIZE, true)).toBeUndefined();
  });

  it.each([
    [
      'is about the settings of one group',
      new AutoscalerError({ kind: 'out-of-capacity', scope: { vmSize: 'a' }, lack: 'constraints' }, 'x'),
    ],
    ['is a size that is never offered', new AutoscalerError({ kind: 'out-of-capacity', scope: { vmSize: 'a' }, lack: 'offer' }, 'x')],
    ['is a quota', new AutoscalerError({ kind: 'quota', quota: 'cores' }, 'x')],
  ])('is not reported if the refusal %s', (_what, error) => {
    cluster('one').noteFailure(error);
    expect(cluster('two').lastResortReason({ ...SIZE, vmSize: 'a' }, true)).toBeUndefined();
  });

  it('is tried by one cluster a minute, of those with waiting pods', async () => {
    cluster('one').noteFailure(soldOut({ vmSize: 'Standard_D4s_v5' }));
    const others = Array.from({ length: 29 }, (_, at) => cluster(`other-${at}`));
    const trying = (): number => others.filter((each) => each.lastResortReason(SIZE, true) === undefined).length;
    expect(describeBlock(others[0]?.lastResortReason(SIZE, false))).toBe(REASON);
    expect([trying(), trying()]).toEqual([0, 1]);
    await clock.advance(59_000);
    expect(trying()).toBe(1);
    // The right is over; the next look asks for it.
    await clock.advance(2_000);
    expect([trying(), trying()]).toEqual([0, 1]);
  });

  it('is tried by one cluster a minute in all of the region, however many sizes are out of stock, the least recently tried first', async () => {
    const sizes = ['Standard_A', 'Standard_B', 'Standard_C'];
    for (const vmSize of sizes) cluster('one').noteFailure(soldOut({ vmSize }));
    const others = Array.from({ length: 10 }, (_, at) => cluster(`other-${at}`));
    const tried: string[] = [];
    for (let second = 0; second < 6 * 60; second += 5) {
      // A cluster that finds a size still out of stock reports it again.
      const trying = others.flatMap((each) => sizes.filter((vmSize) => each.lastResortReason({ ...SIZE, vmSize }, true) === undefined));
      expect(trying.length).toBeLessThanOrEqual(1);
      for (const vmSize of trying) {
        if (tried.at(-1) !== vmSize) tried.push(vmSize);
        cluster('one').noteFailure(soldOut({ vmSize }));
      }
      await clock.advance(5_000);
    }
    expect(tried.slice(0, 3).toSorted()).toEqual(sizes);
    expect(tried.slice(3)).toEqual(tried.slice(0, tried.length - 3));
    expect(tried.length).toBeGreaterThanOrEqual(5);
  });

  it('is tried although a program reports without end that others want another size', async () => {
    cluster('one').noteFailure(soldOut({ vmSize: 'Standard_D4s_v5' }));
    const two = cluster('two');
    const lie = (): void => {
      server.of('liar').report('wanted', 'nothing/regular/*', clock.now() + 600_000);
      server.of('liar').report('tried', 'standard_d4s_v5/regular/*', clock.now() + 600_000);
      cluster('one').noteFailure(soldOut({ vmSize: 'Standard_D4s_v5' }));
    };
    let waitedMs = 0;
    lie();
    while (waitedMs < 600_000 && two.lastResortReason(SIZE, true) !== undefined) {
      await clock.advance(10_000);
      waitedMs += 10_000;
      lie();
    }
    expect(waitedMs).toBeGreaterThan(60_000);
    expect(waitedMs).toBeLessThanOrEqual(140_000);
  });

  it.each([
    ['without zones', { ...SIZE }, undefined, true],
    ['in that zone alone', { ...SIZE, zones: ['1'] }, '1', true],
    ['in several zones, one of which it may not have used', { ...SIZE, zones: ['1', '2'] }, '1', false],
    ['of another size', { ...SIZE, vmSize: 'Standard_E4s_v5' }, undefined, false],
  ])('is over when Azure fills an increase %s', (_what, filled, zone, isOver) => {
    cluster('one').noteFailure(soldOut({ vmSize: 'Standard_D4s_v5', ...(zone === undefined ? {} : { zone }) }));
    cluster('two').noteSuccess(filled);
    const size = { ...SIZE, zones: zone === undefined ? [] : [zone] };
    expect(cluster('three').lastResortReason(size, false) === undefined).toBe(isOver);
  });

  it('is over two and a half minutes after it was met last', async () => {
    cluster('one').noteFailure(soldOut({ vmSize: 'Standard_D4s_v5' }));
    const two = cluster('two');
    await clock.advance(149_000);
    expect(describeBlock(two.lastResortReason(SIZE, false))).toBe(REASON);
    await clock.advance(2_000);
    expect(two.lastResortReason(SIZE, false)).toBeUndefined();
  });
});

describe('throttling that another cluster met', () => {
  it('delays reads of that family by a minute at most, whatever it says', () => {
    cluster('one').noteThrottled('HighCostGet', clock.now() + 3_600_000);
    cluster('two');
    server.look();
    expect(new Set(holds.map(String))).toEqual(new Set([String(['HighCostGet', clock.now() + 60_000])]));
  });

  it('delays them no longer than it lasts', () => {
    cluster('one').noteThrottled('HighCostGet', clock.now() + 5_000);
    cluster('two');
    server.look();
    expect(new Set(holds.map(String))).toEqual(new Set([String(['HighCostGet', clock.now() + 5_000])]));
  });

  it('delays them for one minute in five, although a program reports for ever', async () => {
    cluster('two');
    let heldMs = 0;
    for (let second = 0; second < 600; second += 5) {
      cluster('liar').noteThrottled('HighCostGet', clock.now() + 600_000);
      server.look();
      if ((holds.at(-1)?.[1] ?? 0) > clock.now()) heldMs += 5_000;
      await clock.advance(5_000);
    }
    expect(heldMs).toBe(2 * 60_000);
  });
});

describe('calls that the clusters have left together', () => {
  it('delay the reads of the others if few are left, not if many are', () => {
    cluster('one').noteRemaining('HighCostGet', { left: 300, of: 1_000 });
    cluster('two');
    server.look();
    expect(holds).toEqual([]);
    cluster('one').noteRemaining('HighCostGet', { left: 199, of: 1_000 });
    server.look();
    expect(new Set(holds.map(String))).toEqual(new Set([String(['HighCostGet', clock.now() + 10_000])]));
  });

  it('delay the reads of different clusters by different times, of a minute at most', () => {
    cluster('one').noteRemaining('HighCostGet', { left: 1, of: 1_000 });
    cluster('two');
    const ends = [0, 0.5, 0.99].map((each) => {
      phase = each;
      server.look();
      return Math.round((holds.at(-1)?.[1] ?? 0) - clock.now());
    });
    expect(ends).toEqual([10_000, 35_000, 59_500]);
  });

  it('do not delay a cluster to which Azure has reported many since then, although it has not reported that yet', async () => {
    const two = cluster('two');
    two.noteRemaining('HighCostGet', { left: 900, of: 1_000 });
    await clock.advance(1_000);
    cluster('one').noteRemaining('HighCostGet', { left: 1, of: 1_000 });
    await clock.advance(1_000);
    two.noteRemaining('HighCostGet', { left: 880, of: 1_000 });
    server.look();
    expect(holds).toEqual([]);
  });

  it('are reported every fifteen seconds, and at once when they become few', async () => {
    const one = cluster('one');
    const counts = [900, 890, 880, 150, 140];
    for (const left of counts) one.noteRemaining('HighCostGet', { left, of: 1_000 });
    expect(server.reports).toBe(2);
    await clock.advance(15_000);
    one.noteRemaining('HighCostGet', { left: 130, of: 1_000 });
    expect(server.reports).toBe(3);
  });
});

describe('a cluster that shares nothing', () => {
  it('is kept from nothing', () => {
    const alone = new SubscriptionHints({ hints: undefined, clock, holdReads: () => undefined, phase: () => 0 });
    alone.noteFailure(soldOut({ vmSize: 'Standard_D4s_v5' }));
    expect(alone.lastResortReason(SIZE, true)).toBeUndefined();
  });
});
