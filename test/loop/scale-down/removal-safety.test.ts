import { describe, expect, it } from 'vitest';
import type { Removal, RemovalCause } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { recheckRemoval, RemovalGuard } from '../../../src/loop/scale-down/removal-safety.ts';
import { drainRulesOf } from '../../../src/scheduling/drainability/drain-rule.ts';
import { aCluster, aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aPolicy } from '../../support/policy.ts';
import { MINUTE } from './removal-stage.ts';
import { nodeGroupId, type NodeGroupId } from '../../../src/domain/ids.ts';
import { ORDINARY } from '../../support/loop-report.ts';

const mover = aPod({ name: 'mover' });
const SELF = 'a/1';
const taint = { key: TO_BE_DELETED_TAINT, value: '1', effect: 'NoSchedule' } as const;
const ours = { ...aNode({ name: 'g-0', taints: [taint] }), deletionOwner: SELF };
const REMOVAL: Omit<Removal, 'pods'> = {
  group: nodeGroupId('g'),
  node: 'g-0',
  instance: keyOf('g-0'),
  unneededSinceMs: 0,
  cause: 'empty',
  utilization: 0,
  ...ORDINARY,
};
const nominated: Pod = { ...mover, nominatedNodeName: 'g-0' };

it.each([
  { name: 'a pod that is about to run on the node stops its removal', stage: 'before-taint', pod: nominated, planned: false, go: false },
  { name: 'one that the plan has a place for elsewhere does not', stage: 'before-taint', pod: nominated, planned: true, go: true },
  { name: 'one for another node does not', stage: 'before-taint', pod: { ...mover, nominatedNodeName: 'g-1' }, planned: false, go: true },
  {
    name: 'our own nomination for a node that never became ready does not',
    stage: 'before-taint',
    unready: true,
    pod: nominated,
    planned: false,
    go: true,
  },
  { name: 'once the node is marked none can come', stage: 'before-delete', pod: nominated, planned: false, go: true },
] as const)('$name', ({ stage, pod, planned, go, ...rest }) => {
  const removal = { ...REMOVAL, pods: planned ? [pod] : [] };
  const readiness = { ready: !('unready' in rest), sinceMs: START_MS, reason: '' };
  const node = stage === 'before-taint' ? aNode({ name: 'g-0', readiness }) : ours;
  const cluster = { ...aCluster({ nodes: [node] }), pendingPods: [pod] };
  const policy = drainRulesOf(aPolicy());
  const result = recheckRemoval({ removal, fresh: { node, pods: [], volumes: [] }, cluster, policy, nowMs: START_MS, self: SELF, stage });
  expect(result.go).toBe(go);
});

it.each([
  ['without end', {}, false],
  ['that lasts', { protectedUntilMs: START_MS + 1 }, false],
  ['that has ended', { protectedUntilMs: START_MS }, true],
])('a protection of the node %s is obeyed', (_which, protection, go) => {
  const node = aNode({ name: 'g-0', scaleDownDisabled: true, ...protection });
  const removal = { ...REMOVAL, pods: [] };
  const policy = drainRulesOf(aPolicy());
  const cluster = aCluster({ nodes: [node] });
  const result = recheckRemoval({
    removal,
    fresh: { node, pods: [], volumes: [] },
    cluster,
    policy,
    nowMs: START_MS,
    self: SELF,
    stage: 'before-taint',
  });
  expect(result.go).toBe(go);
});

it.each([
  ['that still shows its condition may go', [{ type: 'XIDErrors', status: 'True' }], true],
  ['that is well again stays', [], false],
  ['that shows another one alone stays', [{ type: 'GPUMissing', status: 'True' }], false],
] as const)('a sick node %s, at each look', (_which, shown, go) => {
  const conditions = shown.map((each) => ({ ...each, reason: '', sinceMs: 0 }));
  const removal = { ...REMOVAL, cause: 'sick', condition: 'XIDErrors=True', pods: [] } as const;
  const cluster = aCluster({ nodes: [ours] });
  const known = { removal, cluster, policy: drainRulesOf(aPolicy()), nowMs: START_MS, self: SELF };
  const stages = ['before-taint', 'before-evict', 'before-delete'] as const;
  const results = stages.map(
    (stage) => recheckRemoval({ ...known, fresh: { node: { ...ours, conditions }, pods: [], volumes: [] }, stage }).go,
  );
  expect(results).toEqual([go, go, go]);
});

