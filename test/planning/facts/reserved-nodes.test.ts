import { describe, expect, it } from 'vitest';
import type { ReservedCapacity } from '../../../src/domain/quotas-and-prices.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { paidAndReserved } from '../../../src/planning/facts/reserved-nodes.ts';
import { aGroup, aNode, aTemplate, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { keptReasons, names, nodes, observe, plan, pod, pool, removed, sinceMinutes, slots, type World } from '../scale-down/world.ts';

/** `others`: VMs of other clusters. */
function reserved(count: number, ours: readonly string[], others = 0): ReservedCapacity {
  const vms = ours.length + others;
  return { name: 'r', group: 'crg', reserved: count, used: vms, listed: { vms, instances: ours.map(keyOf) } };
}
const keeping = aPolicy({ scaleDown: { maxParallel: 20, maxParallelDrains: 20, keepReserved: true } });
const world = (capacity: ReservedCapacity, part: Partial<World> = {}): World => ({
  groups: [pool('p', 4)],
  nodes: nodes(...names(4)),
  state: { unneededSince: sinceMinutes(30, names(4)) },
  policy: keeping,
  cloud: { reservations: [capacity] },
  ...part,
});
const broken = aNode({ name: 'p-0', cpu: '4', memory: '16Gi', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } });

describe('nodes of a capacity reservation', () => {
  it.each([
    { name: 'that is full stay, and others go', given: world(reserved(2, ['p-0', 'p-1'])), removes: ['p-2', 'p-3'] },
    { name: 'that has room stay', given: world(reserved(9, ['p-0', 'p-1'])), removes: ['p-2', 'p-3'] },
    { name: 'of one plan go as far as more use it than it reserves', given: world(reserved(2, names(4))), removes: ['p-0', 'p-1'] },
    { name: 'go if VMs of others fill it', given: world(reserved(2, ['p-0', 'p-1'], 2)), removes: names(4) },
    { name: 'whose list is unknown go', given: world({ name: 'r', group: 'crg', reserved: 0, used: 0, unknown: 'x' }), removes: names(4) },
    {
      name: 'go if that is asked for',
      given: world(reserved(2, ['p-0', 'p-1']), { policy: aPolicy({ scaleDown: { maxParallel: 20, keepReserved: false } }) }),
      removes: names(4),
    },
    {
      name: 'do not go while others of it are leaving',
      given: world(reserved(2, names(3)), {
        state: {
          unneededSince: sinceMinutes(30, names(4)),
          deleting: new Map([['p-0', { group: nodeGroupId('p'), instance: keyOf('p-0'), sinceMs: START_MS, sentAtMs: undefined }]]),
        },
      }),
      removes: ['p-3'],
    },
    {
      name: 'go if they are broken',
      given: world(reserved(2, ['p-0', 'p-1']), { nodes: [broken, ...nodes('p-1', 'p-2', 'p-3')] }),
      removes: ['p-0', 'p-2', 'p-3'],
    },
  ])('$name', ({ given, removes }) => {
    expect(removed(plan(given)).toSorted()).toEqual(removes);
  });

  it('says why they stay', () => {
    const result = plan(world(reserved(3, ['p-0', 'p-1'])));
    expect(keptReasons(result)).toEqual({ 'p-0': 'CapacityReserved', 'p-1': 'CapacityReserved' });
    expect([...result.unneeded.keys()]).toEqual(['p-2', 'p-3']);
    expect(result.kept[0]?.detail).toBe(
      'it is in capacity reservation group crg, where 2 of 3 reserved VMs are in use: they are paid for anyway',
    );
  });
});

describe('what is paid and idle', () => {
  const template = { ...aTemplate(), reservations: ['r'] };
  const seen = (used: number) =>
    observe({
      groups: [aGroup({ id: 'p', vmSize: 'Standard_D8s_v5', target: 1, template })],
      nodes: [],
      cloud: { reservations: [{ name: 'r', group: 'crg', reserved: 5, used }] },
    });
  const size = 'standard_d8s_v5';
  it.each([
    { name: 'reserved VMs alone', used: 2, paid: [], idle: [3] },
    { name: 'none if more use it than it reserves', used: 7, paid: [], idle: [0] },
    { name: 'the larger number, since a count may pay the reserved VMs', used: 2, paid: [{ size, count: 3 }], idle: [3] },
    { name: 'a count alone', used: 5, paid: [{ size, count: 3 }], idle: [2] },
    { name: 'another size beside it', used: 2, paid: [{ size: 'other', count: 1 }], idle: [1, 3] },
  ])('$name', ({ used, paid, idle }) => {
    expect(paidAndReserved(paid, seen(used)).map((use) => use.idle)).toEqual(idle);
  });
});

describe('the order of removals with paid nodes', () => {
  const all = ['p-0', 'p-1', 's-0'];
  const groups = [pool('p', 2, { vmSize: 'paid' }), pool('s', 1, { vmSize: 'bought' }), pool('q', 9, { minSize: 9, vmSize: 'bought' })];
  const given = (count: number, prices?: Readonly<Record<string, number>>): World => ({
    groups,
    nodes: [...all.map((name) => aNode({ name, cpu: '4', memory: '16Gi', unschedulable: true })), ...slots(9)],
    pods: all.map((name) => pod(name, '100m')),
    state: { unneededSince: sinceMinutes(30, all) },
    policy: aPolicy({
      scaleDown: { maxParallelDrains: 5 },
      scaleUp: { prices, paidNodes: count === 0 ? [] : [{ size: 'paid', count }] },
    }),
  });
  const prices = { paid: 9, bought: 0.1 };

  it.each([
    { name: 'nothing is paid: what saves the most', count: 0, prices, order: ['p-0', 'p-1', 's-0'] },
    { name: 'all of the size are paid: the other one first', count: 2, prices, order: ['s-0', 'p-0', 'p-1'] },
    { name: 'one of the size is bought: that one first, the paid one last', count: 1, prices, order: ['p-0', 's-0', 'p-1'] },
    { name: 'prices are unknown: the count decides nothing', count: 2, prices: undefined, order: ['p-0', 'p-1', 's-0'] },
  ])('$name', ({ count, prices: known, order }) => {
    expect(removed(plan(given(count, known)))).toEqual(order);
  });
});
