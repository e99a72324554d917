import { describe, expect, it } from 'vitest';
import { idleCost, savedByRemovals } from '../../../src/planning/expanders/node-price.ts';
import { costOfNew, paidAmong, paidLeft, paidUses, takePaid } from '../../../src/planning/facts/paid-nodes.ts';
import { aCluster, aGroup, aNode, anObservation } from '../../support/builders.ts';
import { NO_PRICES } from '../../../src/domain/policy.ts';

const D8 = 'standard_d8s_v5';
const vmSize = 'Standard_D8s_v5';
const outside = (name: string, labels: Readonly<Record<string, string>> = {}) =>
  aNode({ name, labels: { 'node.kubernetes.io/instance-type': vmSize, ...labels } });
const observed = (groups: Parameters<typeof aGroup>[0][], nodes = [] as ReturnType<typeof aNode>[]) =>
  anObservation(groups.map(aGroup), aCluster({ nodes }));
const use = (count: number, ...given: Parameters<typeof observed>) => paidUses([{ size: D8, count }], observed(...given))[0];

describe('paid nodes', () => {
  it('are idle without nodes of the size', () => {
    expect(use(10, [{ id: 'a', vmSize: 'Standard_D4s_v5', target: 3 }])).toMatchObject({ running: 0, idle: 10 });
    expect(paidUses(undefined, observed([]))).toEqual([]);
  });

  it('are used by requested nodes, by groups in the order of their ids, and never below zero', () => {
    const groups = [
      { id: 'b', vmSize, target: 3 },
      { id: 'a', vmSize, target: 2 },
    ];
    const some = use(4, groups);
    expect(some).toMatchObject({ running: 5, idle: 0 });
    expect([...(some?.covered ?? [])]).toEqual([
      ['a', 2],
      ['b', 2],
    ]);
    expect(use(6, groups)).toMatchObject({ running: 5, idle: 1 });
  });

  it('are used by nodes outside the groups first, and never by Spot nodes', () => {
    const nodes = [outside('n1'), outside('n2', { 'kubernetes.azure.com/scalesetpriority': 'spot' })];
    const groups = [
      { id: 'a', vmSize, target: 2 },
      { id: 'spot', vmSize, target: 5, priority: 'Spot' as const },
    ];
    const one = use(2, groups, nodes);
    expect(one).toMatchObject({ running: 3, idle: 0 });
    expect([...(one?.covered ?? [])]).toEqual([['a', 1]]);
  });

  it('make new nodes free until they are used up', () => {
    const [group, spot] = [aGroup({ id: 'a', vmSize }), aGroup({ id: 's', vmSize, priority: 'Spot' })];
    const left = paidLeft([{ size: D8, count: 2 }], observed([]));
    expect([1, 2, 3].map((nodes) => costOfNew(nodes, paidAmong(left, group, nodes), 0.4))).toEqual([0, 0, 0.4]);
    expect([1, 2, 3].map((nodes) => costOfNew(nodes, paidAmong(left, group, nodes), undefined))).toEqual([0, 0, undefined]);
    expect(costOfNew(1, paidAmong(left, spot, 1), 0.1)).toBe(0.1);
    expect(costOfNew(2, paidAmong(takePaid(left, group, 1), group, 2), 0.4)).toBe(0.4);
    expect(takePaid(left, spot, 1)).toBe(left);
  });

  it('save nothing when they are removed, once no bought node is left', () => {
    const paidSizes = [{ size: D8, count: 2 }];
    const group = aGroup({ id: 'a', vmSize, target: 3 });
    const saved = savedByRemovals(
      [group, group],
      { ...NO_PRICES, prices: { [D8]: 0.4 }, paidNodes: paidSizes },
      observed([{ id: 'a', vmSize, target: 3 }]),
    );
    expect(saved).toEqual([0.4, 0]);
    expect(savedByRemovals([group], { ...NO_PRICES, prices: { [D8]: 0.4 } }, observed([]))).toEqual([0.4]);
  });

  it('that are idle cost their price, or an unknown amount', () => {
    const idle = use(3, []);
    expect(idle && idleCost(idle, { ...NO_PRICES, prices: { [D8]: 0.4 } })).toBeCloseTo(1.2);
    expect(idle && idleCost(idle, NO_PRICES)).toBeUndefined();
  });
});
