/** The record of a dry run: eight days, in memory and on disk, and what it says of the time before. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readShadowLines } from '../../../src/cli/journal/shadow-lines.ts';
import { ShadowRecord } from '../../../src/cli/journal/shadow-record.ts';
import { compareShadow } from '../../../src/planning/shadow/compare.ts';
import { aReport } from '../../observers/history/support.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import type { RepackSet } from '../../../src/domain/repack.ts';
import { NO_PRICES } from '../../../src/domain/policy.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const SET: RepackSet = {
  remove: [],
  add: undefined,
  saved: { nodes: 12, cpuMillis: 48_000, perHour: 480 / 168 },
  pods: 3,
  disruption: 3,
  score: 4,
};

let directory: string;
let clock: FakeClock;
beforeEach(() => {
  directory = temporaryFolder();
  clock = new FakeClock(START_MS);
});

const aRecord = (change: { readonly directory?: string | undefined; readonly mostLines?: number } = {}): ShadowRecord =>
  new ShadowRecord({ clock, log: silentLog(), directory, currency: 'EUR', statements: async () => [], ...change });

/** A loop each hour; in every second one the other autoscaler has changed the size. */
async function live(record: ShadowRecord, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    const prices = { ...NO_PRICES, prices: { standard_d4s_v5: 1 } };
    record.observe({
      ...aReport({ afterMs: clock.now() - START_MS, target: 1 + (hour % 2), group: { vmSize: 'Standard_D4s_v5' } }),
      prices,
    });
    await clock.advance(HOUR);
  }
}

const askedFor = (record: ShadowRecord, days: number) => record.report(clock.now() - days * DAY);

describe('the record of a dry run', () => {
  it.each([
    ['in memory', undefined],
    ['on disk', 'yes'],
  ])('of a process that lives twelve days has eight, with the pools and their prices: %s', async (_what, kept) => {
    const record = aRecord({ directory: kept === undefined ? undefined : directory });
    await live(record, 12 * 24);
    expect(askedFor(record, 7)).toMatchObject({ isPartial: false, pools: 1, currency: 'EUR', sizesWithoutPrice: [] });
    expect(askedFor(record, 7).theirs.nodesAdded).toBe(84);
    const tooMuch = askedFor(record, 11);
    expect(tooMuch.isPartial).toBe(true);
    expect((clock.now() - tooMuch.fromMs) / DAY).toBeCloseTo(8, 1);
    await record.close();
  });

  it('says since when, if there were too many lines for eight days', async () => {
    const record = aRecord({ directory: undefined, mostLines: 50 });
    await live(record, 7 * 24);
    const report = askedFor(record, 6);
    expect(report).toMatchObject({ isPartial: true, pools: 1, currency: 'EUR' });
    expect(clock.now() - report.fromMs).toBe(50 * HOUR);
  });

  it('on disk is enough for a report, long after the pools last changed; it is of limited age', async () => {
    const record = aRecord();
    await live(record, 12 * 24);
    await record.close();
    const { lines, skippedLines } = await readShadowLines(directory);
    const nowMs = clock.now();
    const report = compareShadow({ lines, sinceMs: nowMs - 7 * DAY, nowMs });
    expect([skippedLines, report]).toMatchObject([0, { isPartial: false, pools: 1, currency: 'EUR', sizesWithoutPrice: [] }]);
    expect(report.theirs.nodesAdded).toBe(84);
    expect(readdirSync(directory).length).toBeLessThanOrEqual(10);
    expect(readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)).toBeLessThan(2 ** 20);
  });

  it('has what repacking would save, searched again after an hour, also after a restart and a clock that was set back', async () => {
    const estimate = {
      atMs: clock.now(),
      nodes: 41,
      needed: 29,
      saved: { nodes: 12, cpuMillis: 48_000, perHour: 480 / 168 },
      cutShort: false,
      sets: [SET],
      blockers: [],
    };
    const first = aRecord();
    expect(first.wantsSavings).toBe(true);
    first.noteSavings(estimate);
    expect(first.wantsSavings).toBe(false);
    await first.close();
    const second = aRecord();
    await second.restore();
    expect(second.wantsSavings).toBe(false);
    expect(askedFor(second, 1).repacking).toMatchObject({
      text: '41 nodes, 29 would do: 480 EUR a week less',
      nodes: 41,
      needed: 29,
      leftOut: [],
    });
    await clock.advance(HOUR);
    expect(second.wantsSavings).toBe(true);
    second.noteSavings({ ...estimate, atMs: clock.now() + 2 * HOUR });
    expect(second.wantsSavings).toBe(true);
    await second.close();
  });

  it('goes on in the next process', async () => {
    const first = aRecord();
    await live(first, 3 * 24);
    await first.close();
    const second = aRecord();
    await second.restore();
    await live(second, 2 * 24);
    expect(askedFor(second, 4)).toMatchObject({ isPartial: false, currency: 'EUR' });
    expect(askedFor(second, 7)).toMatchObject({ isPartial: true, fromMs: START_MS });
    await second.close();
  });
});
