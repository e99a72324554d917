import { describeBlock } from '../../../src/domain/group-blocks.ts';
import { describe, expect, it } from 'vitest';
import type { ArmCall } from '../../../src/azure/arm/call-list.ts';
import { LONGEST_HOLD_MS } from '../../../src/lib/closure.ts';
import { RateLimits } from '../../../src/azure/arm/rate-limits.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const HOUR = 3_600_000;
const LISTS = 'HighCostGetVMScaleSetSubscriptionMaximum';

function stage() {
  const clock = new FakeClock(START_MS);
  const limits = new RateLimits(clock, createMetrics().arm);
  const list = (resource: string): ArmCall => ({ operation: 'listInstances', resource });
  const throttle = (call: ArmCall, retryAfterMs: number): void =>
    limits.recordThrottled(call, new AutoscalerError({ kind: 'throttled', retryAfterMs, policy: LISTS }, 'Too many.'));
  /** The resources whose calls are sent now. */
  const sent = (...calls: readonly ArmCall[]): readonly string[] =>
    calls.filter((call) => limits.admit(call) === undefined).map(({ resource }) => resource);
  return { clock, limits, list, throttle, sent };
}

describe('a hold of an hour or more', () => {
  it('ends with exactly one call; the others wait for its answer', async () => {
    const { clock, limits, list, throttle, sent } = stage();
    const [a, b, c] = [list('a'), list('b'), list('c')];
    throttle(a, LONGEST_HOLD_MS);
    await clock.advance(HOUR - 1);
    expect(sent(a, b, c)).toEqual([]);
    await clock.advance(1);
    expect(sent(a, b, c)).toEqual(['a']);
    expect(describeBlock(limits.heldReason(b))).toContain('Too many.');
    // Azure still refuses: another hour, and one more call.
    throttle(a, LONGEST_HOLD_MS);
    limits.endCall(a);
    await clock.advance(HOUR - 1);
    expect(sent(a, b, c)).toEqual([]);
    await clock.advance(1);
    expect(sent(b, a, c)).toEqual(['b']);
    limits.recordAnswer(b);
    limits.endCall(b);
    expect(sent(a, b, c)).toEqual(['a', 'b', 'c']);
  });

  it('is probed again at once if the probe got no answer, and only its own answer ends it', async () => {
    const { clock, limits, list, throttle, sent } = stage();
    const [a, b, early] = [list('a'), list('b'), list('early')];
    throttle(a, LONGEST_HOLD_MS);
    await clock.advance(HOUR);
    expect(sent(a)).toEqual(['a']);
    // The answer to a call that was sent before the hold.
    limits.recordAnswer(early);
    expect(sent(b)).toEqual([]);
    limits.endCall(a);
    expect(sent(b, a)).toEqual(['b']);
  });

  it('a shorter one ends for all calls at once', async () => {
    const { clock, list, throttle, sent } = stage();
    throttle(list('a'), HOUR - 1);
    await clock.advance(HOUR - 1);
    expect(sent(list('a'), list('b'))).toEqual(['a', 'b']);
  });

  it('of a read after a server error is one, too', async () => {
    const { clock, limits, list, sent } = stage();
    const [first, second] = [list('a'), list('a')];
    limits.recordUnavailable(
      first,
      new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Down.', { retryAfterMs: LONGEST_HOLD_MS }),
    );
    await clock.advance(HOUR);
    expect(sent(first, second)).toEqual(['a']);
    limits.recordAnswer(first);
    expect(sent(second)).toEqual(['a']);
  });
});

describe('a hold that an operator releases', () => {
  it('lets one call through at once, whatever time is left', async () => {
    const { clock, limits, list, throttle, sent } = stage();
    const [a, b] = [list('a'), list('b')];
    throttle(a, 30 * 60_000);
    await clock.advance(1_000);
    limits.releaseHolds();
    expect(sent(a, b)).toEqual(['a']);
    throttle(a, 30 * 60_000);
    limits.endCall(a);
    expect(sent(a, b)).toEqual([]);
    limits.releaseHolds();
    expect(sent(b)).toEqual(['b']);
    limits.recordAnswer(b);
    expect(sent(a)).toEqual(['a']);
  });
});
