import { describe, expect, it } from 'vitest';
import { AutoscalerError, type ErrorKind } from '../../../../src/lib/errors.ts';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import type { AnsweredRecord, IncreaseRecord } from '../../../../src/domain/loop-report.ts';
import type { LoopState } from '../../../../src/domain/loop-state.ts';
import type { AnsweredIncrease } from '../../../../src/domain/outcome.ts';
import { followedSince } from '../../../../src/planning/state/increases/follow-increases.ts';
import { inFlight } from '../../../../src/planning/state/increases/increase-records.ts';
import { reduceAnswers, reduceIncrease } from '../../../../src/planning/state/loop-state.ts';
import { aCluster, aGroup, anObservation, aPod, START_MS } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { aBackoff, aState } from '../../../support/state.ts';

const MINUTE = 60_000;
const G = nodeGroupId('g');
const policy = aPolicy();
const ANSWERED_MS = START_MS + 8_000;

/** An increase from 1 to 3 that the seventh loop sent. */
const SENT: IncreaseRecord = {
  increase: { group: G, from: 1, to: 3, version: '"1"', pods: [aPod({ name: 'web', cpu: '1' })], cause: 'pods' },
  outcome: { kind: 'sent', group: G, target: 3 },
  atMs: START_MS + 1_000,
};
/** Of a group that had grown half an hour before, and had not been refused since. */
const BEFORE = aState({
  targets: new Map([[G, 1]]),
  groupTimes: new Map([[G, { scaleUpMs: START_MS - 30 * MINUTE, nodeCameMs: START_MS - 30 * MINUTE }]]),
  lastScaleUpMs: START_MS - 30 * MINUTE,
  knowsAccepted: true,
});

const sent = (before: LoopState = BEFORE): LoopState =>
  reduceIncrease(before, { ...SENT, group: undefined, followed: followedSince(SENT, 7) }, START_MS, policy);

function answered(outcome: AnsweredIncrease, state: LoopState = sent(), change: Partial<AnsweredRecord> = {}): LoopState {
  const record = { ...SENT, outcome, atMs: ANSWERED_MS, sentAtMs: SENT.atMs, loopId: 7, startedAtMs: START_MS, ...change };
  return reduceAnswers(state, [record], anObservation([aGroup({ id: 'g', target: 1 })], aCluster(), { nowMs: ANSWERED_MS }), policy);
}

const accepted = { kind: 'accepted', group: G, target: 3 } as const;
const conflict = { kind: 'conflict', group: G, observed: 1 } as const;
const failed = (detail: ErrorKind): AnsweredIncrease => ({ kind: 'failed', group: G, error: new AutoscalerError(detail, 'no') });

describe('an increase that is sent', () => {
  it('counts as one that is accepted: its nodes, its pods and its time are known at once', () => {
    const now = sent();
    expect(inFlight(now, G)?.nodes).toBe(2);
    expect([now.targets.get(G), now.lastScaleUpMs, now.groupTimes.get(G)?.scaleUpMs]).toEqual([3, START_MS, START_MS]);
    expect(now.increases.get(G)?.[0]?.pods).toHaveLength(1);
  });

  it('ends no backoff before it is accepted', () => {
    const refused = { ...BEFORE, backoffs: new Map([[G, aBackoff({ refused: true })]]) };
    expect(sent(refused).backoffs.has(G)).toBe(true);
    expect(answered(accepted, sent(refused)).backoffs.has(G)).toBe(false);
    expect(answered(conflict, sent(refused)).backoffs.has(G)).toBe(true);
  });
});

describe('the late answer to an increase', () => {
  it('accepted: nothing else changes', () => expect(answered(accepted)).toEqual(sent()));

  it.each<[string, AnsweredIncrease]>([
    ['a conflict', conflict],
    ['a refusal of our own checks', { kind: 'refused', group: G, reason: 'busy', busy: true }],
    ['a write that was ended', failed({ kind: 'cancelled' })],
  ])('%s: the state is as if nothing had been sent', (_name, outcome) => {
    expect(answered(outcome)).toEqual({ ...BEFORE, increases: new Map() });
  });

  it.each<[string, ErrorKind, number]>([
    ['no stock', { kind: 'out-of-capacity', scope: {} }, 5 * MINUTE],
    ['an invalid request', { kind: 'bug' }, MINUTE],
    ['a server error', { kind: 'unavailable', effect: 'none' }, 30_000],
  ])('%s: the increase is taken back, and the group backs off as after an answer in time', (_name, detail, durationMs) => {
    const now = answered(failed(detail));
    expect([inFlight(now, G), now.targets.get(G), now.lastScaleUpMs]).toEqual([undefined, 1, START_MS - 30 * MINUTE]);
    expect(now.backoffs.get(G)).toMatchObject({ durationMs, untilMs: ANSWERED_MS + durationMs });
  });

  it('takes back neither another increase of the group nor a later time', () => {
    const other = { ...SENT, outcome: accepted, atMs: START_MS + 5_000 };
    const later = reduceIncrease(sent(), { ...other, group: undefined, followed: followedSince(other, 8) }, START_MS + 4_000, policy);
    const now = answered(conflict, later);
    expect(now.increases.get(G)?.map(({ followed }) => followed?.id)).toEqual([followedSince(other, 8)?.id]);
    expect(now.lastScaleUpMs).toBe(START_MS + 4_000);
  });
});
