import { describe, expect, it } from 'vitest';
import { CallAllowance } from '../../src/cache/call-allowance.ts';
import { FakeClock } from '../support/fake-clock.ts';

const SET = 'set';

describe('an allowance of calls', () => {
  it('has a burst, then one call in each refill time, for each key apart', async () => {
    const clock = new FakeClock(0);
    const calls = new CallAllowance(clock, { burst: 3, refillMs: 5_000 });
    for (let call = 0; call < 3; call++) calls.note(SET);
    expect([calls.left(SET), calls.left('other')]).toEqual([0, 3]);
    await clock.advance(4_999);
    expect(calls.left(SET)).toBe(0);
    await clock.advance(1);
    expect(calls.left(SET)).toBe(1);
    await clock.advance(60_000);
    expect(calls.left(SET)).toBe(3);
  });

  it('is never below zero; calls beyond it delay the next one', async () => {
    const clock = new FakeClock(0);
    const calls = new CallAllowance(clock, { burst: 1, refillMs: 1_000 });
    calls.note(SET);
    calls.note(SET);
    expect(calls.left(SET)).toBe(0);
    await clock.advance(1_000);
    expect(calls.left(SET)).toBe(0);
    await clock.advance(1_000);
    expect(calls.left(SET)).toBe(1);
  });
});
