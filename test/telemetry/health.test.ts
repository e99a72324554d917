import { describe, expect, it } from 'vitest';
import { Health } from '../../src/telemetry/health.ts';

describe('health', () => {
  it('waits for leadership in good health, and ready to take over', () => {
    const health = new Health({ maxInactivityMs: 1000 });
    expect(health.check(1_000_000)).toEqual({ healthy: true, reason: 'waiting for leadership' });
    expect(health.ready).toBe(true);
  });

  it('counts from leadership until the first loop, then from each loop', () => {
    const health = new Health({ maxInactivityMs: 1000 });
    health.leading(5000);
    expect(health.ready).toBe(false);
    expect(health.check(6000).healthy).toBe(true);
    expect(health.check(6001)).toMatchObject({ healthy: false, reason: expect.stringContaining('no loop has completed') as string });
    health.loopCompleted(6500);
    expect(health.ready).toBe(true);
    expect(health.check(7500).healthy).toBe(true);
    expect(health.check(7501)).toMatchObject({ healthy: false, reason: expect.stringContaining('limit is 1 s') as string });
  });
});
