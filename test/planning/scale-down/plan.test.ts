import { describe, expect, it } from 'vitest';
import { DELETION_CANDIDATE_TAINT, TO_BE_DELETED_TAINT } from '../../../src/domain/taint.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { unneededLimit } from '../../../src/planning/scale-down/unneeded.ts';
import { aBudget, anInstance, aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { keptReasons, MINUTE, plan, pool, sinceMinutes } from './world.ts';

const nodes = (...names: readonly string[]) => names.map((name) => aNode({ name, cpu: '4', memory: '16Gi' }));
const names = (count: number, prefix = 'p') => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
/** Closed to pods of others, so that those of each go to nodes of their own. */
const closed = (...all: readonly string[]) => all.map((name) => aNode({ name, cpu: '4', memory: '16Gi', unschedulable: true }));
/** Room for one small pod each. */
const slots = (count: number) => names(count, 'q').map((name) => aNode({ name, cpu: '150m', memory: '2Gi' }));
const removed = (result: ReturnType<typeof plan>) => result.removals.map((removal) => removal.node);
const pod = (nodeName: string, cpu = '1', name = `${nodeName}-${cpu}`) => aPod({ name, nodeName, cpu, memory: '1Gi' });

describe('eligibility', () => {
  it.each([
    { name: 'EL01: exactly at the threshold', cpu: '2', kept: undefined },
    { name: 'EL01: just above', cpu: '2001m', kept: 'NotUnderutilized' },
  ])('$name', ({ cpu, kept }) => {
    const groups = [pool('p', 1), pool('q', 1, { minSize: 1 })];
    const result = plan({ groups, nodes: nodes('p-0', 'q-0'), pods: [pod('p-0', cpu)] });

    expect(keptReasons(result)['p-0']).toBe(kept ?? 'NotUnneededLongEnough');
  });

  const base = { groups: [pool('p', 2)], nodes: nodes('p-0', 'p-1') };
  it.each([
    { name: 'of nobody', world: { ...base, nodes: nodes('x', 'p-0') }, node: 'x', reason: 'NotAutoscaled' },
    {
      name: 'annotated',
      world: { ...base, nodes: [aNode({ name: 'p-0', scaleDownDisabled: true })] },
      node: 'p-0',
      reason: 'ScaleDownDisabledAnnotation',
    },
    { name: 'frozen group', world: { ...base, groups: [pool('p', 2, { frozen: 'upgrading' })] }, node: 'p-0', reason: 'GroupFrozen' },
    {
      name: 'EL12: group at its minimum',
      world: { ...base, groups: [pool('p', 2, { minSize: 2 })] },
      node: 'p-0',
      reason: 'NodeGroupMinSizeReached',
    },
    { name: 'no instance', world: { ...base, cloud: { instanceOfNode: new Map() } }, node: 'p-0', reason: 'InstanceUnknown' },
    {
      name: 'EL10: blocked three minutes ago',
      world: { ...base, state: { unremovable: new Map([['p-0', { reason: 'BlockedByPod' as const, untilMs: START_MS + 2 * MINUTE }]]) } },
      node: 'p-0',
      reason: 'RecentlyUnremovable',
    },
    {
      name: 'tainted for deletion',
      world: {
        ...base,
        nodes: [
          aNode({ name: 'p-0', taints: [{ key: TO_BE_DELETED_TAINT, value: String(START_MS / 1000), effect: 'NoSchedule' as const }] }),
        ],
      },
      node: 'p-0',
      reason: 'CurrentlyBeingDeleted',
    },
    {
      name: 'EL09: unready while those may not go',
      world: {
        ...base,
        nodes: [aNode({ name: 'p-0', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } })],
        policy: aPolicy({ scaleDown: { unreadyEnabled: false } }),
      },
      node: 'p-0',
      reason: 'ScaleDownUnreadyDisabled',
    },
    { name: 'without a size', world: { ...base, nodes: [aNode({ name: 'p-0', cpu: '0' })] }, node: 'p-0', reason: 'UnexpectedError' },
  ])('$name: $reason', ({ world, node, reason }) => {
    expect(keptReasons(plan(world))[node]).toBe(reason);
  });

  it.each([
    { name: 'EL05: cores in use, GPUs idle', gpus: '4', asked: '0', reason: 'NotUnneededLongEnough' },
    { name: 'EL05: GPUs in use', gpus: '4', asked: '3', reason: 'NotUnderutilized' },
    { name: 'EL05: more than the own threshold', gpus: '4', asked: '1', threshold: 0.2, reason: 'NotUnderutilized' },
    { name: 'EL06: no GPU is offered', gpus: '0', asked: '0', reason: 'NotUnneededLongEnough' },
  ])('$name', ({ gpus, asked, threshold, reason }) => {
    const gpuNode = aNode({ name: 'p-0', labels: { accelerator: 'nvidia' }, resources: { 'nvidia.com/gpu': gpus } });
    const job = aPod({ nodeName: 'p-0', cpu: '3600m', shape: { cpu: '3600m', resources: { 'nvidia.com/gpu': asked } } });
    const spare = aNode({ name: 'q-0', cpu: '8', resources: { 'nvidia.com/gpu': '8' } });
    const result = plan({
      groups: [pool('p', 1), pool('q', 1, { minSize: 1 })],
      nodes: [gpuNode, spare],
      pods: [job],
      policy: aPolicy({ scaleDown: threshold === undefined ? {} : { gpuUtilizationThreshold: threshold } }),
    });
    expect(keptReasons(result)['p-0']).toBe(reason);
  });

  it.each([
    { whose: 'a workload', daemonSet: false },
    { whose: 'a DaemonSet', daemonSet: true },
  ])(
    'EL07: a node whose devices a pod of $whose claims is never guessed to be idle, and stays with the claim as the reason',
    ({ daemonSet }) => {
      const unsupported = [{ feature: 'dynamic-resource-allocation', detail: 'resource claim gpus' }];
      const job = aPod({ name: 'train', nodeName: 'p-0', daemonSet, safeToEvict: 'true', shape: { cpu: '10m', unsupported } });
      const result = plan({ ...base, pods: [job], state: { unneededSince: sinceMinutes(30, ['p-0']) } });
      expect(result.removals.filter(({ node }) => node === 'p-0')).toEqual([]);
      expect(result.kept.find(({ node }) => node === 'p-0')).toMatchObject({
        reason: 'UnexpectedError',
        blocker: { pod: 'default/train', detail: "resource claim gpus: how much of the node's devices is in use is not known" },
      });
    },
  );

  it('DR14: a node with nothing but expendable pods is empty, however much they ask for', () => {
    const worthless = aPod({ nodeName: 'p-0', controller: undefined, shape: { cpu: '3900m', priority: -11 } });
    const result = plan({ ...base, pods: [worthless], state: { unneededSince: sinceMinutes(30, ['p-0']) } });
    expect(result.removals).toMatchObject([{ node: 'p-0', cause: 'empty', pods: [] }]);
  });

  it('EL10: a verdict that has expired is reached anew', () => {
    const unremovable = new Map([['p-0', { reason: 'BlockedByPod' as const, untilMs: START_MS }]]);
    expect(keptReasons(plan({ ...base, state: { unremovable } }))['p-0']).toBe('NotUnneededLongEnough');
  });

  it('names the pod and the reason that block, and when to look again', () => {
    const result = plan({ ...base, pods: [aPod({ name: 'pet', nodeName: 'p-0', controller: undefined })] });
    expect(result.kept[0]).toMatchObject({
      node: 'p-0',
      reason: 'BlockedByPod',
      blocker: { pod: 'default/pet', reason: 'NotReplicated' },
      recheckAtMs: START_MS + 5 * MINUTE,
    });
  });
});

