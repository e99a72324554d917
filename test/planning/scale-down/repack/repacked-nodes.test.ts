import { describe, expect, it } from 'vitest';
import { instanceKey, nodeGroupId } from '../../../../src/domain/ids.ts';
import { DEFAULT_REPACK, NOTHING_REPACKED, type RunningRepack } from '../../../../src/domain/repack.ts';
import type { MovedPods } from '../../../../src/domain/repack.ts';
import { withMovedPods } from '../../../../src/planning/scale-down/repacked-nodes.ts';
import { aNode, aPod, START_MS } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { keptReasons, MINUTE, nodes, plan, pool, removed, sinceMinutes, type World } from '../world.ts';
import { ORDINARY } from '../../../support/loop-report.ts';

const P = nodeGroupId('p');
const HOUR = 60 * MINUTE;

function repack(stage: RunningRepack['stage']): RunningRepack {
  return {
    set: {
      remove: [{ node: 'p-0', group: P, condition: undefined }],
      add: { group: P, nodes: 1 },
      saved: { nodes: 0, cpuMillis: 0, perHour: 0.1 },
      pods: 1,
      disruption: 1,
      score: 10,
    },
    stage,
    sinceMs: START_MS - HOUR,
    stageSinceMs: START_MS - HOUR,
    before: ['p-0', 'p-1'],
  };
}

const worldWith = (stage: RunningRepack['stage'] | undefined, createdAtMs = START_MS - 2 * HOUR): World => ({
  groups: [pool('p', 3)],
  nodes: nodes('p-0', 'p-1', 'p-2'),
  pods: [
    aPod({ name: 'moves', nodeName: 'p-0', cpu: '3', memory: '1Gi', createdAtMs }),
    aPod({ name: 'stays', nodeName: 'p-1', cpu: '3', memory: '1Gi', createdAtMs }),
  ],
  state: {
    unneededSince: new Map([['p-2', START_MS - HOUR]]),
    repacks: stage === undefined ? NOTHING_REPACKED : { ...NOTHING_REPACKED, running: [repack(stage)] },
  },
});

describe('the nodes of a repack', () => {
  it.each([
    { name: 'without one, the used node stays and the empty one goes', stage: undefined, gone: ['p-2'] },
    { name: 'while the new node is awaited, both stay', stage: 'adding' as const, gone: [] },
    { name: 'once the new node is ready, the old one goes at once although it is used', stage: 'draining' as const, gone: ['p-0'] },
  ])('$name', ({ stage, gone }) => {
    const result = plan(worldWith(stage));
    expect(removed(result)).toEqual(gone);
    // Budgets of removals and events tell what a repack removes from what is empty.
    expect(result.removals.map(({ cause }) => cause)).toEqual(gone.map((node) => (node === 'p-0' ? 'repacked' : 'empty')));
  });

  it.each([
    { causes: ['repacked'] as const, amount: 0, gone: [] },
    { causes: ['underutilized', 'sick'] as const, amount: 0, gone: ['p-0'] },
  ])('obey a budget of removals for $causes', ({ causes, amount, gone }) => {
    const policy = aPolicy({ scaleDown: { budgets: [{ unit: 'nodes', amount, per: 'pool', causes }] } });
    const result = plan({ ...worldWith('draining'), policy });
    expect([removed(result), keptReasons(result)['p-0']]).toEqual([gone, gone.length === 0 ? 'RemovalBudgetSpent' : undefined]);
  });

  it('stay if a pod came to them that may have been moved before', () => {
    const result = plan(worldWith('draining', START_MS - 59 * MINUTE));
    expect(removed(result)).toEqual([]);
    expect(keptReasons(result)).toMatchObject({ 'p-0': 'RepackInProgress', 'p-2': 'RepackInProgress' });
  });
});