describe.each(['before-evict', 'before-delete'] as const)('the deletion taint, %s', (stage) => {
  it.each([
    { name: 'our own', node: ours, go: true, message: undefined },
    { name: 'removed', node: { ...ours, taints: [] }, go: false, message: 'its deletion taint was removed by another writer' },
    {
      name: 'removed from a cordoned node',
      node: { ...ours, taints: [], unschedulable: true },
      go: false,
      message: 'its deletion taint was removed by another writer; the node stays cordoned',
    },
    { name: 'of another daemon', node: { ...ours, deletionOwner: 'b/1' }, go: false, message: 'its deletion taint now belongs to b/1' },
    {
      name: 'of a writer without a name',
      node: aNode({ name: 'g-0', taints: ours.taints }),
      go: false,
      message: 'its deletion taint now belongs to another writer',
    },
  ])('$name: go $go', ({ node, go, message }) => {
    const removal = { ...REMOVAL, pods: [] };
    const cluster = aCluster({ nodes: [node] });
    const policy = drainRulesOf(aPolicy());
    const result = recheckRemoval({ removal, fresh: { node, pods: [], volumes: [] }, cluster, policy, nowMs: START_MS, self: SELF, stage });
    expect(result).toMatchObject(go ? { go } : { go, message, taken: true });
  });
});

it.each([
  { stage: 'before-evict', go: true },
  { stage: 'before-delete', go: false },
] as const)('$stage: a pod of the plan that is still on the node lets its removal go on: $go', ({ stage, go }) => {
  const pod = aPod({ name: 'stayer', nodeName: 'g-0' });
  const removal: Removal = { ...REMOVAL, cause: 'underutilized', pods: [pod] };
  const cluster = aCluster({ nodes: [ours], pods: [pod] });
  const fresh = { node: ours, pods: [pod], volumes: [] };
  const policy = drainRulesOf(aPolicy());
  expect(recheckRemoval({ removal, fresh, cluster, policy, nowMs: START_MS, self: SELF, stage }).go).toBe(go);
});

it('removals from before the wall clock was set back hide none that have left the window', () => {
  let now = START_MS + 5 * MINUTE;
  const clock = Object.assign(new FakeClock(START_MS), { now: () => now });
  const guard = new RemovalGuard(clock, {
    maxRemovalsPerWindow: 3,
    maxEmptyRemovalsPerWindow: undefined,
    removalWindowMs: 10 * MINUTE,
    budgets: [],
  });
  expect(guard.admit({ others: 1 })).toBe(true);
  now = START_MS;
  expect([guard.admit({ others: 2 }), guard.admit({ others: 1 })]).toEqual([true, false]);
  now = START_MS + 11 * MINUTE;
  expect([guard.admit({ others: 2 }), guard.admit({ others: 1 })]).toEqual([true, false]);
});

describe('the last count of budgets of removals', () => {
  const limits = { maxRemovalsPerWindow: 100, maxEmptyRemovalsPerWindow: undefined, removalWindowMs: 10 * MINUTE };
  const two = { unit: 'nodes', amount: 2, per: 'pool', causes: ['empty'] } as const;
  const [a, b] = [nodeGroupId('a'), nodeGroupId('b')];
  const of = (group: NodeGroupId, count = 1, cause: RemovalCause = 'empty') => ({
    removals: Array.from({ length: count }, () => ({ group, cause })),
    sizes: new Map([[a, 10] as const, [b, 10] as const]),
  });

  it('refuses what is above them, whatever was planned, until the window has passed', () => {
    const clock = new FakeClock(START_MS);
    let now = START_MS;
    const guard = new RemovalGuard(Object.assign(clock, { now: () => now }), { ...limits, budgets: [two] });
    const ask = (nodes: ReturnType<typeof of>): boolean => guard.admit({ others: nodes.removals.length }, nodes);
    expect([ask(of(a, 3)), ask(of(a, 2)), ask(of(a)), ask(of(b)), ask(of(a, 1, 'unready'))]).toEqual([false, true, false, true, true]);
    now += 10 * MINUTE;
    expect([ask(of(a, 2)), ask(of(a))]).toEqual([true, false]);
  });

  it('knows what an earlier process started, and of unknown pools allows no percent', () => {
    const guard = new RemovalGuard(new FakeClock(START_MS), { ...limits, budgets: [two, { ...two, unit: 'percent', amount: 50 }] });
    guard.recall([], [], [{ group: a, cause: undefined, startedAtMs: START_MS - MINUTE }]);
    expect([guard.admit({ others: 2 }, of(a, 2)), guard.admit({ others: 1 }, of(a))]).toEqual([false, true]);
    expect(guard.admit({ others: 1 }, { ...of(b), sizes: new Map() })).toBe(false);
  });

  it('follows another configuration', () => {
    const guard = new RemovalGuard(new FakeClock(START_MS), { ...limits, budgets: [] });
    expect(guard.admit({ others: 5 }, of(a, 5))).toBe(true);
    guard.reconfigure({ ...limits, budgets: [{ ...two, amount: 0 }] });
    expect(guard.admit({ others: 1 }, of(a))).toBe(false);
  });
});
