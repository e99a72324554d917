import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { aBudget, aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { nodes, names, closed, slots, removed, pod, keptReasons, MINUTE, plan, pool, sinceMinutes, idle } from './world.ts';

describe('budgets', () => {
  it('12 empty nodes, parallelism 10: 10', () => {
    const result = plan(idle([pool('p', 12)]));
    expect(result.removals).toHaveLength(10);
    expect(Object.values(keptReasons(result))).toEqual(['RemovalBudgetSpent', 'RemovalBudgetSpent']);
  });

  it('8 empty and 5 to drain, total 10, drains 5: 8 empty and 2 drains', () => {
    const all = names(13);
    const pods = all.slice(8).map((name) => pod(name, '500m'));
    const result = plan({
      groups: [pool('p', 13), pool('q', 1, { minSize: 1 })],
      nodes: [...nodes(...all), ...nodes('q-0')],
      pods,
      state: { unneededSince: sinceMinutes(30, all) },
      policy: aPolicy({ scaleDown: { maxParallelDrains: 5 } }),
    });
    expect(result.removals.map((removal) => removal.cause)).toEqual([...Array<string>(8).fill('empty'), 'underutilized', 'underutilized']);
  });

  it('target 5, minimum 3, one removal under way: one more', () => {
    const deleting = new Map([['p-0', { group: nodeGroupId('p'), instance: keyOf('p-0'), sinceMs: START_MS, sentAtMs: undefined }]]);
    const result = plan(idle([pool('p', 5, { minSize: 3 })], 30, { deleting }));
    expect(removed(result)).toEqual(['p-1']);
    expect(keptReasons(result)).toMatchObject({ 'p-0': 'CurrentlyBeingDeleted', 'p-2': 'NodeGroupMinSizeReached' });
  });

  it('once Azure has accepted a deletion the target no longer holds it', () => {
    const all = names(5);
    const group = pool('p', 5, { minSize: 3, target: { known: true, value: 4, version: '"2"', confirmed: true, observedAtMs: START_MS } });
    const instances = (group.instances ?? []).map((instance) =>
      instance.key === keyOf('p-0') ? { ...instance, state: 'deleting' as const } : instance,
    );
    const deleting = new Map([['p-0', { group: nodeGroupId('p'), instance: keyOf('p-0'), sinceMs: START_MS, sentAtMs: undefined }]]);
    const result = plan({
      groups: [{ ...group, instances }],
      nodes: nodes(...all),
      state: { unneededSince: sinceMinutes(30, all), deleting },
    });
    expect(removed(result)).toEqual(['p-1']);
  });

  it('removes nothing from a group whose size is not confirmed, and keeps its timers', () => {
    const target = { known: true, value: 2, version: '"1"', confirmed: false, observedAtMs: START_MS } as const;
    const result = plan(idle([pool('p', 2, { target })]));
    expect(keptReasons(result)).toEqual({ 'p-0': 'GroupUnconfirmed', 'p-1': 'GroupUnconfirmed' });
    expect(result.unneeded.size).toBe(2);
  });

  it('keeps the cap on removals per window', () => {
    const result = plan({
      ...idle([pool('p', 5)], 30, { removals: [START_MS - 11 * MINUTE, START_MS - MINUTE] }),
      policy: aPolicy({ scaleDown: { maxRemovalsPerWindow: 3 } }),
    });
    expect(result.removals).toHaveLength(2);
  });

  it.each([
    { name: 'a cap of their own', maxEmptyRemovalsPerWindow: 3, spent: 1, empties: 2 },
    { name: 'their own cap, which is used up', maxEmptyRemovalsPerWindow: 3, spent: 3, empties: 0 },
    { name: 'no cap of their own: they share the others', maxEmptyRemovalsPerWindow: undefined, spent: 0, empties: 1 },
  ])('empty nodes have $name', ({ maxEmptyRemovalsPerWindow, spent, empties }) => {
    const all = names(5);
    const pods = [pod('p-4', '100m')];
    const caps = { maxRemovalsPerWindow: 2, ...(maxEmptyRemovalsPerWindow === undefined ? {} : { maxEmptyRemovalsPerWindow }) };
    const emptyRemovals = Array.from({ length: spent }, () => START_MS - MINUTE);
    const result = plan({
      groups: [pool('p', 5)],
      nodes: [...nodes(...all), ...slots(1)],
      pods,
      state: { unneededSince: sinceMinutes(30, all), removals: [START_MS - MINUTE], emptyRemovals },
      policy: aPolicy({ scaleDown: caps }),
    });
    const causes = result.removals.map(({ cause }) => cause);
    expect(causes.filter((cause) => cause === 'empty')).toHaveLength(empties);
    // The cap of the others has one left. If it is shared, an empty node takes it.
    expect(causes.filter((cause) => cause === 'underutilized')).toHaveLength(maxEmptyRemovalsPerWindow === undefined ? 0 : 1);
  });

  it('a broken node does not count as empty', () => {
    const broken = aNode({ name: 'p-0', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } });
    const caps = { maxRemovalsPerWindow: 1, maxEmptyRemovalsPerWindow: 5 };
    const result = plan({
      groups: [pool('p', 2)],
      nodes: [broken, ...nodes('p-1')],
      state: { unneededSince: sinceMinutes(30, names(2)), removals: [START_MS - MINUTE] },
      policy: aPolicy({ scaleDown: caps }),
    });
    expect(removed(result)).toEqual(['p-1']);
  });

  it('a node with an on-completion pod is unneeded but waits', () => {
    const pods = [aPod({ nodeName: 'p-0', safeToEvict: 'on-completion' })];
    const result = plan({ ...idle([pool('p', 2)]), pods });
    expect(keptReasons(result)['p-0']).toBe('BlockedByOnCompletionPod');
    expect(removed(result)).toEqual(['p-1']);
  });

  it('nodes that share a disruption budget go one by one; the risky one last', () => {
    const all = names(3);
    const pods = [pod('p-0', '200m', 'a'), pod('p-0', '200m', 'b'), pod('p-1', '200m', 'c'), pod('p-2', '200m', 'd')];
    const world = {
      groups: [pool('p', 3), pool('q', 1, { minSize: 1 })],
      nodes: [...nodes(...all), ...nodes('q-0')],
      pods,
      budgets: [aBudget({ disruptionsAllowed: 1 })],
      state: { unneededSince: sinceMinutes(30, all) },
      policy: aPolicy({ scaleDown: { maxParallelDrains: 5 } }),
    };
    const result = plan(world);
    expect(removed(result)).toEqual(['p-1']);
    expect(keptReasons(result)).toMatchObject({ 'p-0': 'BlockedByPod', 'p-2': 'BlockedByPod' });
    expect(result.unneeded.size).toBe(3);
    const alone = plan({ ...world, nodes: [...nodes('p-0'), ...nodes('q-0')], pods: pods.slice(0, 2) });
    expect(removed(alone)).toEqual(['p-0']);
  });

  it.each([
    { name: 'by a removal of the same plan', going: [], said: 'allows 1 disruption now; other removals use 1, this node needs 1' },
    { name: 'by a drain in progress', going: ['p-0'], said: 'allows 1 disruption now; other removals use 1, this node needs 1' },
    { name: 'in part', allowed: 3, wanted: 3, going: [], said: 'allows 3 disruptions now; other removals use 1, this node needs 3' },
  ])('a budget that is used $name names the pod that it selects, and the numbers', ({ allowed = 1, wanted = 1, going, said }) => {
    const app = (nodeName: string, name: string) => aPod({ name, nodeName, cpu: '200m', shape: { labels: { app: 'a' } } });
    const second = Array.from({ length: wanted }, (_, index) => app('p-1', `second-${index}`));
    const selector = { requirements: [{ key: 'app', operator: 'In' as const, values: ['a'] }] };
    const result = plan({
      groups: [pool('p', 2), pool('q', 2, { minSize: 2 })],
      nodes: [...nodes('p-0', 'p-1'), ...nodes('q-0', 'q-1')],
      // The first pod of the second node belongs to no budget.
      pods: [app('p-0', 'first'), aPod({ name: 'other', nodeName: 'p-1', cpu: '100m' }), ...second],
      budgets: [aBudget({ name: 'b', disruptionsAllowed: allowed, selector })],
      state: {
        unneededSince: sinceMinutes(30, ['p-0', 'p-1']),
        deleting: new Map(
          going.map((name) => [name, { group: nodeGroupId('p'), instance: keyOf(name), sinceMs: START_MS, sentAtMs: undefined }]),
        ),
      },
      policy: aPolicy({ scaleDown: { maxParallelDrains: 5 } }),
    });
    expect(result.kept.find(({ node }) => node === 'p-1')).toMatchObject({
      reason: 'BlockedByPod',
      blocker: { pod: 'default/second-0', reason: 'NotEnoughPdb', detail: `default/b: ${said}` },
    });
  });

  it('a budget spent for the moment stops no clock, and starts none', () => {
    const spent = aBudget({ disruptionsAllowed: 0, expectedPods: 3, desiredHealthy: 2 });
    const result = plan({
      groups: [pool('p', 2), pool('q', 1, { minSize: 1 })],
      nodes: nodes('p-0', 'p-1', 'q-0'),
      pods: [pod('p-0', '200m'), pod('p-1', '200m')],
      budgets: [spent],
      state: { unneededSince: sinceMinutes(3, ['p-0']) },
    });
    expect([...result.unneeded.keys()]).toEqual(['p-0']);
    expect(result.kept.find((kept) => kept.node === 'p-1')).toMatchObject({ reason: 'BlockedByPod', blocker: { reason: 'NotEnoughPdb' } });
    expect(result.kept.find((kept) => kept.node === 'p-1')?.recheckAtMs).toBeUndefined();
  });

  it('prefers empty, then few pods, then unimportant ones, then the longest unneeded, then the name', () => {
    const all = names(6);
    const important = aPod({ name: 'vip', nodeName: 'p-1', cpu: '100m', shape: { priority: 1000 } });
    const pods = [pod('p-0', '100m', 'x'), pod('p-0', '100m', 'y'), important, pod('p-2', '100m'), pod('p-3', '100m')];
    const unneededSince = new Map([...sinceMinutes(30, all), ['p-3', START_MS - 40 * MINUTE] as const]);
    const result = plan({
      groups: [pool('p', 6), pool('q', 5, { minSize: 5 })],
      nodes: [...closed(...all), ...slots(5)],
      pods,
      state: { unneededSince },
      policy: aPolicy({ scaleDown: { maxParallelDrains: 9 } }),
    });
    expect(removed(result)).toEqual(['p-4', 'p-5', 'p-3', 'p-2', 'p-1', 'p-0']);
  });
});

