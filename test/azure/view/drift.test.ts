import { describe, expect, it } from 'vitest';
import { isGroupSettled } from '../../../src/azure/groups/settled.ts';
import { driftsOf, DriftWatch } from '../../../src/azure/view/drift.ts';
import type { Instance, InstanceState, NodeGroup } from '../../../src/domain/node-group.ts';
import { aGroup, anInstance, type GroupOptions } from '../../support/builders.ts';

const MINUTE = 60_000;

function group(target: number, states: readonly InstanceState[], rest: GroupOptions = {}): NodeGroup {
  const instances: readonly Instance[] = states.map((state, index) => ({ ...anInstance({ node: `a-${index}` }), state }));
  return aGroup({ id: 'a', target, instances, ...rest });
}

const running = (count: number): readonly InstanceState[] => Array.from({ length: count }, () => 'running' as const);

describe('what differs', () => {
  it.each<[string, NodeGroup, number | undefined, number, string, boolean?]>([
    ['nothing', group(3, running(3)), 3, 3, ''],
    ['AKS counts fewer than the capacity', group(3, running(3)), 1, 3, 'agent-pool 1/3'],
    ['AKS lists no count', group(3, running(3)), undefined, 3, ''],
    ['a machine is missing', group(3, running(2)), 3, 2, 'instances 2/3'],
    ['a machine is being deleted', group(2, [...running(2), 'deleting']), 2, 2, ''],
    ['a node is missing', group(3, running(3)), 3, 2, 'nodes 2/3'],
    ['a deallocated machine has no node', group(3, [...running(2), 'deallocated']), 3, 2, ''],
    ['a deallocated machine whose node stays', group(3, [...running(2), 'deallocated']), 3, 3, ''],
    ['more nodes than machines, deallocated ones included', group(3, [...running(2), 'deallocated']), 3, 4, 'nodes 4/3'],
    ['AKS counts what it did not deallocate itself', group(3, [...running(2), 'deallocated']), 2, 3, '', true],
    ['AKS counts more than is not deallocated', group(3, [...running(2), 'deallocated']), 3, 3, 'agent-pool 3/2', true],
    ['a node without a machine', group(2, running(2)), 2, 3, 'nodes 3/2'],
    ['a size that is not known', group(3, running(1), { target: { known: false, reason: 'x' } }), 9, 9, ''],
    ['machines that are not known', { ...group(3, []), instances: undefined }, 9, 9, ''],
  ])('%s', (_, each, agentPoolCount, nodes, said, parks = false) => {
    const drifts = driftsOf(each, { agentPoolCount, deallocates: parks, nodes }).filter(({ counted, expected }) => counted !== expected);
    expect(drifts.map(({ kind, counted, expected }) => `${kind} ${counted}/${expected}`).join(' ')).toBe(said);
  });
});

describe('a settled group', () => {
  it.each<[string, NodeGroup, number, boolean]>([
    ['all run', group(2, running(2)), 0, true],
    ['one is created', group(2, [...running(1), 'creating']), 0, false],
    ['one failed', group(2, [...running(1), 'failed']), 0, false],
    ['a change of ours runs', group(2, running(2)), 1, false],
    ['it is frozen', group(2, running(2), { frozen: 'its agent pool is in state Upgrading' }), 0, false],
  ])('%s', (_, each, inFlight, is) => {
    expect(isGroupSettled(each, inFlight)).toBe(is);
  });
});

describe('the watch', () => {
  const differs = (counted: number, id = 'a') => ({ id, drifts: [{ kind: 'agent-pool' as const, counted, expected: 3 }] });

  it('reports a difference once after ten minutes, and its end', () => {
    const watch = new DriftWatch();
    expect(watch.newLastingDrifts([differs(1)], 0)).toBeUndefined();
    expect(watch.newLastingDrifts([differs(1)], 10 * MINUTE - 1)).toBeUndefined();
    expect(watch.newLastingDrifts([differs(1)], 10 * MINUTE)).toEqual(['a: the count of AKS 1, expected 3']);
    expect(watch.newLastingDrifts([differs(2)], 11 * MINUTE)).toBeUndefined();
    expect(watch.newLastingDrifts([differs(3)], 12 * MINUTE)).toEqual([]);
    expect(watch.newLastingDrifts([differs(3)], 13 * MINUTE)).toBeUndefined();
  });

  it('pools that differ are one line of news, and one more is news', () => {
    const watch = new DriftWatch();
    watch.newLastingDrifts([differs(1), differs(2, 'b')], 0);
    expect(watch.newLastingDrifts([differs(1), differs(2, 'b')], 10 * MINUTE)).toHaveLength(2);
    watch.newLastingDrifts([differs(1), differs(2, 'b'), differs(4, 'c')], 11 * MINUTE);
    expect(watch.newLastingDrifts([differs(1), differs(2, 'b'), differs(4, 'c')], 21 * MINUTE)).toHaveLength(3);
  });

  it('a changing group starts again', () => {
    const watch = new DriftWatch();
    watch.newLastingDrifts([differs(1)], 0);
    watch.newLastingDrifts([], 9 * MINUTE);
    watch.newLastingDrifts([differs(1)], 9.5 * MINUTE);
    expect(watch.newLastingDrifts([differs(1)], 11 * MINUTE)).toBeUndefined();
  });
});
