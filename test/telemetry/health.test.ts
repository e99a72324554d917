import { describe, expect, it } from 'vitest';
import { Health } from '../../src/telemetry/health.ts';

describe('health', () => {
  it('waits for leadership in good health, and ready to take over', () => {
    const health = new Health({ maxInactivityMs: 1000, maxFailuresInRow: 3 });
    expect(health.check(1_000_000)).toEqual({ healthy: true, reason: 'waiting for leadership' });
    expect(health.ready).toBe(true);
  });

  it('counts from leadership until the first loop, then from each loop', () => {
    const health = new Health({ maxInactivityMs: 1000, maxFailuresInRow: 3 });
    health.leading(5000);
    expect(health.ready).toBe(false);
    expect(health.check(6000).healthy).toBe(true);
    expect(health.check(6001)).toMatchObject({ healthy: false, reason: expect.stringContaining('no loop has completed') as string });
    health.loopCompleted(6500);
    expect(health.ready).toBe(true);
    expect(health.check(7500).healthy).toBe(true);
    expect(health.check(7501)).toMatchObject({ healthy: false, reason: expect.stringContaining('limit is 1 s') as string });
  });

  it('is over when too many loops in a row fail, however quickly', () => {
    const health = new Health({ maxInactivityMs: 1000, maxFailuresInRow: 3 });
    health.leading(0);
    health.loopFailed();
    health.loopFailed();
    expect(health.check(10).healthy).toBe(true);
    health.loopFailed();
    expect(health.check(10)).toEqual({ healthy: false, reason: '3 loops in a row have failed; the limit is 3' });
    health.loopCompleted(20);
    health.loopFailed();
    expect(health.check(30).healthy).toBe(true);
  });
});
