import { describe, expect, it } from 'vitest';
import { DELETION_CANDIDATE_TAINT } from '../../../src/domain/taints.ts';
import { anInstance, aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { nodes, names, removed, pod, keptReasons, MINUTE, plan, pool, sinceMinutes } from './world.ts';

describe('groups that go as a whole', () => {
  const whole = (id: string, size: number, rest = {}) => pool(id, size, { maxSize: size, options: { zeroOrMax: true, ...rest } });
  const gone = (result: ReturnType<typeof plan>) => [...removed(result)].sort();

  it('of four nodes three could go: none does, and the reason names the count', () => {
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
    expect(result.kept.find(({ node }) => node === 'p-0')?.detail).toContain('only 3 of its 4 nodes can be removed');
    const free = plan({ groups: [whole('p', 4)], nodes: nodes(...all), state });
    expect(gone(free)).toEqual(all);
    expect(free.removals.every((removal) => removal.together === true)).toBe(true);
  });

  it('a node whose time has not come holds the others', () => {
    const state = { unneededSince: new Map([...sinceMinutes(30, names(3)), ['p-3', START_MS - MINUTE] as const]) };
    const result = plan({ groups: [whole('p', 4)], nodes: nodes(...names(4)), state });
    expect(Object.values(keptReasons(result)).sort()).toEqual([...Array<string>(3).fill('AtomicScaleDownFailed'), 'NotUnneededLongEnough']);
  });

  it('complete is also who has all that registered, when the rest never came', () => {
    const state = { unneededSince: sinceMinutes(30, names(3)) };
    expect(gone(plan({ groups: [whole('p', 4)], nodes: nodes(...names(3)), state }))).toEqual(names(3));
  });

  it('a group of 20 with 10 allowed goes alone, and others get nothing', () => {
    const all = names(20);
    const state = { unneededSince: sinceMinutes(30, [...all, 'x-0']) };
    const result = plan({ groups: [whole('p', 20), pool('x', 1)], nodes: nodes(...all, 'x-0'), state });
    expect(gone(result)).toEqual([...all].sort());
    expect(keptReasons(result)['x-0']).toBe('RemovalBudgetSpent');
  });

  it('the second such group waits, and so does one while other removals are under way to the limit', () => {
    const all = [...names(8), ...names(8, 's')];
    const state = { unneededSince: sinceMinutes(30, all) };
    const result = plan({ groups: [whole('p', 8), whole('s', 8)], nodes: nodes(...all), state });
    expect(gone(result)).toEqual(names(8));
    expect(result.kept.find(({ node }) => node === 's-0')).toMatchObject({
      reason: 'RemovalBudgetSpent',
      detail: 'parallel removals left: 2, needed: 8',
    });
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

  it('failed ones go at once, below the minimum too', () => {
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
  ])('of four one never registered: $name', ({ rest, pods, going }) => {
    const group = pool('p', 4, { maxSize: 4, instances: unborn, ...rest });
    const result = plan({ groups: [group], nodes: nodes('p-0'), pods: pods ?? [] });
    expect(result.instanceRemovals).toEqual(going.map((name) => ({ group: 'p', instance: keyOf(name), cause: 'never-registered' })));
  });

  it('the nodes that did come up go the ordinary way, as the whole that they are', () => {
    const group = pool('p', 1, { maxSize: 4, options: whole, instances: [anInstance({ node: 'p-0' })] });
    expect(removed(plan({ groups: [group], nodes: nodes('p-0'), state: { unneededSince: sinceMinutes(30, ['p-0']) } }))).toEqual(['p-0']);
  });

  it('one that failed takes those on their way with it, below the minimum too', () => {
    const group = pool('p', 3, { minSize: 3, maxSize: 3, options: whole, instances: [stranger('p-1', 1), failed] });
    const result = plan({ groups: [group], nodes: [] });
    expect(result.instanceRemovals.map(({ cause }) => cause)).toEqual(['failed', 'failed']);
  });

  it('of three that never registered only the one above the minimum goes', () => {
    const instances = [anInstance({ node: 'p-0' }), stranger('p-1', 16), stranger('p-2', 16), stranger('p-3', 16)];
    const result = plan({ groups: [pool('p', 4, { minSize: 3, instances })], nodes: nodes('p-0') });
    expect(result.instanceRemovals).toEqual([{ group: 'p', instance: keyOf('p-1'), cause: 'never-registered' }]);
  });

  it.each([
    { name: 'too young', instances: [anInstance({ node: 'p-0' }), stranger('p-1', 14)], rest: {} },
    { name: 'frozen group', instances: [anInstance({ node: 'p-0' }), failed], rest: { frozen: 'upgrading' } },
    { name: 'removals blocked', instances: [anInstance({ node: 'p-0' }), failed], rest: { removalsHeld: 'paused' } },
    {
      name: 'never registered, while a schedule keeps nodes',
      instances: [anInstance({ node: 'p-0' }), stranger('p-1', 16)],
      rest: { removalsHeld: 'off', removalsHeldOf: 'nodes' as const },
    },
    {
      name: 'a whole group while a schedule keeps nodes',
      instances: [failed, stranger('p-1', 1)],
      rest: { maxSize: 2, options: whole, removalsHeld: 'off', removalsHeldOf: 'nodes' as const },
    },
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

  it('go if they failed, although a schedule keeps nodes', () => {
    const held = { removalsHeld: 'off', removalsHeldOf: 'nodes' as const };
    const group = pool('p', 2, { instances: [anInstance({ node: 'p-0' }), failed], ...held });
    expect(plan({ groups: [group], nodes: nodes('p-0') }).instanceRemovals).toMatchObject([{ cause: 'failed' }]);
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
    expect(result.inhibited).toBe('a watch of the cluster last received data 240 s ago; the limit is 180 s');
  });
});

it('ignores soft taints when it judges', () => {
  const marked = aNode({ name: 'p-0', taints: [{ key: DELETION_CANDIDATE_TAINT, value: '1', effect: 'PreferNoSchedule' }] });
  expect(plan({ groups: [pool('p', 1)], nodes: [marked] }).unneeded.has('p-0')).toBe(true);
});
