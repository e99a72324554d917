import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { REMOVAL_CAUSES, type RemovalCause } from '../../../src/domain/plan.ts';
import type { RemovalBudget } from '../../../src/domain/policy.ts';
import { budgetedBeforeRestart } from '../../../src/planning/facts/removal-budgets.ts';
import { aNode, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { MINUTE, names, nodes, plan, pod, pool, removed, sinceMinutes, slots } from '../scale-down/world.ts';

const budget = (of: Partial<RemovalBudget>): RemovalBudget => ({ unit: 'nodes', amount: 1, per: 'cluster', causes: REMOVAL_CAUSES, ...of });
const started = (group: string, cause: RemovalCause | undefined, minutesAgo = 1) => ({
  group: nodeGroupId(group),
  cause,
  startedAtMs: START_MS - minutesAgo * MINUTE,
});
const broken = (name: string) => aNode({ name, cpu: '4', memory: '16Gi', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } });
const all = [...names(6), ...names(4, 'r')];
const world = {
  groups: [pool('p', 6), pool('r', 4)],
  nodes: nodes(...all),
  state: { unneededSince: sinceMinutes(30, all) },
};
const within = (budgets: readonly RemovalBudget[], more: object = {}) =>
  aPolicy({ scaleDown: { maxParallel: 20, maxParallelDrains: 20, budgets, ...more } });

