import { describe, expect, it } from 'vitest';
import { EarlyLooks } from '../../../src/azure/inventory/early-looks.ts';
import type { InstanceKey } from '../../../src/domain/ids.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';

interface Group {
  readonly creating?: readonly string[];
  readonly missing?: number;
  readonly listWaitMs?: number;
  readonly singleReads?: number;
}

/** Seconds of the counts and of the requested lists. `failed` are the counts, one after the other; the last one stays. */
function stage(failed: readonly (number | undefined | Error)[], listed = 0, group: Group = {}) {
  const clock = new FakeClock(0);
  const counts: number[] = [];
  const lists: number[] = [];
  const reads: (readonly [second: number, keys: readonly string[]])[] = [];
  const { creating = [], missing = 0, listWaitMs = 0, singleReads = 30 } = group;
  const looks = new EarlyLooks({
    clock,
    log: createLog('silent'),
    countFailed: () => {
      const count = failed[Math.min(counts.length, failed.length - 1)];
      counts.push(clock.monotonic() / 1000);
      return count instanceof Error ? Promise.reject(count) : Promise.resolve(count);
    },
    listedFailed: () => listed,
    newInstances: () => ({ creating: creating as readonly InstanceKey[], missing }),
    listWaitMs: () => listWaitMs,
    singleReadsLeft: () => singleReads,
    readEach: (keys) => void (keys.length > 0 && reads.push([clock.monotonic() / 1000, keys])),
    listDue: () => lists.push(clock.monotonic() / 1000),
    noteListDue: () => undefined,
  });
  return { clock, counts, lists, reads, looks };
}

describe('looks after an increase', () => {
  it.each([
    ['nothing failed: one list', [0], 0, [20]],
    ['an instance failed at the first look', [1], 0, [5, 20]],
    ['an instance failed at the second look', [0, 1], 0, [10, 20]],
    ['a second one failed', [1, 2], 0, [5, 10, 20]],
    ['instances that failed before are no news', [3], 3, [20]],
    ['a count failed', [new Error('throttled'), 1], 0, [10, 20]],
  ])('%s', async (_name, failed, listed, expected) => {
    const { clock, counts, lists, looks } = stage(failed, listed);
    looks.begin('g');
    await clock.advance(120_000);
    expect(counts).toEqual([5, 10]);
    expect(lists).toEqual(expected);
    expect(clock.sleeping).toBe(0);
  });

  const two = ['a', 'b'];
  const each = (...seconds: readonly number[]) => seconds.map((second) => [second, two]);
  it.each<[string, Group, { lists: readonly number[]; reads: readonly unknown[] }]>([
    ['read those that are being created one by one', { creating: two }, { lists: [20], reads: each(5, 10) }],
    ['list them while some are missing', { creating: two, missing: 1 }, { lists: [5, 10, 20], reads: [] }],
    ['list more than ten', { creating: Array.from({ length: 11 }, String) }, { lists: [5, 10, 20], reads: [] }],
    [
      'read one by one while a list would have to wait',
      { creating: two, missing: 1, listWaitMs: 1 },
      { lists: [20], reads: each(5, 10, 20) },
    ],
    [
      'read no more than may be read singly',
      { creating: two, singleReads: 1 },
      {
        lists: [20],
        reads: [
          [5, ['a']],
          [10, ['a']],
        ],
      },
    ],
  ])('of a group that has no count %s', async (_name, group, expected) => {
    const { clock, lists, reads, looks } = stage([undefined], 0, group);
    looks.begin('g');
    await clock.advance(120_000);
    expect({ lists, reads }).toEqual(expected);
  });

  it('are at least five seconds apart while the group is increased again and again', async () => {
    const { clock, counts, lists, looks } = stage([0]);
    for (let second = 0; second < 60; second += 2) {
      looks.begin('g');
      await clock.advance(2_000);
    }
    const all = [...counts, ...lists].sort((left, right) => left - right);
    expect(Math.min(...all.slice(1).map((at, index) => at - (all[index] ?? 0)))).toBeGreaterThanOrEqual(5);
    await clock.advance(60_000);
    looks.begin('g');
    await clock.advance(5_000);
    expect(counts.at(-1)).toBe(clock.monotonic() / 1000);
    looks.stop();
    expect(clock.sleeping).toBe(0);
  });
});
