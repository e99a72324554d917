/** Nodes on their way out are neither removed again nor counted on. */
import { describe, expect, it } from 'vitest';
import { type Taint, TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { aNode, anInstance, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { keptReasons, MINUTE, plan, pool, sinceMinutes } from './world.ts';

const marked = (value: string): readonly Taint[] => [{ key: TO_BE_DELETED_TAINT, value, effect: 'NoSchedule' }];
const minutesAgo = (minutes: number) => String((START_MS - minutes * MINUTE) / 1000);
const names = ['p-0', 'p-1'];

describe('a node with a deletion taint of another program', () => {
  it.each([
    { name: '2 min old: somebody does', value: minutesAgo(2), reason: 'CurrentlyBeingDeleted' },
    { name: '9 min old: its drain may take that long', value: minutesAgo(9), reason: 'CurrentlyBeingDeleted' },
    { name: '11 min old: evaluated again, and its timer begins', value: minutesAgo(11), reason: 'NotUnneededLongEnough' },
    { name: 'of tomorrow', value: minutesAgo(-1440), reason: 'CurrentlyBeingDeleted' },
    { name: 'that cannot be read', value: 'soon', reason: 'CurrentlyBeingDeleted' },
    { name: 'without a value', value: '', reason: 'CurrentlyBeingDeleted' },
  ])('$name: $reason', ({ value, reason }) => {
    const result = plan({ groups: [pool('p', 1)], nodes: [aNode({ name: 'p-0', taints: marked(value) })] });
    expect(keptReasons(result)).toEqual({ 'p-0': reason });
  });

  it('says why deletions of its pool wait, until Azure deletes its instance', () => {
    const details = (['running', 'deleting'] as const).map((state) => {
      const group = pool('p', 1, { deletionsWait: 'few are left', instances: [anInstance({ node: 'p-0', state })] });
      return plan({ groups: [group], nodes: [aNode({ name: 'p-0', taints: marked(minutesAgo(2)) })] }).kept.map(({ detail }) => detail);
    });
    expect(details).toEqual([['its removal is in progress, and deletions in its pool wait: few are left'], [undefined]]);
  });

  it.each([
    { name: 'being removed by another daemon counts for the minimum', value: minutesAgo(2), removed: [] },
    { name: 'whose taint was abandoned does not', value: minutesAgo(11), removed: ['p-1'] },
  ])('a node $name', ({ value, removed }) => {
    const group = pool('p', 2, { minSize: 1 });
    const nodes = [aNode({ name: 'p-0', taints: marked(value) }), aNode({ name: 'p-1' })];
    const result = plan({ groups: [group], nodes, state: { unneededSince: sinceMinutes(30, ['p-1']) } });
    expect(result.removals.map(({ node }) => node)).toEqual(removed);
  });

  it('an old mark on a node that is being removed says nothing: the removal does', () => {
    const deleting = new Map([
      ['p-0', { group: pool('p', 1).id, instance: keyOf('p-0'), sinceMs: START_MS - 9 * MINUTE, sentAtMs: undefined }],
    ]);
    const result = plan({ groups: [pool('p', 1)], nodes: [aNode({ name: 'p-0', taints: marked(minutesAgo(9)) })], state: { deleting } });
    expect(keptReasons(result)).toEqual({ 'p-0': 'CurrentlyBeingDeleted' });
  });
});

describe('a node whose instance Azure is deleting for another writer', () => {
  const instances = [anInstance({ node: 'p-0', state: 'deleting' }), anInstance({ node: 'p-1', state: 'running' })];

  it('is not removed again', () => {
    const group = pool('p', 1, { instances });
    const result = plan({
      groups: [group],
      nodes: names.map((name) => aNode({ name })),
      state: { unneededSince: sinceMinutes(30, names) },
    });
    expect(keptReasons(result)['p-0']).toBe('CurrentlyBeingDeleted');
    expect(result.removals.map(({ node }) => node)).toEqual(['p-1']);
  });

  it('takes no pods of others', () => {
    const pod = aPod({ nodeName: 'p-1', cpu: '1' });
    const group = pool('p', 1, { instances });
    const result = plan({
      groups: [group],
      nodes: names.map((name) => aNode({ name })),
      pods: [pod],
      state: { unneededSince: sinceMinutes(30, names) },
    });
    expect(keptReasons(result)['p-1']).toBe('NoPlaceToMovePods');
  });
});

it('says that nodes were not looked at, and why', () => {
  const many = Array.from({ length: 130 }, (_, index) => `p-${index}`);
  const stuck = many.map((name) => aPod({ nodeName: name, cpu: '1', shape: { nodeSelector: { only: 'here' } } }));
  const result = plan({ groups: [pool('p', 130)], nodes: many.map((name) => aNode({ name })), pods: stuck });
  expect(result.kept.filter(({ reason }) => reason === 'NoPlaceToMovePods')).toHaveLength(100);
  const others = result.kept.filter(({ reason }) => reason === 'RemovalBudgetSpent');
  expect(others).toHaveLength(30);
  for (const { detail } of others) expect(detail).toBe('not checked in this loop: the pods of 100 other nodes fit nowhere');
});

describe('a machine that its owner protects', () => {
  const guard = (protectedFrom: 'scale-in' | 'actions', state: 'running' | 'failed' = 'running') =>
    anInstance({ node: 'p-0', state, protectedFrom, firstSeenMs: START_MS - 60 * MINUTE });

  it.each([
    ['scale-in', 'its instance is protected from scale-in'],
    ['actions', 'its instance is protected from scale set actions'],
  ] as const)('from %s is not drained, however long its node is unneeded', (from, detail) => {
    const group = pool('p', 1, { instances: [guard(from), anInstance({ node: 'p-1' })] });
    const unneededSince = sinceMinutes(30, names);
    const result = plan({ groups: [group], nodes: names.map((name) => aNode({ name })), state: { unneededSince } });
    expect(result.kept).toEqual([{ node: 'p-0', reason: 'InstanceProtected', detail }]);
    expect(result.removals.map(({ node }) => node)).toEqual(['p-1']);
  });

  it.each([
    ['failed, from actions: Azure would refuse the whole batch', guard('actions', 'failed'), []],
    ['failed, from scale-in: it is no capacity', guard('scale-in', 'failed'), ['failed']],
    ['never registered, from actions', guard('actions'), []],
    ['never registered, from scale-in', guard('scale-in'), []],
  ] as const)('%s', (_name, instance, causes) => {
    const group = pool('p', 1, { instances: [instance, anInstance({ node: 'p-1' })] });
    const result = plan({ groups: [group], nodes: [aNode({ name: 'p-1' })] });
    expect(result.instanceRemovals.map(({ cause }) => cause)).toEqual(causes);
  });
});