describe('a budget of removals', () => {
  it.each([
    { name: 'a number for the cluster', budgets: [budget({ amount: 3 })], removes: { p: 3 } },
    { name: 'a number for each pool', budgets: [budget({ amount: 3, per: 'pool' })], removes: { p: 3, r: 3 } },
    { name: 'percent of the cluster', budgets: [budget({ unit: 'percent', amount: 20 })], removes: { p: 2 } },
    { name: 'percent of each pool, rounded up', budgets: [budget({ unit: 'percent', amount: 20, per: 'pool' })], removes: { p: 2, r: 1 } },
    { name: 'all of them hold', budgets: [budget({ amount: 5 }), budget({ amount: 2, per: 'pool' })], removes: { p: 2, r: 2 } },
    { name: 'none', budgets: [budget({ amount: 0 })], removes: {} },
    { name: 'no percent', budgets: [budget({ unit: 'percent', amount: 0 })], removes: {} },
    { name: 'another reason', budgets: [budget({ amount: 0, causes: ['underutilized', 'unready'] })], removes: { p: 6, r: 4 } },
    { name: 'a budget for everything', budgets: [budget({ unit: 'percent', amount: 100 })], removes: { p: 6, r: 4 } },
    {
      name: 'what was removed before, in the window',
      budgets: [budget({ amount: 4 })],
      before: [started('r', 'empty'), started('p', 'empty', 9)],
      removes: { p: 2 },
    },
    {
      name: 'what was removed before the window',
      budgets: [budget({ amount: 4 })],
      before: [started('r', 'empty', 10)],
      removes: { p: 4 },
    },
    {
      name: 'what was removed for another reason',
      budgets: [budget({ amount: 2, causes: ['empty'] })],
      before: [started('p', 'unready')],
      removes: { p: 2 },
    },
    {
      name: 'what was removed for an unknown reason',
      budgets: [budget({ amount: 2, causes: ['empty'] })],
      before: [started('p', undefined)],
      removes: { p: 1 },
    },
    {
      name: 'more than it allows, removed before',
      budgets: [budget({ amount: 1 })],
      before: [started('p', 'empty'), started('p', 'empty')],
      removes: {},
    },
  ])('$name', ({ budgets, before = [], removes }) => {
    const result = plan({ ...world, state: { ...world.state, budgetedRemovals: before }, policy: within(budgets) });
    const counts: Record<string, number> = {};
    for (const { group } of result.removals) counts[group] = (counts[group] ?? 0) + 1;
    expect(counts).toEqual(removes);
    const kept = result.kept.filter(({ reason }) => reason === 'RemovalBudgetSpent');
    expect(kept).toHaveLength(all.length - result.removals.length);
  });

  it('counts by reason: broken, empty and little used nodes', () => {
    const state = { unneededSince: sinceMinutes(30, names(6)) };
    const mixed = { groups: [pool('p', 6), pool('q', 9, { minSize: 9 })], pods: [pod('p-0', '100m'), pod('p-1', '100m')], state };
    const some = [...nodes('p-0', 'p-1', 'p-2', 'p-3'), broken('p-4'), broken('p-5'), ...slots(9)];
    const budgets = REMOVAL_CAUSES.map((cause) => budget({ causes: [cause] }));
    const result = plan({ ...mixed, nodes: some, policy: within(budgets) });
    expect(result.removals.map(({ cause }) => cause).toSorted()).toEqual(['empty', 'underutilized', 'unready']);
  });

  it.each([
    {
      budgets: [budget({ unit: 'percent', amount: 20, per: 'pool', causes: ['empty', 'unready'] })],
      says: 'a removal budget allows 2 nodes, 20 % of the 6 nodes of its node group, within 10 min (empty, unready); used: 2, needed: 1',
    },
    { budgets: [budget({ amount: 2 })], says: 'a removal budget allows 2 nodes of the cluster within 10 min; used: 2, needed: 1' },
  ])('says $says', ({ budgets, says }) => {
    const result = plan({ ...world, policy: within(budgets) });
    expect(result.kept.find(({ node }) => node === 'p-5')?.detail).toBe(says);
  });

  it('keeps an atomic group that is larger, and says so', () => {
    const whole = { groups: [pool('p', 3, { options: { zeroOrMax: true } })], nodes: nodes(...names(3)) };
    const result = plan({ ...whole, state: { unneededSince: sinceMinutes(30, names(3)) }, policy: within([budget({ amount: 2 })]) });
    expect([removed(result), result.kept[0]?.detail]).toEqual([
      [],
      'a removal budget allows 2 nodes of the cluster within 10 min; used: 0, needed: 3',
    ]);
  });

  it('is passed by no plan', () => {
    const budgetArb = fc.record({
      unit: fc.constantFrom('nodes' as const, 'percent' as const),
      amount: fc.nat(60),
      per: fc.constantFrom('cluster' as const, 'pool' as const),
      causes: fc.subarray([...REMOVAL_CAUSES], { minLength: 1 }),
    });
    const drawn = fc.record({
      budgets: fc.array(budgetArb, { minLength: 1, maxLength: 3 }),
      kinds: fc.array(fc.nat(2), { minLength: 10, maxLength: 10 }),
      before: fc.array(
        fc.record({ group: fc.constantFrom('p', 'r'), cause: fc.constantFrom(undefined, ...REMOVAL_CAUSES), minutesAgo: fc.nat(15) }),
      ),
    });
    fc.assert(
      fc.property(drawn, ({ budgets, kinds, before }) => {
        const some = all.map((name, index) => (kinds[index] === 0 ? broken(name) : aNode({ name, cpu: '4', memory: '16Gi' })));
        const pods = all.flatMap((name, index) => (kinds[index] === 1 ? [pod(name, '100m')] : []));
        const past = before.map(({ group, cause, minutesAgo }) => started(group, cause, minutesAgo));
        const groups = [...world.groups, pool('q', 20, { minSize: 20 })];
        const state = { ...world.state, budgetedRemovals: past };
        const { removals } = plan({ groups, nodes: [...some, ...slots(20)], pods, state, policy: within(budgets) });
        const sizes: Readonly<Record<string, number>> = { p: 6, r: 4, q: 20 };
        const counted = [...past.filter(({ startedAtMs }) => startedAtMs > START_MS - 10 * MINUTE), ...removals];
        for (const { unit, amount, per, causes } of budgets) {
          for (const scope of per === 'cluster' ? [['p', 'r', 'q']] : [['p'], ['r']]) {
            const nodesOf = scope.reduce((sum, id) => sum + (sizes[id] ?? 0), 0);
            const limit = unit === 'nodes' ? amount : Math.ceil((nodesOf * amount) / 100);
            const isCounted = ({ group, cause }: (typeof counted)[number]) =>
              scope.includes(group) && (cause === undefined || causes.includes(cause));
            if (removals.some(isCounted)) expect(counted.filter(isCounted).length).toBeLessThanOrEqual(limit);
          }
        }
      }),
      { seed: 20_261_128, numRuns: 100 },
    );
  });
});

it.each([
  { name: 'what was saved', saved: ['a', 'a'], tainted: [], known: 2, unknown: 0 },
  { name: 'tainted nodes that were not saved', saved: [], tainted: ['a', 'b'], known: 0, unknown: 2 },
  { name: 'tainted nodes beyond those saved of their pool', saved: ['a'], tainted: ['a', 'a', 'b'], known: 1, unknown: 2 },
])('a new process counts $name', ({ saved, tainted, known, unknown }) => {
  const result = budgetedBeforeRestart(
    saved.map((group) => started(group, 'empty')),
    tainted.map((group) => ({ group: nodeGroupId(group), atMs: START_MS })),
  );
  expect([result.filter(({ cause }) => cause === 'empty').length, result.filter(({ cause }) => cause === undefined).length]).toEqual([
    known,
    unknown,
  ]);
});