describe('pods that a removal moved lately', () => {
  const web = (name: string, minutesAgo: number, owner = 'rs-web', nodeName = 'p-0') =>
    aPod({
      name,
      nodeName,
      cpu: '500m',
      memory: '1Gi',
      createdAtMs: START_MS - minutesAgo * MINUTE,
      controller: { kind: 'ReplicaSet', name: owner, uid: owner },
    });
  const moved = (pods: number, minutesAgo: number, owner = 'rs-web'): MovedPods => ({ owner, pods, atMs: START_MS - minutesAgo * MINUTE });
  const READY = nodes('p-0', 'p-1');
  const BROKEN = [aNode({ name: 'p-0', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } }), ...nodes('p-1')];

  it.each([
    { name: 'a pod that replaced one 20 min ago', pods: [web('a', 20)], moves: [moved(1, 21)], stays: true },
    {
      name: 'one whose node was moved from more than once',
      pods: [web('a', 50), web('b', 20)],
      moves: [moved(1, 51), moved(1, 21)],
      stays: true,
    },
    { name: 'the replacement is an hour old', pods: [web('a', 60)], moves: [moved(1, 61)], stays: false },
    { name: 'the pod is older than the removal', pods: [web('a', 30)], moves: [moved(1, 21)], stays: false },
    {
      name: 'its second is that of the removal',
      pods: [web('a', 21)],
      moves: [{ ...moved(1, 21), atMs: START_MS - 21 * MINUTE + 900 }],
      stays: true,
    },
    { name: 'another workload was moved', pods: [web('a', 20, 'rs-other')], moves: [moved(1, 21)], stays: false },
    {
      name: 'the pod that replaced it runs elsewhere, and this one came after it',
      pods: [web('first', 20, 'rs-web', 'p-1'), web('later', 5)],
      moves: [moved(1, 21)],
      stays: false,
    },
    { name: 'its node is broken', pods: [web('a', 20)], moves: [moved(1, 21)], nodes: BROKEN, stays: false },
    { name: 'nothing was moved', pods: [web('a', 20)], moves: [], stays: false },
  ])('keep their node or not: $name', ({ pods, moves, nodes: present = READY, stays }) => {
    const state = { unneededSince: sinceMinutes(30, ['p-0']), repacks: { ...NOTHING_REPACKED, moved: moves } };
    const full = aPod({ name: 'full', nodeName: 'p-1', cpu: '3', memory: '1Gi' });
    const result = plan({ groups: [pool('p', 2)], nodes: present, pods: [...pods, full], state });
    expect(removed(result)).toEqual(stays ? [] : ['p-0']);
    // The clock of the node goes on meanwhile.
    expect(result.unneeded.get('p-0')).toBe(START_MS - 30 * MINUTE);
    expect(result.kept.find(({ node }) => node === 'p-0')).toEqual(
      stays ? { node: 'p-0', utilization: expect.any(Number) as number, reason: 'RepackInProgress', ...held(pods.at(-1)) } : undefined,
    );
  });

  const held = (pod: ReturnType<typeof web> | undefined) => ({
    detail: `pod default/${pod?.name ?? ''} was moved ${Math.round((START_MS - (pod?.createdAtMs ?? 0)) / MINUTE)} min ago`,
    recheckAtMs: (pod?.createdAtMs ?? 0) + 60 * MINUTE,
  });

  it('are counted by workload where repacking is on, once their removal has begun', () => {
    const pods = [web('a', 90), web('b', 90), web('c', 90, 'rs-other'), aPod({ name: 'bare', controller: undefined })];
    const removal = (node: string, group = P) => ({
      group,
      node,
      instance: instanceKey(`i-${node}`),
      pods,
      unneededSinceMs: 0,
      cause: 'underutilized' as const,
      utilization: 0.2,
      ...ORDINARY,
    });
    const started = (node: string) => ({
      kind: 'started' as const,
      group: P,
      node,
      instance: instanceKey(`i-${node}`),
      pods: [],
      utilization: 0.2,
      empty: false,
      budgeted: undefined,
      atMs: START_MS,
    });
    const all = { removals: [removal('p-0'), removal('p-1')], outcomes: [started('p-0')] };
    const movedIn = (repack: boolean | undefined, enabled = false) =>
      withMovedPods(NOTHING_REPACKED, all, {
        groups: [pool('p', 2, repack === undefined ? {} : { options: { repack } })],
        policy: { ...aPolicy(), repack: { ...DEFAULT_REPACK, enabled } },
      }).moved;
    const counted = [
      { owner: 'rs-web', pods: 2, atMs: START_MS },
      { owner: 'rs-other', pods: 1, atMs: START_MS },
    ];
    expect([movedIn(true), movedIn(undefined, true), movedIn(undefined), movedIn(false, true)]).toEqual([counted, counted, [], []]);
  });
});
