import { describe, expect, it } from 'vitest';
import { machineSpeed, Patience } from '../../lab/patience.ts';

/** Checks once a second, and returns after how many seconds the patience was over. */
function secondsUntilOver(limitMs: number, slowdownAt: (second: number) => number): number {
  let second = 0;
  const meter = { now: () => second * 1000, slowdown: () => slowdownAt(second) };
  const patience = new Patience(limitMs, meter);
  while (second < 1000 && !patience.isOver()) second++;
  return second;
}

describe('patience', () => {
  it.each([
    { machine: 'idle', slowdownAt: () => 1, lasts: 10 },
    { machine: 'three times slower', slowdownAt: () => 3, lasts: 30 },
    { machine: 'busy for the first 20 seconds', slowdownAt: (second: number) => (second <= 20 ? 4 : 1), lasts: 25 },
  ])('lasts $lasts s of a limit of 10 s on a machine that is $machine', ({ slowdownAt, lasts }) => {
    expect(secondsUntilOver(10_000, slowdownAt)).toBe(lasts);
  });

  it('measures a slowdown that is finite and at least 1', () => {
    const measured = machineSpeed.slowdown();
    expect(measured).toBeGreaterThanOrEqual(1);
    expect(measured).toBeLessThanOrEqual(20);
  });
});
