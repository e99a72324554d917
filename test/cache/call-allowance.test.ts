import { expect, it } from 'vitest';
import { CallAllowance } from '../../src/cache/call-allowance.ts';

const LIMIT = { burst: 3, refillMs: 1_000 };

it('an allowance lets a burst of calls pass and then one in each period, for each key', () => {
  let nowMs = 0;
  const allowance = new CallAllowance({ monotonic: () => nowMs }, LIMIT);
  for (let call = 0; call < 3; call++) allowance.note('a');
  expect([allowance.left('a'), allowance.left('b')]).toEqual([0, 3]);
  nowMs = 999;
  expect(allowance.left('a')).toBe(0);
  nowMs = 1_000;
  expect(allowance.left('a')).toBe(1);
  nowMs = 60_000;
  expect(allowance.left('a')).toBe(3);
});

it('calls above the allowance, which it does not prevent, are paid back', () => {
  let nowMs = 0;
  const allowance = new CallAllowance({ monotonic: () => nowMs }, LIMIT);
  for (let call = 0; call < 5; call++) allowance.note('a');
  nowMs = 2_000;
  expect(allowance.left('a')).toBe(0);
  nowMs = 3_000;
  expect(allowance.left('a')).toBe(1);
});
