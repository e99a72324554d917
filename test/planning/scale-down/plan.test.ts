import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { unneededLimit } from '../../../src/planning/scale-down/unneeded.ts';
import { aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { nodes, names, closed, slots, removed, pod, keptReasons, MINUTE, plan, pool, sinceMinutes, idle } from './world.ts';

describe('timers', () => {
  const base = { groups: [pool('p', 2)], nodes: nodes('p-0', 'p-1') };
  it.each([
    { name: '9m59s', ms: 599_000, removed: [] },
    { name: '10m to the millisecond', ms: 600_000, removed: [] },
    { name: '10m01s', ms: 601_000, removed: ['p-0', 'p-1'] },
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
    { name: 'unready for 15 min', minutes: 15, removed: [] },
    { name: 'unready for 21 min', minutes: 21, removed: ['p-0'] },
  ])('$name', ({ minutes, removed: expected }) => {
    const unready = aNode({ name: 'p-0', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } });
    const result = plan({ ...base, nodes: [unready], state: { unneededSince: sinceMinutes(minutes, ['p-0']) } });
    expect(removed(result)).toEqual(expected);
    expect(keptReasons(result)['p-0']).toBe(expected.length === 0 ? 'NotUnreadyLongEnough' : undefined);
    expect(result.removals[0]?.cause).toBe(expected.length === 0 ? undefined : 'unready');
  });

  it('a cooldown removes nothing while timers go on', () => {
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
    { name: 'one group grew', times: { scaleUpMs: START_MS - 2 * MINUTE }, rests: true },
    { name: 'its rest is over', times: { scaleUpMs: START_MS - 10 * MINUTE }, rests: false },
    { name: 'one group failed to shrink', times: { scaleDownFailureMs: START_MS - MINUTE }, rests: true },
    { name: 'it shrank, and that needs no rest', times: { scaleDownMs: START_MS - 1 }, rests: false },
  ])('$name; with delays per group the others go on', ({ times, rests }) => {
    const result = plan({
      ...idle([pool('p', 1), pool('q', 1)], 30, {
        // For all groups alike it would be too early.
        lastScaleUpMs: START_MS - MINUTE,
        groupTimes: new Map([[nodeGroupId('p'), times]]),
      }),
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
  it('an empty node can go', () => {
    const result = plan(idle([pool('p', 1)]));
    expect(result.removals).toMatchObject([{ node: 'p-0', cause: 'empty', pods: [] }]);
  });

  it.each([
    { policy: 'Ignore' as const, kept: 'NoPlaceToMovePods' },
    { policy: 'Honor' as const, kept: 'NotUnneededLongEnough' },
  ])('the zone of the node that leaves counts for a spread with nodeTaintsPolicy $policy: $kept', ({ policy, kept }) => {
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

  it('a node that was asked for but has not joined takes no pods', () => {
    const world = { groups: [pool('p', 1), pool('q', 3, { minSize: 3 })], pods: [pod('p-0', '1')] };
    expect(keptReasons(plan({ ...world, nodes: nodes('p-0') }))['p-0']).toBe('NoPlaceToMovePods');
    expect(keptReasons(plan({ ...world, nodes: nodes('p-0', 'q-0') }))['p-0']).toBe('NotUnneededLongEnough');
  });

  it('a node that is unneeded itself takes no pods', () => {
    const result = plan({ groups: [pool('p', 2)], nodes: nodes('p-0', 'p-1'), pods: [pod('p-0', '500m'), pod('p-1', '1')] });
    expect([...result.unneeded.keys()]).toEqual(['p-0']);
    expect(result.kept.find(({ node }) => node === 'p-1')).toMatchObject({
      reason: 'NoPlaceToMovePods',
      blocker: { pod: 'default/p-1-1', reason: 'NoPlaceFound' },
    });
  });

  it('two half-full nodes and one place: only the first goes', () => {
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

  it('looks at empty nodes first, then at those that were unneeded before', () => {
    const pods = [pod('p-0', '1'), pod('p-1', '1500m')];
    const result = plan({
      groups: [pool('p', 3)],
      nodes: nodes('p-0', 'p-1', 'p-2'),
      pods,
      state: { unneededSince: sinceMinutes(3, ['p-1']) },
    });
    expect([...result.unneeded.keys()]).toEqual(['p-2', 'p-1']);
  });

  it('bounds how many become unneeded in one loop', () => {
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

  it('a restart of a container ends what a pod has built up: it is moved as a young one', () => {
    const since2h = { createdAtMs: START_MS - 120 * MINUTE };
    const steady = aPod({ name: 'steady', nodeName: 'p-0', cpu: '100m', ...since2h });
    const restarted = aPod({ name: 'restarted', nodeName: 'p-1', cpu: '100m', ...since2h, restartedAtMs: START_MS - 5 * MINUTE });
    expect(removed(plan({ ...roomy, pods: [steady, restarted], state: since, policy: aPolicy(drains) }))).toEqual(['p-2', 'p-1', 'p-0']);
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
    const entry = (linux: number) => ({ perHour: { linux }, readAtMs: 0 });
    const listed = { table: { standard_d4s_v5: entry(0.2), standard_d32s_v5: entry(1.6) }, remarks: [] };
    const withList = (part: object) => plan({ ...world, policy: aPolicy({ ...drains, scaleUp: { listPrices: { ...listed, ...part } } }) });
    expect(removed(withList({}))).toEqual(['p-1', 's-0', 'p-0']);
    expect(removed(withList({ onlyShown: true }))).toEqual(['p-1', 'p-0', 's-0']);
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
  const detail = (result: ReturnType<typeof plan>) =>
    result.kept.find(({ node, detail: said }) => node.startsWith('p-') && said !== undefined)?.detail;
  const world = { pods, state: since, policy: drains };

  it('do not count on the same destination', () => {
    const groups = [pool('p', 2), pool('q', 2, { minSize: 2 })];
    const shared = plan({ ...world, groups, nodes: [...closed('p-0', 'p-1'), ...nodes('q-0')] });
    expect(removed(shared)).toEqual(['p-0']);
    expect(detail(shared)).toBe('another drain moves pods to q-0');
    expect(removed(plan({ ...world, groups, nodes: [...closed('p-0', 'p-1'), ...slots(2)] }))).toEqual(['p-0', 'p-1']);
  });

  it('leave room for the pods of a drain that is under way', () => {
    const going = { group: nodeGroupId('p'), instance: keyOf('p-0'), sinceMs: START_MS, sentAtMs: undefined };
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
    expect(detail(spread)).toBe('the last node of a group in a zone is only drained alone');
    const same = plan({ ...world, groups, nodes: [zone('p-0', 'a'), zone('p-1', 'a'), zone('p-2', 'a'), ...slots(2)] });
    expect(removed(same)).toEqual(['p-0', 'p-1']);
    const both = plan({ ...world, groups, nodes: [zone('p-0', 'a'), zone('p-1', 'a'), ...slots(2)] });
    expect(removed(both)).toEqual(['p-0']);
  });
});
