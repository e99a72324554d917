import { describe, expect, it } from 'vitest';
import { stallsOf } from '../../../src/cli/process/stalls.ts';

const MS = 1e6;

describe('the longest stall of the event loop', () => {
  it.each([
    { ticks: 'none', max: 0, seconds: 0 },
    { ticks: 'on time', max: 250 * MS, seconds: 0 },
    { ticks: 'one half a second late', max: 750 * MS, seconds: 0.5 },
  ])('$ticks: $seconds s', ({ max, seconds }) => {
    const stalls = stallsOf({ max, enable: () => true, disable: () => true, reset: () => undefined });
    expect(stalls.takeLongestSeconds()).toBe(seconds);
  });

  it('is counted from zero after each look', () => {
    const ticks = { max: 500 * MS, enable: () => true, disable: () => true, reset: () => void (ticks.max = 0) };
    const stalls = stallsOf(ticks);
    expect([stalls.takeLongestSeconds(), stalls.takeLongestSeconds()]).toEqual([0.25, 0]);
  });
});
