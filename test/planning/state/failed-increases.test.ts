import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { close, failIncrease, withAccepted } from '../../../src/planning/state/closures.ts';
import { isRefusal, refusalRow, refusedIncrease, requestedWaitMs } from '../../../src/planning/state/failed-increases.ts';
import { AutoscalerError, type ErrorKind } from '../../../src/lib/errors.ts';
import { aPolicy } from '../../support/policy.ts';
import { aState } from '../../support/state.ts';

const A = nodeGroupId('a');
const B = nodeGroupId('b');
const C = nodeGroupId('c');
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const policy = aPolicy();
const EMPTY = aState().backoffs;
const UNAVAILABLE = { kind: 'unavailable', effect: 'none' } as const;

const refuse = (backoffs: typeof EMPTY, groupId: typeof A, atMs: number, detail: ErrorKind = UNAVAILABLE, retryAfterMs?: number) => {
  const error = new AutoscalerError(detail, 'Azure says why.', retryAfterMs === undefined ? {} : { retryAfterMs });
  const row = refusalRow(detail);
  if (row === undefined) throw new Error('It is no refusal.');
  return close(aState({ backoffs }), refusedIncrease({ groupId, group: undefined, error, atMs }), row, policy).backoffs;
};
const secondsOf = (backoffs: typeof EMPTY, group: typeof A): number => (backoffs.get(group)?.untilMs ?? 0) / SECOND;

describe('a refused capacity write', () => {
  it.each<[string, ErrorKind, readonly number[]]>([
    ['a server error', UNAVAILABLE, [30, 60, 120, 240, 300, 300]],
    ['a 409 without a change', { kind: 'conflict' }, [30, 60, 120, 240, 300, 300]],
    ['a 404', { kind: 'not-found' }, [30, 60, 120, 240, 300, 300]],
    ['a missing permission', { kind: 'auth' }, [60, 120, 240, 300]],
    ['an invalid request', { kind: 'bug' }, [60, 120, 240, 300]],
    ['a 429 that names no time', { kind: 'throttled', retryAfterMs: undefined }, [30, 60, 120, 240, 300]],
    ['a 429 that names a time', { kind: 'throttled', retryAfterMs: 7 * SECOND }, [7, 7, 7]],
  ])('backs off its group after %s', (_name, detail, waits) => {
    let [backoffs, atMs] = [EMPTY, 0];
    for (const wait of waits) {
      backoffs = refuse(backoffs, A, atMs, detail);
      expect(secondsOf(backoffs, A) - atMs / SECOND).toBe(wait);
      atMs = backoffs.get(A)?.untilMs ?? 0;
    }
    expect(backoffs.get(A)).toMatchObject({ message: 'Azure says why.', kind: detail.kind });
  });

  it.each<[number, number]>([
    [45 * SECOND, 45],
    [10 * SECOND, 30],
    [24 * 60 * MINUTE, 3600],
  ])('is not repeated before its Retry-After of %i ms, at most an hour', (asked, wait) => {
    expect(secondsOf(refuse(EMPTY, A, 0, UNAVAILABLE, asked), A)).toBe(wait);
    expect(requestedWaitMs({ detail: UNAVAILABLE, retryAfterMs: asked })).toBe(Math.min(asked, 3_600_000));
  });

  it('of a quota backs off as long as configured, and never shorter than its Retry-After', () => {
    const quota = { kind: 'quota', quota: 'cores' } as const;
    expect(secondsOf(refuse(EMPTY, A, 0, quota), A)).toBe(300);
    expect(secondsOf(refuse(EMPTY, A, 0, quota, 9 * MINUTE), A)).toBe(540);
    // A short backoff before it does not shorten it.
    expect(refuse(refuse(EMPTY, A, 0), A, 40 * SECOND, quota).get(A)?.durationMs).toBe(5 * MINUTE);
  });

  it('makes groups that were refused alike take turns: one is asked at a time, and each gets its turn', () => {
    let backoffs = refuse(refuse(refuse(EMPTY, A, 0), B, 0), C, 0);
    const asked: [number, string][] = [];
    for (let atMs = SECOND; atMs <= 20 * MINUTE; atMs += SECOND) {
      const due = [A, B, C].find((group) => (backoffs.get(group)?.untilMs ?? 0) <= atMs);
      if (due === undefined) continue;
      asked.push([atMs / SECOND, due]);
      backoffs = refuse(backoffs, due, atMs);
    }
    expect(asked).toEqual([
      [30, 'a'],
      [90, 'b'],
      [210, 'a'],
      [450, 'b'],
      [750, 'c'],
      [1050, 'a'],
    ]);
  });

  it('of another kind, or of one size or quota, does not make a group wait for a turn', () => {
    const backoffs = refuse(refuse(EMPTY, A, 0, { kind: 'conflict' }), B, 0);
    expect([secondsOf(backoffs, A), secondsOf(backoffs, B)]).toEqual([30, 30]);
  });

  it('is forgotten once a write of the group is accepted, and groups refused alike keep only their own time', () => {
    const both = refuse(refuse(refuse(EMPTY, A, 0), B, 0), A, 30 * SECOND);
    expect([secondsOf(both, A), secondsOf(both, B)]).toEqual([150, 90]);
    const after = withAccepted(both, A);
    expect([after.has(A), secondsOf(after, B)]).toEqual([false, 30]);
    const failure = {
      groupId: A,
      group: undefined,
      detail: UNAVAILABLE,
      cause: 'timeout',
      message: 'Too late.',
      atMs: 0,
      correlationId: undefined,
      waitMs: 0,
    };
    const late = failIncrease(aState(), failure, policy).backoffs;
    expect(withAccepted(late, A)).toBe(late);
  });

  it.each<[ErrorKind, boolean]>([
    [{ kind: 'quota', quota: 'cores', counted: true }, false],
    [{ kind: 'unavailable', effect: 'unknown' }, false],
    [{ kind: 'cancelled' }, false],
    [{ kind: 'kube-api', status: 500 }, false],
    [{ kind: 'quota', quota: 'cores' }, true],
    [{ kind: 'config' }, false],
    [{ kind: 'conflict' }, true],
    [{ kind: 'not-found' }, true],
    [{ kind: 'auth' }, true],
    [{ kind: 'bug' }, true],
    [UNAVAILABLE, true],
  ])('%j: is a refusal: %s', (detail, expected) => {
    expect(isRefusal(new AutoscalerError(detail, 'x'))).toBe(expected);
  });
});
