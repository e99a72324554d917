import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterClockShift } from '../../../src/planning/state/after-restart.ts';
import { FULL_STATE, timesIn } from '../../support/full-state.ts';

describe('a wall clock that is set', () => {
  it('moves every time of the state by as much, nested ones too, and nothing else', () => {
    fc.assert(
      fc.property(fc.integer({ min: -7_200_000, max: 7_200_000 }), (shiftMs) => {
        const moved = Math.abs(shiftMs) < 1_000 ? 0 : shiftMs;
        const after = afterClockShift(FULL_STATE, shiftMs);
        expect(timesIn(after)).toEqual(timesIn(FULL_STATE).map((atMs) => atMs + moved));
        expect(withoutTimes(after)).toEqual(withoutTimes(FULL_STATE));
        expect(afterClockShift(after, -moved)).toEqual(FULL_STATE);
      }),
    );
  });

  it('that is only kept in step moves nothing', () => expect(afterClockShift(FULL_STATE, -999)).toBe(FULL_STATE));
});

function withoutTimes(value: unknown): unknown {
  if (value instanceof Map) return new Map([...value].map(([key, entry]) => [key, withoutTimes(entry)]));
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withoutTimes(entry)]));
  return timesIn(value).length > 0 ? 'time' : value;
}
