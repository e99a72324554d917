import { describeBlock } from '../../../src/domain/group-blocks.ts';
import { describe, expect, it } from 'vitest';
import { WriteBackoffs } from '../../../src/azure/groups/own-writes.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { START_MS } from '../../support/builders.ts';

const MINUTE = 60_000;
const forbidden = new AutoscalerError({ kind: 'auth' }, 'No role.');

describe('a group whose write was refused', () => {
  it('backs off for 1, 2, 4 and at most 5 minutes, with the same reason until the backoff ends', () => {
    const backoffs = new WriteBackoffs();
    const minutes: number[] = [];
    let nowMs = START_MS;
    for (let round = 0; round < 6; round++) {
      const reason = backoffs.recordOutcome('g', forbidden, nowMs);
      expect(describeBlock(reason)).toMatch(/^Azure refused the last write; next try after 20\S+Z: No role\.$/);
      const begunMs = nowMs;
      while (backoffs.reasonFor('g', nowMs) !== undefined) {
        expect(backoffs.reasonFor('g', nowMs)).toBe(reason);
        nowMs += MINUTE / 2;
      }
      minutes.push((nowMs - begunMs) / MINUTE);
    }
    expect(minutes).toEqual([1, 2, 4, 5, 5, 5]);
    expect(backoffs.reasonFor('other', START_MS)).toBeUndefined();
  });

  it('backs off under a lock for 10 minutes, then longer, and at most an hour', () => {
    const backoffs = new WriteBackoffs();
    const locked = new AutoscalerError({ kind: 'quota', quota: 'x', local: true }, 'It is locked.', { code: 'ScopeLocked' });
    let nowMs = START_MS;
    const minutes = Array.from({ length: 5 }, () => {
      const begunMs = nowMs;
      expect(describeBlock(backoffs.recordOutcome('g', locked, nowMs))).toContain('It is locked.');
      while (backoffs.reasonFor('g', nowMs) !== undefined) nowMs += MINUTE;
      return (nowMs - begunMs) / MINUTE;
    });
    expect(minutes).toEqual([10, 20, 40, 60, 60]);
  });

  it('does not back off for longer because the clock is set back', () => {
    const backoffs = new WriteBackoffs();
    backoffs.recordOutcome('g', forbidden, START_MS);
    expect(backoffs.reasonFor('g', START_MS + 1)).toBeDefined();
    expect(backoffs.reasonFor('g', START_MS - 60 * MINUTE)).toBeUndefined();
  });

  it('ends its backoff after an accepted write, or by an operator', () => {
    const backoffs = new WriteBackoffs();
    backoffs.recordOutcome('g', forbidden, 0);
    backoffs.recordOutcome('g', undefined, 1);
    expect(backoffs.reasonFor('g', 2)).toBeUndefined();
    backoffs.recordOutcome('g', forbidden, 0);
    backoffs.recordOutcome('h', forbidden, 0);
    backoffs.forget('g');
    expect([backoffs.reasonFor('g', 1), backoffs.reasonFor('h', 1)]).toEqual([
      undefined,
      expect.objectContaining({ code: 'write-refused' }),
    ]);
    backoffs.forget(undefined);
    expect(backoffs.reasonFor('h', 1)).toBeUndefined();
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
  ] as const)('after %s: backs off %#', (_name, detail, backsOff) => {
    const backoffs = new WriteBackoffs();
    backoffs.recordOutcome('g', new AutoscalerError(detail, 'x'), 0);
    expect(backoffs.reasonFor('g', 1) !== undefined).toBe(backsOff);
  });
});
