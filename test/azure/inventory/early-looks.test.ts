import { describe, expect, it } from 'vitest';
import { EarlyLooks } from '../../../src/azure/inventory/early-looks.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** Seconds of the counts and of the requested lists. `failed` are the counts, one after the other; the last one stays. */
function stage(failed: readonly (number | undefined | Error)[], listed = 0) {
  const clock = new FakeClock(0);
  const counts: number[] = [];
  const lists: number[] = [];
  const readNew: number[] = [];
  const looks = new EarlyLooks({
    clock,
    log: createLog('silent'),
    countFailed: () => {
      const count = failed[Math.min(counts.length, failed.length - 1)];
      counts.push(clock.monotonic() / 1000);
      return count instanceof Error ? Promise.reject(count) : Promise.resolve(count);
    },
    readNew: () => readNew.push(clock.monotonic() / 1000),
    listedFailed: () => listed,
    listDue: () => lists.push(clock.monotonic() / 1000),
  });
  return { clock, counts, lists, readNew, looks };
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

  it('read the new instances of a group that has no count, and list them at last', async () => {
    const { clock, lists, readNew, looks } = stage([undefined]);
    looks.begin('g');
    await clock.advance(120_000);
    expect(readNew).toEqual([5, 10]);
    expect(lists).toEqual([20]);
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
