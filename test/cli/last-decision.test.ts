/** What a daemon answers about its last decision. */
import { describe, expect, it } from 'vitest';
import { LastDecision } from '../../src/cli/last-decision.ts';
import { Turns } from '../../src/lib/slices.ts';
import { History } from '../../src/observers/history/history.ts';
import { planScaleUp } from '../../src/planning/scale-up/plan.ts';
import { nodes, observe, plan, pool } from '../planning/scale-down/world.ts';
import { inputFor } from '../planning/scale-up/world.ts';
import { aGroup, aPod, resourceNames, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { NOTHING_DECIDED } from '../../src/domain/ports/records.ts';
import { aState } from '../support/state.ts';

function decided(group = aGroup({ id: 'full', target: 0, maxSize: 0 })) {
  const input = inputFor({ groups: [group], pods: [aPod({ name: 'web', cpu: '1' })] });
  const turns = { count: 0, clockMs: 0 };
  const decisions = new LastDecision({
    journal: { record: () => undefined },
    names: resourceNames,
    history: new History({ startedAtMs: START_MS, policy: () => aPolicy() }),
    remainingWrites: () => ({ left: 11, of: 12, atMs: START_MS }),
    nodeWriters: () => Promise.reject(new Error('no answer')),
    currency: 'USD',
    turns: new Turns({ clock: { monotonic: () => (turns.clockMs += 1) }, sliceMs: 1, pause: async () => void (turns.count += 1) }),
  });
  const { observation, state: stateBefore, policy } = input;
  decisions.record({
    ...NOTHING_DECIDED,
    observation,
    stateBefore,
    scaleUp: [planScaleUp(input)],
    scaleDown: undefined,
    policy,
    excluded: [],
  });
  return { decisions, turns };
}

describe('the answer about a pending pod', () => {
  it('has the advice that was simulated, while other work had its turn', async () => {
    const { decisions, turns } = decided();
    const answer = await decisions.answer({ kind: 'pod', name: 'default/web' });
    expect(answer).toMatchObject({ verdict: 'blocked-by-max', advice: { text: 'raise the maximum of full from 0 to 1' } });
    expect(turns.count).toBeGreaterThan(1);
  });

  it('about a node that stays has what frees it, simulated while other work had its turn', async () => {
    const { decisions, turns } = decided();
    const world = { groups: [pool('q', 1, { minSize: 1 })], nodes: nodes('q-0') };
    const [observation, policy] = [observe(world), aPolicy()];
    decisions.record({ ...NOTHING_DECIDED, observation, stateBefore: aState(), scaleUp: [], scaleDown: plan(world), policy });
    const answer = await decisions.answer({ kind: 'node', name: 'q-0' });
    expect(answer).toMatchObject({ verdict: 'stays', advice: { text: 'lower the minimum of q from 1 to 0' } });
    expect(turns.count).toBeGreaterThan(1);
  });

  it('simulates nothing about another subject', async () => {
    const { decisions, turns } = decided();
    expect(await decisions.answer({ kind: 'pool', name: 'full' })).toMatchObject({
      kind: 'pool',
      currency: 'USD',
      writeTokens: { left: 11, of: 12, at: '2026-11-21T00:00:00.000Z' },
    });
    expect(await decisions.answer({ kind: 'pod', name: 'default/none' })).toBe('missing');
    expect(turns.count).toBe(0);
  });
});
