import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Allowance, RateWindow, limitOfRate, waitForAllowance } from '../../src/lib/allowance.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** A clock on which nothing waits: it notes until when it would. */
function stillClock() {
  let nowMs = 0;
  const waits: number[] = [];
  return {
    waits,
    pass: (ms: number) => void (nowMs += ms),
    monotonic: () => nowMs,
    sleep: (ms: number) => Promise.resolve(void waits.push(nowMs + ms)),
  };
}

describe('a limit on calls', () => {
  const { signal } = new AbortController();

  it('lets a burst go at once, then one at a time', async () => {
    const clock = stillClock();
    const limit = new Allowance(limitOfRate({ perSecond: 2, burst: 3 }));
    for (let call = 0; call < 5; call++) await waitForAllowance(limit, clock, signal);
    expect(clock.waits).toEqual([500, 1_000]);
    clock.pass(60_000);
    for (let call = 0; call < 3; call++) await waitForAllowance(limit, clock, signal);
    expect(clock.waits).toHaveLength(2);
  });

  it('uses up nothing on a call that was cancelled while it waited, or gave its use back', async () => {
    const clock = new FakeClock(0);
    const limit = new Allowance(limitOfRate({ perSecond: 1, burst: 1 }));
    const stop = new AbortController();
    await waitForAllowance(limit, clock, signal);
    const waiting = [1, 2, 3].map(() => waitForAllowance(limit, clock, stop.signal));
    stop.abort();
    await Promise.allSettled(waiting);
    const next = waitForAllowance(limit, clock, signal);
    expect(clock.nextDueAt()).toBe(1_000);
    limit.giveBack('');
    await Promise.all([next, clock.advance(1_000)]);
    await waitForAllowance(limit, clock, signal);
  });

  it('never lets more go in any stretch of time than burst and rate allow', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 60 }), async (gaps) => {
        const clock = stillClock();
        const limit = new Allowance(limitOfRate({ perSecond: 1, burst: 4 }));
        const gone: number[] = [];
        for (const gap of gaps) {
          clock.pass(gap);
          const waited = clock.waits.length;
          await waitForAllowance(limit, clock, signal);
          gone.push(clock.waits.length > waited ? (clock.waits.at(-1) ?? 0) : clock.monotonic());
        }
        for (const [from, start] of gone.entries()) {
          for (const [to, end] of gone.entries()) {
            if (to >= from) expect(to - from + 1).toBeLessThanOrEqual(4 + (end - start) / 1_000 + 1e-6);
          }
        }
      }),
      { seed: 3, numRuns: 100 },
    );
  });
});

const LIMIT = { burst: 3, refillMs: 1_000 };

it('an allowance lets a burst of calls pass and then one in each period, for each key', () => {
  let nowMs = 0;
  const allowance = new Allowance(LIMIT);
  for (let call = 0; call < 3; call++) allowance.take('a', nowMs);
  expect([allowance.left('a', nowMs), allowance.left('b', nowMs)]).toEqual([0, 3]);
  nowMs = 999;
  expect(allowance.left('a', nowMs)).toBe(0);
  nowMs = 1_000;
  expect(allowance.left('a', nowMs)).toBe(1);
  nowMs = 60_000;
  expect(allowance.left('a', nowMs)).toBe(3);
});

it('calls above the allowance, which it does not prevent, are paid back', () => {
  let nowMs = 0;
  const allowance = new Allowance(LIMIT);
  for (let call = 0; call < 5; call++) allowance.take('a', nowMs);
  nowMs = 2_000;
  expect(allowance.left('a', nowMs)).toBe(0);
  nowMs = 3_000;
  expect(allowance.left('a', nowMs)).toBe(1);
});

it('a window has at most so many starts in any stretch of its length, and does not save up', () => {
  const window = new RateWindow({ count: 2, withinMs: 60_000 });
  expect([window.lastMs, window.nextMs]).toEqual([undefined, Number.NEGATIVE_INFINITY]);
  for (const atMs of [0, 50_000]) window.note(atMs);
  expect([window.lastMs, window.nextMs]).toEqual([50_000, 60_000]);
  window.note(500_000);
  expect(window.nextMs).toBe(110_000);
  window.clear();
  expect(window.nextMs).toBe(Number.NEGATIVE_INFINITY);
});
