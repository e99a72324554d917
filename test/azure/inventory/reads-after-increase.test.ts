import { describe, expect, it } from 'vitest';
import { ReadsAfterIncrease, type AwaitedInstances } from '../../../src/azure/inventory/reads-after-increase.ts';
import { Want } from '../../../src/cache/want.ts';
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
  const reads: (readonly [second: number, keys: string[]])[] = [];
  const { creating = [], missing = 0, listWaitMs = 0, singleReads = 30 } = group;
  const second = (): number => clock.monotonic() / 1000;
  const increases = new ReadsAfterIncrease({
    clock,
    log: createLog('silent'),
    instances: {
      countFailed: () => {
        const count = failed[Math.min(counts.length, failed.length - 1)];
        counts.push(second());
        return count instanceof Error ? Promise.reject(count) : Promise.resolve(count);
      },
      listedFailed: () => listed,
      awaited: () => ({ creating: creating as readonly InstanceKey[], missing }),
    },
    reads: {
      listWaitMs: () => listWaitMs,
      singleReadsLeft: () => singleReads,
      singleReadsPerList: () => 26,
      want: (read) => {
        const last = reads.at(-1);
        if (read.what === 'instances') lists.push(second());
        else if (read.what === 'instance' && last?.[0] === second()) last[1].push(read.key);
        else if (read.what === 'instance') reads.push([second(), [read.key]]);
        return new Want();
      },
    },
  });
  return { clock, counts, lists, reads, increases };
}

describe('reads on time after an increase', () => {
  it.each([
    ['nothing failed: one list', [0], 0, [20]],
    ['an instance failed at the first look', [1], 0, [5, 20]],
    ['an instance failed at the second look', [0, 1], 0, [10, 20]],
    ['a second one failed', [1, 2], 0, [5, 10, 20]],
    ['instances that failed before are no news', [3], 3, [20]],
    ['a count failed', [new Error('throttled'), 1], 0, [10, 20]],
  ])('%s', async (_name, failed, listed, expected) => {
    const { clock, counts, lists, increases } = stage(failed, listed);
    increases.begin('g');
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
    const { clock, lists, reads, increases } = stage([undefined], 0, group);
    increases.begin('g');
    await clock.advance(120_000);
    expect({ lists, reads }).toEqual(expected);
  });

  it('are at least five seconds apart while the group is increased again and again', async () => {
    const { clock, counts, lists, increases } = stage([0]);
    for (let second = 0; second < 60; second += 2) {
      increases.begin('g');
      await clock.advance(2_000);
    }
    const all = [...counts, ...lists].sort((left, right) => left - right);
    expect(Math.min(...all.slice(1).map((at, index) => at - (all[index] ?? 0)))).toBeGreaterThanOrEqual(5);
    await clock.advance(60_000);
    increases.begin('g');
    await clock.advance(5_000);
    expect(counts.at(-1)).toBe(clock.monotonic() / 1000);
    increases.stop();
    expect(clock.sleeping).toBe(0);
  });
});

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Looks every second for `forMs` and lists whenever that is due; returns the seconds of the lists. */
function watch(
  increases: ReadsAfterIncrease,
  forMs: number,
  awaited: (nowMs: number) => Pick<AwaitedInstances, 'creating' | 'missing'>,
): readonly number[] {
  const lists: number[] = [];
  let listedAtMs = -4 * MINUTE;
  for (let nowMs = 0; nowMs <= forMs; nowMs += SECOND) {
    if (!increases.isListDue('g', { nowMs, listedAtMs, ...awaited(nowMs) })) continue;
    listedAtMs = nowMs;
    lists.push(nowMs / SECOND);
  }
  return lists;
}

const NONE = { creating: 0, missing: 0 };

describe('lists while a group settles', () => {
  it('come 20, 45, 105, 165 ... seconds after the growth while machines are missing, for twenty minutes', () => {
    const { increases } = stage([0]);
    increases.beginForeign('g', 0);
    const lists = watch(increases, 60 * MINUTE, () => ({ creating: 0, missing: 2 }));
    expect(lists.slice(0, 5)).toEqual([20, 45, 105, 165, 225]);
    expect(lists.at(-1)).toBeLessThanOrEqual(20 * 60);
  });

  it('stop when all are there, and nothing is due for a group that did not grow', () => {
    const { increases } = stage([0]);
    increases.beginForeign('g', 0);
    expect(watch(increases, 5 * MINUTE, (nowMs) => (nowMs < 50 * SECOND ? { creating: 1, missing: 0 } : NONE))).toEqual([20, 45]);
    expect(watch(stage([0]).increases, 5 * MINUTE, () => ({ creating: 0, missing: 3 }))).toEqual([]);
  });

  it('do not wait for machines that a failed growth left out', () => {
    const { increases } = stage([0]);
    increases.beginForeign('g', 0);
    increases.end('g');
    expect(watch(increases, 10 * MINUTE, () => ({ creating: 0, missing: 2 }))).toEqual([]);
  });

  it('follow instances that another writer creates, and give up on one that never settles', () => {
    const lists = watch(stage([0]).increases, 60 * MINUTE, () => ({ creating: 1, missing: 0 }));
    expect(lists.slice(0, 3)).toEqual([20, 45, 105]);
    expect(lists.at(-1)).toBeLessThanOrEqual(20 * 60 + 1);
  });

  it('a late list counts for the mark it passed, not for the next', () => {
    const { increases } = stage([0]);
    increases.beginForeign('g', 0);
    const due = (nowMs: number, listedAtMs: number): boolean => increases.isListDue('g', { nowMs, listedAtMs, creating: 1, missing: 0 });
    expect(due(50 * SECOND, 44 * SECOND)).toBe(true);
    expect(due(104 * SECOND, 46 * SECOND)).toBe(false);
    expect(due(105 * SECOND, 46 * SECOND)).toBe(true);
    expect(due(600 * SECOND, 590 * SECOND)).toBe(false);
  });
});