describe('timers', () => {
  const base = { groups: [pool('p', 2)], nodes: nodes('p-0', 'p-1') };
  it.each([
    { name: 'PL09: 9m59s', ms: 599_000, removed: [] },
    { name: 'PL09: 10m to the millisecond', ms: 600_000, removed: [] },
    { name: 'PL09: 10m01s', ms: 601_000, removed: ['p-0', 'p-1'] },
  ])('$name', ({ ms, removed: expected }) => {
    const result = plan({
      ...base,
      state: {
        unneededSince: new Map([
          ['p-0', START_MS - ms],
          ['p-1', START_MS - ms],
        ]),
      },
    });
    expect(removed(result)).toEqual(expected);
  });

  it.each([
    { name: 'PL10: unready for 15 min', minutes: 15, removed: [] },
    { name: 'PL10: unready for 21 min', minutes: 21, removed: ['p-0'] },
  ])('$name', ({ minutes, removed: expected }) => {
    const unready = aNode({ name: 'p-0', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } });
    const result = plan({ ...base, nodes: [unready], state: { unneededSince: sinceMinutes(minutes, ['p-0']) } });
    expect(removed(result)).toEqual(expected);
    expect(keptReasons(result)['p-0']).toBe(expected.length === 0 ? 'NotUnreadyLongEnough' : undefined);
    expect(result.removals[0]?.cause).toBe(expected.length === 0 ? undefined : 'unready');
  });

  it('PL18: a cooldown removes nothing while timers go on', () => {
    const since = sinceMinutes(30, ['p-0', 'p-1']);
    const result = plan({ ...base, state: { unneededSince: since, lastScaleUpMs: START_MS - MINUTE } });
    expect(result.inhibited).toContain('a scale-up');
    expect(removed(result)).toEqual([]);
    expect(result.unneeded).toEqual(since);
  });

  const patient = aPolicy({ scaleDown: { maxClusterStalenessMs: 3 * MINUTE } });

  it('removes on a watch that is within its limit', () => {
    const state = { unneededSince: sinceMinutes(30, ['p-0', 'p-1']) };
    expect(removed(plan({ ...base, state, stalenessMs: 3 * MINUTE, policy: patient }))).not.toEqual([]);
  });

  it.each([
    { name: 'while nodes are added', world: { scaleUpPlanned: true } },
    { name: 'on old reads', world: { cloud: { scaleDownBlocked: 'the cache is old' } } },
    { name: 'on a watch that has gone silent', world: { stalenessMs: 3 * MINUTE + 1, policy: patient } },
    {
      name: 'after a failure',
      world: { state: { unneededSince: sinceMinutes(30, ['p-0', 'p-1']), lastScaleDownFailureMs: START_MS - MINUTE } },
    },
  ])('removes nothing $name', ({ world }) => {
    const result = plan({ ...base, state: { unneededSince: sinceMinutes(30, ['p-0', 'p-1']) }, ...world });
    expect(removed(result)).toEqual([]);
    expect(result.inhibited).toBeDefined();
    expect(result.unneeded.size).toBe(2);
  });

  it.each([
    { name: 'PL19: one group grew', times: { scaleUpMs: START_MS - 2 * MINUTE }, rests: true },
    { name: 'PL19: its rest is over', times: { scaleUpMs: START_MS - 10 * MINUTE }, rests: false },
    { name: 'PL19: one group failed to shrink', times: { scaleDownFailureMs: START_MS - MINUTE }, rests: true },
    { name: 'PL19: it shrank, and that needs no rest', times: { scaleDownMs: START_MS - 1 }, rests: false },
  ])('$name; with delays per group the others go on', ({ times, rests }) => {
    const result = plan({
      groups: [pool('p', 1), pool('q', 1)],
      nodes: nodes('p-0', 'q-0'),
      state: {
        unneededSince: sinceMinutes(30, ['p-0', 'q-0']),
        // For all groups alike it would be too early.
        lastScaleUpMs: START_MS - MINUTE,
        groupTimes: new Map([[nodeGroupId('p'), times]]),
      },
      policy: aPolicy({ scaleDown: { delaysPerGroup: true } }),
    });
    expect(removed(result)).toEqual(rests ? ['q-0'] : ['p-0', 'q-0']);
    expect(keptReasons(result)).toEqual(rests ? { 'p-0': 'GroupCoolingDown' } : {});
    expect(result.unneeded.size).toBe(2);
  });

  it('believes no timer while half of the nodes are unready', () => {
    const sick = names(8).map((name, index) => aNode({ name, readiness: { ready: index > 3, sinceMs: 0, reason: '' } }));
    const result = plan({ groups: [pool('p', 8)], nodes: sick, state: { unneededSince: sinceMinutes(60, names(8)) } });
    expect(result).toMatchObject({ removals: [], inhibited: 'too many nodes are unready: 4 of 8 nodes are not ready' });
    expect(result.unneeded.size).toBe(0);
  });
});

