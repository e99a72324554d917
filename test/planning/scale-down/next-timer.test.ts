import { describe, expect, it } from 'vitest';
import type { UnremovableNode } from '../../../src/domain/plan.ts';
import { nextRemovalTimerMs } from '../../../src/planning/scale-down/next-timer.ts';
import { emptyLoopState } from '../../../src/planning/state/loop-state.ts';
import { aPolicy } from '../../support/policy.ts';

const NOW = 10_000_000;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const N = 'n';
const kept = (recheckAtMs?: number): UnremovableNode => ({
  node: N,
  reason: 'NotUnneededLongEnough',
  ...(recheckAtMs === undefined ? {} : { recheckAtMs }),
});

describe('the next timer of a removal', () => {
  const rules = aPolicy({ scaleDown: { delayAfterAddMs: 10 * MINUTE, delayAfterFailureMs: 3 * MINUTE, delayAfterDeleteMs: 0 } }).scaleDown;
  const state = emptyLoopState(NOW);
  const timer = (
    plan: { readonly kept?: readonly UnremovableNode[]; readonly inhibited?: string; readonly unneeded?: number },
    change = {},
  ) =>
    nextRemovalTimerMs({
      plan: { kept: plan.kept ?? [], inhibited: plan.inhibited, unneeded: plan.unneeded === 0 ? new Map() : new Map([[N, NOW]]) },
      state: { ...state, ...change },
      rules,
      nowMs: NOW,
    });

  it('is the earliest end of a time that still runs, one millisecond later', () => {
    expect(timer({ kept: [kept(NOW + 7 * SECOND), kept(), kept(NOW + 3 * SECOND), kept(NOW - 1)] })).toBe(NOW + 3 * SECOND + 1);
    // At its last millisecond a timer has not ended.
    expect(timer({ kept: [kept(NOW)] })).toBe(NOW + 1);
    expect(timer({ kept: [kept(), kept(NOW - 1)] })).toBeUndefined();
  });

  it('is the end of the longest cooldown while removals are inhibited, since nothing is removed before', () => {
    const cooling = { inhibited: 'cooling down', kept: [kept(NOW + SECOND)] };
    expect(timer(cooling, { lastScaleUpMs: NOW - 9 * MINUTE, lastScaleDownFailureMs: NOW - MINUTE })).toBe(NOW + 2 * MINUTE + 1);
    expect(timer(cooling, { lastScaleUpMs: NOW - 7 * MINUTE, lastScaleDownFailureMs: NOW - MINUTE })).toBe(NOW + 3 * MINUTE + 1);
    expect(timer({ ...cooling, unneeded: 0 }, { lastScaleUpMs: NOW })).toBeUndefined();
    expect(timer({ inhibited: 'nodes are being added in this loop' })).toBeUndefined();
  });
});
