import { describeReason } from '../../../src/planning/state/held-groups.ts';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import { storedForm, withDefaults, type StoredState } from '../../../src/planning/state/stored-state.ts';
import { START_MS } from '../../support/builders.ts';
import { FULL_STATE } from '../../support/full-state.ts';
import { aBackoff, anAcceptedIncrease, aState } from '../../support/state.ts';

const G = nodeGroupId('g');

describe('a stored state', () => {
  it('has its earlier names, and is the same after it was read', () => {
    const stored = storedForm(FULL_STATE, START_MS - 1);
    const unfollowed = new Map(
      [...FULL_STATE.increases].map(([id, all]) => [id, all.map((each) => ({ ...each, followed: undefined, podsGoneSinceMs: undefined }))]),
    );
    expect(stored).toMatchObject({
      asked: new Map([[G, [{ atMs: START_MS - 60_000, nodes: 3 }]]]),
      held: new Map([[G, { kind: 'frozen', reason: 'its agent pool is in state Upgrading', sinceMs: expect.any(Number) }]]),
      marks: FULL_STATE.deletionTaints,
      increases: new Map([[G, { group: G, nodes: 3, requestedAtMs: START_MS - 60_000, expectedByMs: START_MS + 60_000 }]]),
      accepted: new Map([
        [
          G,
          (FULL_STATE.increases.get(G) ?? []).map(
            ({ by: _by, coming: _coming, isOver: _isOver, followed: _followed, podsGoneSinceMs: _gone, ...own }) => own,
          ),
        ],
      ]),
    });
    expect(stored).not.toHaveProperty('followed');
    expect(stored).not.toHaveProperty('podsGoneSinceMs');
    const heldGroups = new Map(
      [...FULL_STATE.heldGroups].map(([id, held]) => [id, { ...held, reason: { code: 'recorded', text: describeReason(held.reason) } }]),
    );
    expect(withDefaults(stored, START_MS)).toEqual({ ...FULL_STATE, increases: unfollowed, heldGroups });
    expect(Object.keys(withDefaults(stored, START_MS)).sort()).toEqual(Object.keys(aState()).sort());
  });

  it('without increases of its own is still without them', () => {
    expect(storedForm(aState(), START_MS)).not.toHaveProperty('accepted');
    expect(withDefaults(storedForm(aState(), START_MS), START_MS)).toEqual(aState());
    expect(withDefaults(storedForm(aState({ accepted: new Map() }), START_MS), START_MS).knowsAccepted).toBe(true);
  });

  it.each<[string, StoredState, Partial<LoopState>]>([
    ['nothing', {}, {}],
    [
      'a back-off without a kind',
      { backoffs: new Map([[G, { untilMs: START_MS + 60_000, durationMs: 60_000, lastFailureMs: START_MS, cause: 'AllocationFailed' }]]) },
      { backoffs: new Map([[G, aBackoff()]]) },
    ],
    [
      'an increase as of the first version, with pods that are found by class',
      { accepted: new Map([[G, [{ nodes: 1, acceptedAtMs: START_MS, pods: [{ class: 'c', count: 2 }] }]]]) },
      { increases: new Map([[G, [anAcceptedIncrease({ pods: [{ count: 2 }] })]]]), knowsAccepted: true },
    ],
    ['requests that were served', { requests: { served: true } }, { requests: { served: true, retries: new Map() } }],
  ])('of an earlier version with %s has defaults', (_, stored, expected) => {
    expect(withDefaults(stored, START_MS)).toEqual(aState(expected));
  });
});
