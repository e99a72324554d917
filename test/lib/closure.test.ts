import { describe, expect, it } from 'vitest';
import { durationAfterMs, nextDurationMs, phaseOf, type Closure } from '../../src/lib/closure.ts';

describe('how long a failure closes something', () => {
  it.each([
    ['doubles up to the longest time', { firstMs: 30, longestMs: 300 }, [30, 60, 120, 240, 300, 300]],
    ['is always the same if the longest time is the first', { firstMs: 7, longestMs: 7 }, [7, 7, 7]],
  ])('%s, counted from the last time or from the number of failures', (_what, times, expected) => {
    const found: number[] = [];
    let before: Pick<Closure, 'durationMs'> | undefined;
    for (const _failure of expected) {
      before = { durationMs: nextDurationMs(times, before) };
      found.push(before.durationMs);
    }
    expect(found).toEqual(expected);
    expect(expected.map((_wait, at) => durationAfterMs(times, at + 1))).toEqual(expected);
  });

  it('stays the longest time after any number of failures', () => {
    expect(durationAfterMs({ firstMs: 1, longestMs: 60_000 }, 5_000)).toBe(60_000);
  });
});

describe('a closure that ends with a probe', () => {
  it.each([
    [9, 'closed'],
    [10, 'probed'],
    [14, 'probed'],
    [15, 'over'],
  ])('at %d ms it is %s', (nowMs, phase) => {
    expect(phaseOf({ untilMs: 10 }, 5, nowMs)).toBe(phase);
  });
});