describe('simulation', () => {
  it('PL01: an empty node can go', () => {
    const result = plan({ groups: [pool('p', 1)], nodes: nodes('p-0'), state: { unneededSince: sinceMinutes(30, ['p-0']) } });
    expect(result.removals).toMatchObject([{ node: 'p-0', cause: 'empty', pods: [] }]);
  });

  it.each([
    { policy: 'Ignore' as const, kept: 'NoPlaceToMovePods' },
    { policy: 'Honor' as const, kept: 'NotUnneededLongEnough' },
  ])('PL04: the zone of the node that leaves counts for a spread with nodeTaintsPolicy $policy: $kept', ({ policy, kept }) => {
    const ZONE = 'topology.kubernetes.io/zone';
    const zoned = (name: string, zone: string) => aNode({ name, labels: { [ZONE]: zone } });
    const labels = { app: 'web' };
    const selector = { requirements: [{ key: 'app', operator: 'In' as const, values: ['web'] }] };
    const spread = {
      topologyKey: ZONE,
      maxSkew: 1,
      minDomains: 1,
      selector,
      nodeAffinityPolicy: 'Honor' as const,
      nodeTaintsPolicy: policy,
    };
    const web = (nodeName: string) => aPod({ name: `web-${nodeName}`, nodeName, shape: { labels, topologySpread: [spread] } });
    const result = plan({
      groups: [pool('p', 1), pool('q', 1, { minSize: 1 })],
      nodes: [zoned('p-0', 'a'), zoned('q-0', 'b')],
      pods: [web('p-0'), web('q-0')],
    });
    expect(keptReasons(result)['p-0']).toBe(kept);
  });

  it('PL05: a node that was asked for but has not joined takes no pods', () => {
    const world = { groups: [pool('p', 1), pool('q', 3, { minSize: 3 })], pods: [pod('p-0', '1')] };
    expect(keptReasons(plan({ ...world, nodes: nodes('p-0') }))['p-0']).toBe('NoPlaceToMovePods');
    expect(keptReasons(plan({ ...world, nodes: nodes('p-0', 'q-0') }))['p-0']).toBe('NotUnneededLongEnough');
  });

  it('PL06: a node that is unneeded itself takes no pods', () => {
    const result = plan({ groups: [pool('p', 2)], nodes: nodes('p-0', 'p-1'), pods: [pod('p-0', '500m'), pod('p-1', '1')] });
    expect([...result.unneeded.keys()]).toEqual(['p-0']);
    expect(result.kept.find(({ node }) => node === 'p-1')).toMatchObject({
      reason: 'NoPlaceToMovePods',
      blocker: { pod: 'default/p-1-1', reason: 'NoPlaceFound' },
    });
  });

  it('PL03: two half-full nodes and one place: only the first goes', () => {
    const pods = [pod('p-0', '2'), pod('p-1', '2'), pod('p-2', '2500m')];
    const tight = [...nodes('p-0', 'p-1'), aNode({ name: 'p-2', cpu: '4500m', memory: '16Gi' })];
    const result = plan({ groups: [pool('p', 3)], nodes: tight, pods, state: { unneededSince: sinceMinutes(30, ['p-0', 'p-1']) } });
    expect(removed(result)).toEqual(['p-0']);
    expect(keptReasons(result)['p-1']).toBe('NoPlaceToMovePods');
  });

  it.each([
    {
      name: 'unready',
      node: aNode({ name: 'p-1', readiness: { ready: false, sinceMs: START_MS, reason: 'NotReady' }, createdAtMs: START_MS }),
    },
    { name: 'cordoned', node: aNode({ name: 'p-1', unschedulable: true }) },
    { name: 'leaving', node: aNode({ name: 'p-1', deletionAtMs: START_MS }) },
  ])('moves nothing to a node that is $name', ({ node }) => {
    const result = plan({ groups: [pool('p', 1)], nodes: [...nodes('p-0'), node], pods: [pod('p-0', '1')] });
    expect(keptReasons(result)['p-0']).toBe('NoPlaceToMovePods');
  });

  it('PL17: looks at empty nodes first, then at those that were unneeded before', () => {
    const pods = [pod('p-0', '1'), pod('p-1', '1500m')];
    const result = plan({
      groups: [pool('p', 3)],
      nodes: nodes('p-0', 'p-1', 'p-2'),
      pods,
      state: { unneededSince: sinceMinutes(3, ['p-1']) },
    });
    expect([...result.unneeded.keys()]).toEqual(['p-2', 'p-1']);
  });

  it('PL08: bounds how many become unneeded in one loop', () => {
    expect(unneededLimit(0, { maxParallel: 10, unneededForMs: 10 * MINUTE })).toBe(20);
    expect(unneededLimit(1_000, { maxParallel: 10, unneededForMs: 10 * MINUTE })).toBe(610);
    const result = plan({ groups: [pool('p', 40)], nodes: nodes(...names(40)) });
    expect(result.unneeded.size).toBe(20);
  });

  it('leaves the snapshot as it found it: planning twice gives the same', () => {
    const world = { groups: [pool('p', 3)], nodes: nodes(...names(3)), pods: [pod('p-0', '1')] };
    expect(plan(world)).toEqual(plan(world));
  });
});

