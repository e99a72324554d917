import { describe, expect, it } from 'vitest';
import { explainNodes, totalsByBlocker } from '../../../src/planning/explain/unremovable-nodes.ts';
import { aBudget, aNode, aPod, START_MS } from '../../support/builders.ts';
import { MINUTE, observe, plan, pool, sinceMinutes, type World } from '../scale-down/world.ts';
import { NO_PRICES } from '../../../src/domain/policy.ts';

/** p-0 goes; p-1 waits for its time; p-2, p-3 carry pods that block; p-4 is full; q-0 keeps the minimum; x is nobody's. */
const WORLD: World = {
  groups: [pool('p', 5, { vmSize: 'Standard_D4s_v5' }), pool('q', 1, { minSize: 1, vmSize: 'Standard_B2s' })],
  nodes: [...['p-0', 'p-1', 'p-2', 'p-3', 'p-4'].map((name) => aNode({ name })), aNode({ name: 'q-0', cpu: '2' }), aNode({ name: 'x' })],
  pods: [
    aPod({ name: 'pet', nodeName: 'p-2', controller: undefined, cpu: '1' }),
    aPod({ name: 'guarded', nodeName: 'p-3', cpu: '1', shape: { labels: { app: 'db' } } }),
    aPod({ name: 'big', nodeName: 'p-4', cpu: '3' }),
  ],
  budgets: [
    aBudget({
      name: 'db',
      selector: { requirements: [{ key: 'app', operator: 'In', values: ['db'] }] },
      disruptionsAllowed: 0,
      expectedPods: 1,
      currentHealthy: 1,
      desiredHealthy: 1,
    }),
  ],
  state: { unneededSince: new Map([...sinceMinutes(30, ['p-0']), ['p-1', START_MS - MINUTE]]) },
};

describe('explaining a plan', () => {
  it('says of every node why it stays or goes, which pod or budget blocks, since when and when again', () => {
    const explained = explainNodes(plan(WORLD), observe(WORLD));
    expect(Object.fromEntries(explained.map(({ node, sentence }) => [node, sentence]))).toEqual({
      'p-0': 'to be removed: empty, unneeded for 30 min',
      'p-1': 'unremovable: NotUnneededLongEnough, utilization 0 %, unneeded for 60 s, next check in 9 min',
      'p-2': 'unremovable: BlockedByPod, pod default/pet: NotReplicated (no controller), utilization 25 %, next check in 5 min',
      'p-3': expect.stringMatching(/^unremovable: BlockedByPod, pod default\/guarded: NotEnoughPdb \(default\/db: .*\), utilization 25 %/),
      'p-4': 'unremovable: NotUnderutilized, utilization 75 %, above the threshold of 50 %',
      'q-0': expect.stringMatching(/^unremovable: NodeGroupMinSizeReached.*its node group is at its minimum size of \d/),
      x: 'unremovable: NotAutoscaled, it belongs to no managed node group',
    });
    expect(explained.find(({ node }) => node === 'p-1')).toMatchObject({
      group: 'p',
      verdict: 'stays',
      reason: 'NotUnneededLongEnough',
      unneededSinceMs: START_MS - MINUTE,
      recheckAtMs: START_MS + 9 * MINUTE,
    });
  });

  it('adds up what each blocker holds back, in cores, GiB and money, for our own nodes', () => {
    const totals = totalsByBlocker(plan(WORLD), observe(WORLD), { ...NO_PRICES, prices: { standard_d4s_v5: 0.25 } });
    const one = { nodes: 1, cores: 4, memoryGib: 16, perHour: 0.25 };
    expect(totals).toEqual([
      { reason: 'BlockedByPod', blockedBy: 'NotEnoughPdb', ...one, wastedPerHour: 0.25 * 0.75, examples: ['p-3'] },
      { reason: 'BlockedByPod', blockedBy: 'NotReplicated', ...one, wastedPerHour: 0.25 * 0.75, examples: ['p-2'] },
      { reason: 'NotUnderutilized', blockedBy: undefined, ...one, wastedPerHour: 0.25 * 0.25, examples: ['p-4'] },
      { reason: 'NotUnneededLongEnough', blockedBy: undefined, ...one, wastedPerHour: 0.25, examples: ['p-1'] },
      {
        reason: 'NodeGroupMinSizeReached',
        blockedBy: undefined,
        nodes: 1,
        cores: 2,
        memoryGib: 16,
        perHour: undefined,
        wastedPerHour: undefined,
        examples: ['q-0'],
      },
    ]);
  });

  it('a node that could go while nothing may is counted as inhibited, with the cause', () => {
    const world = { ...WORLD, scaleUpPlanned: true };
    const result = plan(world);
    const sentences = new Map(explainNodes(result, observe(world)).map(({ node, sentence }) => [node, sentence]));
    expect(sentences.get('p-0')).toBe('not removed: nodes are being added in this loop');
    expect(totalsByBlocker(result, observe(world))[0]).toMatchObject({ reason: 'Inhibited', nodes: 2, cores: 8, perHour: undefined });
  });
});
