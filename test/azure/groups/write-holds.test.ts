import { describe, expect, it } from 'vitest';
import { WriteBackoffs } from '../../../src/azure/groups/own-writes.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { START_MS } from '../../support/builders.ts';

const MINUTE = 60_000;
const forbidden = new AutoscalerError({ kind: 'auth' }, 'No role.');

describe('a group whose write was refused', () => {
  it('rests one minute, then two, four, and five at most, with the same words until its rest ends', () => {
    const holds = new WriteBackoffs();
    const rests: number[] = [];
    let nowMs = START_MS;
    for (let round = 0; round < 6; round++) {
      const reason = holds.recordOutcome('g', forbidden, nowMs);
      expect(reason).toMatch(/^Azure refused the last write, tried again after 20\S+Z: No role\.$/);
      const begunMs = nowMs;
      while (holds.reasonFor('g', nowMs) !== undefined) {
        expect(holds.reasonFor('g', nowMs)).toBe(reason);
        nowMs += MINUTE / 2;
      }
      rests.push((nowMs - begunMs) / MINUTE);
    }
    expect(rests).toEqual([1, 2, 4, 5, 5, 5]);
    expect(holds.reasonFor('other', START_MS)).toBeUndefined();
  });

  it('under a lock it rests ten minutes, then longer, and an hour at most', () => {
    const holds = new WriteBackoffs();
    const locked = new AutoscalerError({ kind: 'quota', quota: 'x', local: true }, 'It is locked.', { code: 'ScopeLocked' });
    let nowMs = START_MS;
    const rests = Array.from({ length: 5 }, () => {
      const begunMs = nowMs;
      expect(holds.recordOutcome('g', locked, nowMs)).toContain('It is locked.');
      while (holds.reasonFor('g', nowMs) !== undefined) nowMs += MINUTE;
      return (nowMs - begunMs) / MINUTE;
    });
    expect(rests).toEqual([10, 20, 40, 60, 60]);
  });

  it('does not rest for longer because the clock is set back', () => {
    const holds = new WriteBackoffs();
    holds.recordOutcome('g', forbidden, START_MS);
    expect(holds.reasonFor('g', START_MS + 1)).toBeDefined();
    expect(holds.reasonFor('g', START_MS - 60 * MINUTE)).toBeUndefined();
  });

  it('is forgiven by a write that Azure takes, and by an operator', () => {
    const holds = new WriteBackoffs();
    holds.recordOutcome('g', forbidden, 0);
    holds.recordOutcome('g', undefined, 1);
    expect(holds.reasonFor('g', 2)).toBeUndefined();
    holds.recordOutcome('g', forbidden, 0);
    holds.recordOutcome('h', forbidden, 0);
    holds.forget('g');
    expect([holds.reasonFor('g', 1), holds.reasonFor('h', 1)]).toEqual([undefined, expect.any(String)]);
    holds.forget(undefined);
    expect(holds.reasonFor('h', 1)).toBeUndefined();
  });

  it.each([
    ['conflict', { kind: 'conflict' }, false],
    ['throttling', { kind: 'throttled', retryAfterMs: 1_000 }, false],
    ['a stockout', { kind: 'out-of-capacity', scope: {} }, false],
    ['a quota', { kind: 'quota', quota: 'cores' }, false],
    ['a server error', { kind: 'unavailable', effect: 'unknown' }, false],
    ['a cancelled write', { kind: 'cancelled' }, false],
    ['a missing role', { kind: 'auth' }, true],
    ['a request that Azure does not accept', { kind: 'bug' }, true],
  ] as const)('%s: rests %#', (_name, detail, rests) => {
    const holds = new WriteBackoffs();
    holds.recordOutcome('g', new AutoscalerError(detail, 'x'), 0);
    expect(holds.reasonFor('g', 1) !== undefined).toBe(rests);
  });
});