describe('budgets', () => {
  it('AC01: 12 empty nodes, parallelism 10: 10', () => {
    const all = names(12);
    const result = plan({ groups: [pool('p', 12)], nodes: nodes(...all), state: { unneededSince: sinceMinutes(30, all) } });
    expect(result.removals).toHaveLength(10);
    expect(Object.values(keptReasons(result))).toEqual(['RemovalBudgetSpent', 'RemovalBudgetSpent']);
  });

  it('AC03: 8 empty and 5 to drain, total 10, drains 5: 8 empty and 2 drains', () => {
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

  it('PL14: target 5, minimum 3, one removal under way: one more', () => {
    const all = names(5);
    const deleting = new Map([['p-0', { group: nodeGroupId('p'), instance: keyOf('p-0'), sinceMs: START_MS }]]);
    const result = plan({
      groups: [pool('p', 5, { minSize: 3 })],
      nodes: nodes(...all),
      state: { unneededSince: sinceMinutes(30, all), deleting },
    });
    expect(removed(result)).toEqual(['p-1']);
    expect(keptReasons(result)).toMatchObject({ 'p-0': 'CurrentlyBeingDeleted', 'p-2': 'NodeGroupMinSizeReached' });
  });

  it('PL14: once Azure has accepted a deletion the target no longer holds it', () => {
    const all = names(5);
    const group = pool('p', 5, { minSize: 3, target: { known: true, value: 4, version: '"2"', confirmed: true, observedAtMs: START_MS } });
    const instances = (group.instances ?? []).map((instance) =>
      instance.key === keyOf('p-0') ? { ...instance, state: 'deleting' as const } : instance,
    );
    const deleting = new Map([['p-0', { group: nodeGroupId('p'), instance: keyOf('p-0'), sinceMs: START_MS }]]);
    const result = plan({
      groups: [{ ...group, instances }],
      nodes: nodes(...all),
      state: { unneededSince: sinceMinutes(30, all), deleting },
    });
    expect(removed(result)).toEqual(['p-1']);
  });

  it('removes nothing from a group whose size is not confirmed, and keeps its timers', () => {
    const target = { known: true, value: 2, version: '"1"', confirmed: false, observedAtMs: START_MS } as const;
    const result = plan({
      groups: [pool('p', 2, { target })],
      nodes: nodes('p-0', 'p-1'),
      state: { unneededSince: sinceMinutes(30, names(2)) },
    });
    expect(keptReasons(result)).toEqual({ 'p-0': 'GroupUnconfirmed', 'p-1': 'GroupUnconfirmed' });
    expect(result.unneeded.size).toBe(2);
  });

  it('keeps the cap on removals per window', () => {
    const all = names(5);
    const result = plan({
      groups: [pool('p', 5)],
      nodes: nodes(...all),
      state: { unneededSince: sinceMinutes(30, all), removals: [START_MS - 11 * MINUTE, START_MS - MINUTE] },
      policy: aPolicy({ scaleDown: { maxRemovalsPerWindow: 3 } }),
    });
    expect(result.removals).toHaveLength(2);
  });

  it('DR08: a node with an on-completion pod is unneeded but waits', () => {
    const pods = [aPod({ nodeName: 'p-0', safeToEvict: 'on-completion' })];
    const result = plan({ groups: [pool('p', 2)], nodes: nodes('p-0', 'p-1'), pods, state: { unneededSince: sinceMinutes(30, names(2)) } });
    expect(keptReasons(result)['p-0']).toBe('BlockedByOnCompletionPod');
    expect(removed(result)).toEqual(['p-1']);
  });

  it('E4, PL16: nodes that share a disruption budget go one by one; the risky one last', () => {
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
  const all = names(4);
  const world = { groups: [pool('p', 4)], nodes: nodes(...all), state: { unneededSince: sinceMinutes(30, all) } };

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

  it('nodes of nobody count for the minimum, those that leave and virtual ones do not', () => {
    const others = [
      aNode({ name: 'x' }),
      aNode({ name: 'gone', deletionAtMs: START_MS }),
      aNode({ name: 'v', labels: { type: 'virtual-kubelet' } }),
    ];
    const result = plan({ ...world, nodes: [...world.nodes, ...others], policy: aPolicy({ scaleDown: { minCoresTotal: 12 } }) });
    expect(result.removals).toHaveLength(2);
  });
});

describe('the order among nodes that may go', () => {
  const inZone = (name: string, zone: string) => aNode({ name, labels: { 'topology.kubernetes.io/zone': zone } });

  it('takes equal nodes from the zone that has most, and keeps the zones even', () => {
    const zones = ['a', 'a', 'a', 'b', 'c', 'c'];
    const all = names(6);
    const result = plan({
      groups: [pool('p', 6, { minSize: 1 })],
      nodes: all.map((name, index) => inZone(name, zones[index] ?? '')),
      // The oldest are in b and c: evenness counts more than age.
      state: { unneededSince: new Map([...sinceMinutes(30, all), ['p-3', START_MS - 50 * MINUTE], ['p-5', START_MS - 40 * MINUTE]]) },
    });
    expect(removed(result)).toEqual(['p-0', 'p-5', 'p-1', 'p-3', 'p-2']);
  });

  const drains = { scaleDown: { maxParallelDrains: 9 } };
  const roomy = { groups: [pool('p', 3), pool('q', 9, { minSize: 9 })], nodes: [...closed('p-0', 'p-1', 'p-2'), ...slots(9)] };
  const since = { unneededSince: sinceMinutes(30, names(3)) };

  it('weighs pods by their deletion cost and priority, not by number alone', () => {
    const costly = aPod({ name: 'costly', nodeName: 'p-0', cpu: '100m', deletionCost: 500_000_000 });
    const cheap = aPod({ name: 'cheap', nodeName: 'p-2', cpu: '100m', deletionCost: -1_000 });
    const pods = [costly, pod('p-1', '100m', 'x'), pod('p-1', '100m', 'y'), cheap];
    expect(removed(plan({ ...roomy, pods, state: since, policy: aPolicy(drains) }))).toEqual(['p-2', 'p-1', 'p-0']);
  });

  it('of equal pods the younger ones are moved first', () => {
    const aged = (node: string, hours: number) =>
      aPod({ name: node, nodeName: node, cpu: '100m', createdAtMs: START_MS - hours * 60 * MINUTE });
    const pods = [aged('p-0', 30), aged('p-1', 2), aged('p-2', 0)];
    expect(removed(plan({ ...roomy, pods, state: since, policy: aPolicy(drains) }))).toEqual(['p-2', 'p-1', 'p-0']);
  });

  it('where every size has a price, what saves most for the disturbance goes first', () => {
    const groups = [
      pool('p', 2, { vmSize: 'Standard_D4s_v5' }),
      pool('s', 1, { vmSize: 'Standard_D32s_v5' }),
      pool('q', 9, { minSize: 9 }),
    ];
    const pods = [pod('p-0', '100m'), pod('s-0', '100m', 'a'), pod('s-0', '100m', 'b')];
    const world = {
      groups,
      nodes: [...closed('p-0', 'p-1', 's-0'), ...slots(9)],
      pods,
      state: { unneededSince: sinceMinutes(30, ['p-0', 'p-1', 's-0']) },
    };
    const priced = (prices: Readonly<Record<string, number>>) => plan({ ...world, policy: aPolicy({ ...drains, scaleUp: { prices } }) });
    expect(removed(priced({ standard_d4s_v5: 0.2, standard_d32s_v5: 1.6 }))).toEqual(['p-1', 's-0', 'p-0']);
    expect(removed(priced({ standard_d32s_v5: 1.6 }))).toEqual(['p-1', 'p-0', 's-0']);
  });
});

describe('nodes that do not work', () => {
  const unready = (name: string) =>
    aNode({
      name,
      cpu: '4',
      memory: '16Gi',
      readiness: { ready: false, sinceMs: START_MS - 25 * MINUTE, reason: 'NotReady' },
      createdAtMs: 0,
    });

  it('of a group at its minimum keep their timer but stay until there is a replacement', () => {
    const world = { nodes: [unready('p-0'), ...nodes('p-1')], state: { unneededSince: sinceMinutes(21, ['p-0', 'p-1']) } };
    const held = plan({ ...world, groups: [pool('p', 2, { minSize: 2 })] });
    expect(held.removals).toEqual([]);
    expect(held.unneeded.get('p-0')).toBe(START_MS - 21 * MINUTE);
    expect(keptReasons(held)).toEqual({ 'p-0': 'NodeGroupMinSizeReached', 'p-1': 'NodeGroupMinSizeReached' });
    const replaced = plan({ ...world, nodes: [...world.nodes, ...nodes('p-2')], groups: [pool('p', 3, { minSize: 2 })] });
    expect(removed(replaced)).toEqual(['p-0']);
  });

  it('go before those that work: a minimum is meant of nodes that do', () => {
    const since = { unneededSince: new Map([...sinceMinutes(30, ['p-1', 'p-2']), ...sinceMinutes(21, ['p-0'])]) };
    const result = plan({ nodes: [unready('p-0'), ...nodes('p-1', 'p-2')], groups: [pool('p', 3, { minSize: 2 })], state: since });
    expect(removed(result)).toEqual(['p-0']);
    expect(keptReasons(result)['p-1']).toBe('NodeGroupMinSizeReached');
  });
});

describe('drains side by side', () => {
  const drains = aPolicy({ scaleDown: { maxParallelDrains: 9 } });
  const since = { unneededSince: sinceMinutes(30, names(2)) };
  const pods = [pod('p-0', '100m'), pod('p-1', '100m')];
  const detail = (result: ReturnType<typeof plan>) => result.kept.find((kept) => kept.detail !== undefined)?.detail;
  const world = { pods, state: since, policy: drains };

  it('do not count on the same destination', () => {
    const groups = [pool('p', 2), pool('q', 2, { minSize: 2 })];
    const shared = plan({ ...world, groups, nodes: [...closed('p-0', 'p-1'), ...nodes('q-0')] });
    expect(removed(shared)).toEqual(['p-0']);
    expect(detail(shared)).toBe('another drain moves pods to q-0');
    expect(removed(plan({ ...world, groups, nodes: [...closed('p-0', 'p-1'), ...slots(2)] }))).toEqual(['p-0', 'p-1']);
  });

  it('leave room for the pods of a drain that is under way', () => {
    const going = { group: nodeGroupId('p'), instance: keyOf('p-0'), sinceMs: START_MS };
    const state = { ...since, deleting: new Map([['p-0', going]]) };
    const groups = [pool('p', 2), pool('q', 1, { minSize: 1 })];
    const result = plan({ ...world, groups, nodes: [...closed('p-0', 'p-1'), ...slots(1)], state });
    expect(keptReasons(result)['p-1']).toBe('NoPlaceToMovePods');
    const roomy = plan({ ...world, groups, nodes: [...closed('p-0', 'p-1'), ...nodes('q-0')], state });
    expect(detail(roomy)).toBe('another drain moves pods to q-0');
  });

  it('never take the last node of a group in a zone beside another drain', () => {
    const zone = (name: string, id: string) =>
      aNode({ name, cpu: '4', memory: '16Gi', unschedulable: true, labels: { 'topology.kubernetes.io/zone': id } });
    const groups = [pool('p', 3), pool('q', 2, { minSize: 2 })];
    const spread = plan({ ...world, groups, nodes: [zone('p-0', 'a'), zone('p-1', 'b'), zone('p-2', 'c'), ...slots(2)] });
    expect(removed(spread)).toHaveLength(1);
    expect(detail(spread)).toBe('the last node of a group in a zone is drained alone');
    const same = plan({ ...world, groups, nodes: [zone('p-0', 'a'), zone('p-1', 'a'), zone('p-2', 'a'), ...slots(2)] });
    expect(removed(same)).toEqual(['p-0', 'p-1']);
    const both = plan({ ...world, groups, nodes: [zone('p-0', 'a'), zone('p-1', 'a'), ...slots(2)] });
    expect(removed(both)).toEqual(['p-0']);
  });
});

describe('groups that go as a whole', () => {
  const whole = (id: string, size: number, rest = {}) => pool(id, size, { maxSize: size, options: { zeroOrMax: true, ...rest } });
  const gone = (result: ReturnType<typeof plan>) => [...removed(result)].sort();

  it('PL15: of four nodes three could go: none does, and the reason names the count', () => {
    const all = names(4);
    const pinned = aPod({ name: 'pet', nodeName: 'p-3', controller: undefined });
    const state = { unneededSince: sinceMinutes(30, all) };
    const result = plan({ groups: [whole('p', 4)], nodes: nodes(...all), pods: [pinned], state });
    expect(result.removals).toEqual([]);
    expect(keptReasons(result)).toEqual({
      'p-0': 'AtomicScaleDownFailed',
      'p-1': 'AtomicScaleDownFailed',
      'p-2': 'AtomicScaleDownFailed',
      'p-3': 'BlockedByPod',
    });
    expect(result.kept.find(({ node }) => node === 'p-0')?.detail).toContain('only 3 of its 4 nodes may go');
    const free = plan({ groups: [whole('p', 4)], nodes: nodes(...all), state });
    expect(gone(free)).toEqual(all);
    expect(free.removals.every((removal) => removal.together === true)).toBe(true);
  });

  it('PL15: a node whose time has not come holds the others', () => {
    const state = { unneededSince: new Map([...sinceMinutes(30, names(3)), ['p-3', START_MS - MINUTE] as const]) };
    const result = plan({ groups: [whole('p', 4)], nodes: nodes(...names(4)), state });
    expect(Object.values(keptReasons(result)).sort()).toEqual([...Array<string>(3).fill('AtomicScaleDownFailed'), 'NotUnneededLongEnough']);
  });

  it('PL15: complete is also who has all that registered, when the rest never came', () => {
    const state = { unneededSince: sinceMinutes(30, names(3)) };
    expect(gone(plan({ groups: [whole('p', 4)], nodes: nodes(...names(3)), state }))).toEqual(names(3));
  });

  it('AC04: a group of 20 with 10 allowed goes alone, and others get nothing', () => {
    const all = names(20);
    const state = { unneededSince: sinceMinutes(30, [...all, 'x-0']) };
    const result = plan({ groups: [whole('p', 20), pool('x', 1)], nodes: nodes(...all, 'x-0'), state });
    expect(gone(result)).toEqual([...all].sort());
    expect(keptReasons(result)['x-0']).toBe('RemovalBudgetSpent');
  });

  it('AC04: the second such group waits, and so does one while other removals are under way to the limit', () => {
    const all = [...names(8), ...names(8, 's')];
    const state = { unneededSince: sinceMinutes(30, all) };
    const result = plan({ groups: [whole('p', 8), whole('s', 8)], nodes: nodes(...all), state });
    expect(gone(result)).toEqual(names(8));
    expect(result.kept.find(({ node }) => node === 's-0')).toMatchObject({ reason: 'RemovalBudgetSpent', detail: '2 more nodes at once' });
  });

  it.each([
    {
      name: 'the cap on removals per window is no matter of order',
      rest: {},
      scaleDown: { maxRemovalsPerWindow: 19 },
      reason: 'RemovalBudgetSpent',
    },
    { name: 'a minimum above zero keeps all', rest: { minSize: 1 }, scaleDown: {}, reason: 'NodeGroupMinSizeReached' },
    {
      name: 'the minimum of the cluster counts the whole',
      rest: {},
      scaleDown: { minCoresTotal: 4 },
      reason: 'MinimalResourceLimitExceeded',
    },
  ])('$name: $reason', ({ rest, scaleDown, reason }) => {
    const all = names(20);
    const group = { ...whole('p', 20), ...rest };
    const result = plan({
      groups: [group],
      nodes: nodes(...all),
      state: { unneededSince: sinceMinutes(30, all) },
      policy: aPolicy({ scaleDown }),
    });
    expect(result.removals).toEqual([]);
    expect(new Set(Object.values(keptReasons(result)))).toEqual(new Set([reason]));
  });

  it('pods of one node may move to a sibling that goes too only if there is a place beyond', () => {
    const state = { unneededSince: sinceMinutes(30, names(2)) };
    const pods = [pod('p-0', '500m'), pod('p-1', '500m')];
    expect(removed(plan({ groups: [whole('p', 2)], nodes: nodes('p-0', 'p-1'), pods, state }))).toEqual([]);
    const elsewhere = { groups: [whole('p', 2), pool('q', 1, { minSize: 1 })], nodes: nodes('p-0', 'p-1', 'q-0') };
    const policy = aPolicy({ scaleDown: { maxParallelDrains: 2 } });
    expect(removed(plan({ ...elsewhere, pods, state, policy }))).toEqual(['p-0', 'p-1']);
  });
});

describe('instances that are no nodes', () => {
  const failed = anInstance({
    node: 'p-9',
    state: 'failed',
    error: { detail: { kind: 'out-of-capacity', scope: {} }, code: 'AllocationFailed', message: '' },
  });
  const stranger = (id: string, minutes: number) => anInstance({ node: id, firstSeenMs: START_MS - minutes * MINUTE });

  it('CS02: failed ones go at once, below the minimum too', () => {
    const group = pool('p', 2, { minSize: 2, instances: [anInstance({ node: 'p-0' }), failed] });
    const result = plan({ groups: [group], nodes: nodes('p-0'), scaleUpPlanned: true });
    expect(result.instanceRemovals).toEqual([{ group: 'p', instance: failed.key, cause: 'failed' }]);
  });

  const whole = { zeroOrMax: true };
  const unborn = [anInstance({ node: 'p-0' }), stranger('p-1', 1), stranger('p-2', 1), stranger('p-3', 16)];
  it.each([
    { name: 'all that has not joined goes with it', rest: { options: whole }, going: ['p-1', 'p-2', 'p-3'] },
    { name: 'what came up is kept when a part is of use', rest: { options: { ...whole, keepsPartOfMax: true } }, going: ['p-3'] },
    { name: 'a minimum that not all can leave keeps all', rest: { options: whole, minSize: 2 }, going: [] },
    { name: 'nobody loses a node that is in use', rest: { options: whole }, pods: [pod('p-0')], going: ['p-3'] },
    { name: 'another group', rest: {}, going: ['p-3'] },
  ])('CS06: of four one never registered: $name', ({ rest, pods, going }) => {
    const group = pool('p', 4, { maxSize: 4, instances: unborn, ...rest });
    const result = plan({ groups: [group], nodes: nodes('p-0'), pods: pods ?? [] });
    expect(result.instanceRemovals).toEqual(going.map((name) => ({ group: 'p', instance: keyOf(name), cause: 'never-registered' })));
  });

  it('CS06: the nodes that did come up go the ordinary way, as the whole that they are', () => {
    const group = pool('p', 1, { maxSize: 4, options: whole, instances: [anInstance({ node: 'p-0' })] });
    expect(removed(plan({ groups: [group], nodes: nodes('p-0'), state: { unneededSince: sinceMinutes(30, ['p-0']) } }))).toEqual(['p-0']);
  });

  it('CS06: one that failed takes those on their way with it, below the minimum too', () => {
    const group = pool('p', 3, { minSize: 3, maxSize: 3, options: whole, instances: [stranger('p-1', 1), failed] });
    const result = plan({ groups: [group], nodes: [] });
    expect(result.instanceRemovals.map(({ cause }) => cause)).toEqual(['failed', 'failed']);
  });

  it('CS05: of three that never registered only the one above the minimum goes', () => {
    const instances = [anInstance({ node: 'p-0' }), stranger('p-1', 16), stranger('p-2', 16), stranger('p-3', 16)];
    const result = plan({ groups: [pool('p', 4, { minSize: 3, instances })], nodes: nodes('p-0') });
    expect(result.instanceRemovals).toEqual([{ group: 'p', instance: keyOf('p-1'), cause: 'never-registered' }]);
  });

  it.each([
    { name: 'too young', instances: [anInstance({ node: 'p-0' }), stranger('p-1', 14)], rest: {} },
    { name: 'frozen group', instances: [anInstance({ node: 'p-0' }), failed], rest: { frozen: 'upgrading' } },
    {
      name: 'unknown size',
      instances: [anInstance({ node: 'p-0' }), stranger('p-1', 16)],
      rest: { target: { known: false, reason: 'no read' } as const },
    },
    { name: 'no node has a match: ids do not compare', instances: [stranger('x-1', 16)], rest: {} },
    {
      name: 'a registered node whose machine reports a failure',
      instances: [{ ...failed, key: keyOf('p-0'), instanceId: 'p-0' }],
      rest: {},
    },
  ])('stay: $name', ({ instances, rest }) => {
    expect(plan({ groups: [pool('p', 2, { instances, ...rest })], nodes: nodes('p-0') }).instanceRemovals).toEqual([]);
  });

  it('stay on old reads', () => {
    const group = pool('p', 2, { instances: [anInstance({ node: 'p-0' }), failed] });
    expect(plan({ groups: [group], nodes: nodes('p-0'), cloud: { scaleDownBlocked: 'old' } }).instanceRemovals).toEqual([]);
  });

  it('stay on an old view of the nodes: what never registered may have joined unseen', () => {
    const group = pool('p', 2, { instances: [anInstance({ node: 'p-0' }), failed] });
    const policy = aPolicy({ scaleDown: { maxClusterStalenessMs: 3 * MINUTE } });
    const result = plan({ groups: [group], nodes: nodes('p-0'), stalenessMs: 4 * MINUTE, policy });
    expect(result.instanceRemovals).toEqual([]);
    expect(result.inhibited).toBe('a watch of the cluster was last heard 240 s ago; the limit is 180 s');
  });
});

it('ignores soft taints when it judges', () => {
  const marked = aNode({ name: 'p-0', taints: [{ key: DELETION_CANDIDATE_TAINT, value: '1', effect: 'PreferNoSchedule' }] });
  expect(plan({ groups: [pool('p', 1)], nodes: [marked] }).unneeded.has('p-0')).toBe(true);
});
