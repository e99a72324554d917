import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quotaDrawsOf, QuotaLedger, type RefusedQuota, type UsageRow } from '../../../src/azure/sizes/core-quotas.ts';

const MINUTE = 60_000;
const FAMILY = 'standardDSv5Family';
const DRAWS = quotaDrawsOf({ quotaVcpus: 8, quotaFamily: FAMILY }, 'Regular');
const usage = (used: number, limit = 100, name = FAMILY): UsageRow => ({ name, used, limit });
const usedIn = (ledger: QuotaLedger, atMs: number) => ledger.quotas(atMs).find(({ name }) => name === FAMILY.toLowerCase())?.used;

describe('what a node draws', () => {
  it.each([
    ['Regular', FAMILY, ['standarddsv5family', 'cores']],
    ['Regular', '', ['cores']],
    ['Spot', FAMILY, ['lowprioritycores']],
  ] as const)('%s of family "%s": %j', (priority, quotaFamily, names) => {
    expect(quotaDrawsOf({ quotaVcpus: 8, quotaFamily }, priority)).toEqual(names.map((quota) => ({ quota, cores: 8 })));
  });
});

describe('the ledger of quotas', () => {
  it('knows nothing before the first reading, and nothing of orders either', () => {
    const ledger = new QuotaLedger();
    ledger.recordIncrease(DRAWS, 3, 0);
    expect(ledger.quotas(0)).toEqual([]);
    expect(ledger.isShort(DRAWS, 0)).toBe(false);
  });

  it('names quotas as people know them', () => {
    const ledger = new QuotaLedger();
    ledger.recordUsages([usage(1), usage(2, 50, 'cores'), usage(3, 50, 'lowPriorityCores')], 0);
    expect(ledger.quotas(0).map(({ title, used }) => [title, used])).toEqual([
      [`family ${FAMILY}`, 1],
      ['region', 2],
      ['spot', 3],
    ]);
  });

  it('counts an order until Azure counts it, and not twice', () => {
    const ledger = new QuotaLedger();
    ledger.recordUsages([usage(80)], 0);
    ledger.recordIncrease(DRAWS, 1, MINUTE);
    expect(usedIn(ledger, MINUTE)).toBe(88);
    ledger.recordUsages([usage(80)], 2 * MINUTE);
    expect(usedIn(ledger, 2 * MINUTE)).toBe(88);
    ledger.recordUsages([usage(88)], 3 * MINUTE);
    expect(usedIn(ledger, 3 * MINUTE)).toBe(88);
    ledger.recordIncrease(DRAWS, 1, 3 * MINUTE);
    expect(usedIn(ledger, 3 * MINUTE)).toBe(96);
    expect(ledger.isShort(DRAWS, 3 * MINUTE)).toBe(true);
  });

  it('gives an order up when Azure does not count it for five minutes', () => {
    const ledger = new QuotaLedger();
    ledger.recordUsages([usage(80)], 0);
    ledger.recordIncrease(DRAWS, 2, 0);
    ledger.recordUsages([usage(80)], 5 * MINUTE);
    expect(usedIn(ledger, 5 * MINUTE - 1)).toBe(96);
    expect(usedIn(ledger, 5 * MINUTE)).toBe(80);
  });

  it('takes back what did not come', () => {
    const ledger = new QuotaLedger();
    ledger.recordUsages([usage(80)], 0);
    ledger.recordIncrease(DRAWS, 2, 0);
    ledger.recordReturn(DRAWS, 2);
    expect(usedIn(ledger, 1)).toBe(80);
  });

  const refused = { quota: `${FAMILY} Cores`, limit: 100, usage: 84, required: 24 };
  it('a refusal with numbers is a newer reading of its quota, and lists that lag behind do not undo it', () => {
    const ledger = new QuotaLedger();
    ledger.recordUsages([usage(40), usage(40, 200, 'cores')], 0);
    expect(ledger.recordRefusal(DRAWS, refused, MINUTE)).toBe(true);
    expect(usedIn(ledger, MINUTE)).toBe(84);
    ledger.recordUsages([usage(40), usage(40, 200, 'cores')], 2 * MINUTE);
    expect(usedIn(ledger, 2 * MINUTE)).toBe(84);
    expect(ledger.isShort(DRAWS, 2 * MINUTE)).toBe(false);
    ledger.recordIncrease(DRAWS, 2, 2 * MINUTE);
    expect(ledger.isShort(DRAWS, 2 * MINUTE)).toBe(true);
    expect(usedIn(ledger, 7 * MINUTE)).toBe(40);
  });

  it('learns a lowered limit from a refusal, and an increased one from the next list', () => {
    const ledger = new QuotaLedger();
    ledger.recordUsages([usage(84, 200)], 0);
    expect(ledger.recordRefusal(DRAWS, refused, MINUTE)).toBe(true);
    expect(ledger.quotas(MINUTE)).toMatchObject([{ limit: 100, used: 84 }]);
    ledger.recordUsages([usage(84, 300)], 2 * MINUTE);
    expect(ledger.quotas(2 * MINUTE)).toMatchObject([{ limit: 300, used: 84 }]);
  });

  it.each([
    ['Total Regional Cores', 'Regular', 'cores'],
    ['LowPriorityCores', 'Spot', 'lowPriorityCores'],
    ['Core', 'Regular', 'cores'],
    ['Cores', 'Regular', 'cores'],
    ['Total Regional vCPUs', 'Regular', 'cores'],
    ['Total Regional Spot vCPUs', 'Spot', 'lowPriorityCores'],
    ['Total Regional Low-priority vCPUs', 'Spot', 'lowPriorityCores'],
    ['Standard DSv5 Family vCPUs', 'Regular', FAMILY],
    ['STANDARDDSV5FAMILY Cores', 'Regular', FAMILY],
  ] as const)('%s is the quota that lists call otherwise', (quota, priority, name) => {
    const ledger = new QuotaLedger();
    ledger.recordUsages([usage(40, 100, name)], 0);
    expect(ledger.recordRefusal(quotaDrawsOf({ quotaVcpus: 8, quotaFamily: FAMILY }, priority), { ...refused, quota }, 0)).toBe(true);
    expect(ledger.quotas(0)).toMatchObject([{ used: 84 }]);
  });

  it.each([
    ['usages cannot be read', { read: false }],
    ['it has no numbers', { refused: { quota: refused.quota } }],
    ['its numbers do not explain it', { refused: { ...refused, usage: 40 } }],
    ['it is about another family', { refused: { ...refused, quota: 'standardNVFamily Cores' } }],
    ['it required less than one node', { refused: { ...refused, required: 4, usage: 98 } }],
    ['the last reading is half an hour old', { atMs: 31 * MINUTE }],
  ])(
    'a refusal changes nothing when %s',
    (_, { read = true, refused: numbers = refused, atMs = 0 }: { read?: boolean; refused?: RefusedQuota; atMs?: number }) => {
      const ledger = new QuotaLedger();
      if (read) ledger.recordUsages([usage(40), usage(40, 100, 'standardNVFamily')], 0);
      const before = ledger.quotas(atMs);
      expect(ledger.recordRefusal(DRAWS, numbers, atMs)).toBe(false);
      expect(ledger.quotas(atMs)).toEqual(before);
    },
  );

  it('a reading of half an hour ago says nothing', () => {
    const ledger = new QuotaLedger();
    ledger.recordUsages([usage(100)], 0);
    expect(ledger.isShort(DRAWS, 30 * MINUTE)).toBe(true);
    expect(ledger.isShort(DRAWS, 30 * MINUTE + 1)).toBe(false);
  });

  it('shows the truth whenever Azure lags by less than five minutes, whatever the order of readings and orders', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('order' as const), nodes: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ kind: fc.constant('read' as const), lagging: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const ledger = new QuotaLedger();
        let [now, truth, told] = [0, 40, 40];
        ledger.recordUsages([usage(told)], now);
        for (const each of steps) {
          now += 10_000;
          if (each.kind === 'order') {
            truth += each.nodes * 8;
            ledger.recordIncrease(DRAWS, each.nodes, now);
          } else {
            if (!each.lagging) told = truth;
            ledger.recordUsages([usage(told)], now);
          }
          // All of it happens within the time that Azure may lag behind.
          expect(usedIn(ledger, now)).toBe(truth);
        }
      }),
      { seed: 11, numRuns: 200 },
    );
  });
});
