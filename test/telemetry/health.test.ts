import { describe, expect, it } from 'vitest';
import { Health } from '../../src/telemetry/health.ts';

const MINUTE = 60_000;
const limits = { maxInactivityMs: 10 * MINUTE, maxFailingMs: 15 * MINUTE, maxStartupMs: 20 * MINUTE, maxFailuresInRow: 3 };

/** A daemon that has led from the first minute on. */
function leading(): Health {
  const health = new Health(limits);
  health.leading(MINUTE);
  return health;
}

describe('health', () => {
  it('waits for leadership in good health, and ready to take over', () => {
    const health = new Health(limits);
    expect(health.check(1_000 * MINUTE)).toEqual({ healthy: true, reason: 'waiting for leadership' });
    expect(health.ready).toBe(true);
  });

  it('gives the first loop the longest of the three times', () => {
    const health = leading();
    expect(health.ready).toBe(false);
    expect(health.check(21 * MINUTE)).toEqual({
      healthy: true,
      reason: 'no loop has completed since the start 1200 s ago; the limit is 1200 s',
    });
    expect(health.check(21 * MINUTE + 1).healthy).toBe(false);
    const hasty = new Health({ ...limits, maxStartupMs: MINUTE });
    hasty.leading(0);
    expect([hasty.check(15 * MINUTE).healthy, hasty.check(15 * MINUTE + 1).healthy]).toEqual([true, false]);
  });

  it('is over when no loop ends, and when none completes for longer', () => {
    const health = leading();
    health.loopCompleted(2 * MINUTE);
    expect(health.ready).toBe(true);
    expect(health.check(12 * MINUTE).healthy).toBe(true);
    expect(health.check(12 * MINUTE + 1)).toEqual({ healthy: false, reason: 'the last loop ended 600 s ago; the limit is 600 s' });
    health.loopFailed(12 * MINUTE);
    expect(health.check(17 * MINUTE).healthy).toBe(true);
    expect(health.check(17 * MINUTE + 1)).toEqual({ healthy: false, reason: 'the last loop completed 900 s ago; the limit is 900 s' });
    health.loopCompleted(18 * MINUTE);
    expect(health.check(18 * MINUTE).healthy).toBe(true);
  });

  it('is over when too many loops in a row fail, however quickly', () => {
    const health = leading();
    health.loopFailed(MINUTE);
    health.loopFailed(MINUTE);
    expect(health.check(MINUTE).healthy).toBe(true);
    health.loopFailed(MINUTE);
    expect(health.check(MINUTE)).toEqual({ healthy: false, reason: '3 loops in a row have failed; the limit is 3' });
    health.loopCompleted(MINUTE);
    health.loopFailed(MINUTE);
    expect(health.check(MINUTE).healthy).toBe(true);
  });
});
