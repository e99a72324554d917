import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenBucket } from '../../../src/azure/arm/rate-limits.ts';
import { FakeClock } from '../../support/fake-clock.ts';

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
    const limit = new TokenBucket(clock, { perSecond: 2, burst: 3 });
    for (let call = 0; call < 5; call++) await limit.waitForToken(signal);
    expect(clock.waits).toEqual([500, 1_000]);
    clock.pass(60_000);
    for (let call = 0; call < 3; call++) await limit.waitForToken(signal);
    expect(clock.waits).toHaveLength(2);
  });

  it('spends no token on a call that was cancelled while it waited, or returned its token', async () => {
    const clock = new FakeClock(0);
    const limit = new TokenBucket(clock, { perSecond: 1, burst: 1 });
    const stop = new AbortController();
    await limit.waitForToken(signal);
    const waiting = [1, 2, 3].map(() => limit.waitForToken(stop.signal));
    stop.abort();
    await Promise.allSettled(waiting);
    const next = limit.waitForToken(signal);
    expect(clock.nextDueAt()).toBe(1_000);
    limit.returnToken();
    await Promise.all([next, clock.advance(1_000)]);
    await limit.waitForToken(signal);
  });

  it('never lets more go in any stretch of time than burst and rate allow', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 60 }), async (gaps) => {
        const clock = stillClock();
        const limit = new TokenBucket(clock, { perSecond: 1, burst: 4 });
        const gone: number[] = [];
        for (const gap of gaps) {
          clock.pass(gap);
          const waited = clock.waits.length;
          await limit.waitForToken(signal);
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