describe('limits of the whole cluster', () => {
  const world = idle([pool('p', 4)]);

  it.each([
    { name: 'no minimum', rules: {}, left: 0 },
    { name: 'cores', rules: { minCoresTotal: 9 }, left: 3 },
    { name: 'cores to the last one', rules: { minCoresTotal: 8 }, left: 2 },
    { name: 'memory', rules: { minMemoryTotalBytes: 16 * 2 ** 30 }, left: 1 },
  ])('$name', ({ rules, left }) => {
    const result = plan({ ...world, policy: aPolicy({ scaleDown: rules }) });
    expect(4 - result.removals.length).toBe(left);
    expect(Object.values(keptReasons(result))).toEqual(Array<string>(left).fill('MinimalResourceLimitExceeded'));
  });

  it('nodes of no group count for the minimum; leaving and virtual nodes do not', () => {
    const others = [
      aNode({ name: 'x' }),
      aNode({ name: 'gone', deletionAtMs: START_MS }),
      aNode({ name: 'v', labels: { type: 'virtual-kubelet' } }),
    ];
    const result = plan({ ...world, nodes: [...world.nodes, ...others], policy: aPolicy({ scaleDown: { minCoresTotal: 12 } }) });
    expect(result.removals).toHaveLength(2);
  });
});
