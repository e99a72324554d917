import { describe, expect, it } from 'vitest';
import { aGroup, aNode, aPod } from '../../support/builders.ts';
import { growth, planFor, verdictOf } from './world.ts';

/** A node has room for 4 CPUs less what every node keeps. */
const high = (cpu: string) => aPod({ cpu, shape: { priority: 100 } });
const low = (cpu: string) => aPod({ cpu });

describe('capacity that is short goes to pods of higher priority', () => {
  it('though packing by size would have taken a larger pod first', () => {
    const [first, second, large] = [high('1500m'), high('1500m'), low('2500m')];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods: [large, first, second] });
    expect(growth(plan)).toEqual(['a 0->1']);
    expect([first, second].map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered']);
    expect(verdictOf(plan, large)).toMatchObject({ kind: 'waiting', detail: expect.stringContaining('higher priority') as string });
  });

  it('and in one plan with the others where it is not short', () => {
    const pods = [low('2500m'), high('1500m'), high('1500m')];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 2 })], pods });
    expect(pods.map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered', 'triggered']);
  });

  it('and is not held back for a pod that nothing can help', () => {
    const [impossible, other] = [high('64'), low('2500m')];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods: [impossible, other] });
    expect([impossible, other].map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['helpless', 'triggered']);
  });

  it('where one priority cannot be helped and the next can', () => {
    const [impossible, middle, second, large] = [
      aPod({ cpu: '64', shape: { priority: 1000 } }),
      high('1500m'),
      high('1500m'),
      low('2500m'),
    ];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods: [large, impossible, middle, second] });
    expect([middle, second].map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered']);
    expect([verdictOf(plan, impossible)?.kind, verdictOf(plan, large)?.kind]).toEqual(['helpless', 'waiting']);
  });

  it('and what they leave on nodes that are there is for the others', () => {
    const [first, second, large, small] = [high('1500m'), high('1500m'), low('2500m'), low('200m')];
    const nodes = [aNode({ name: 'full' })];
    const filler = aPod({ cpu: '3500m', nodeName: 'full' });
    const groups = [aGroup({ id: 'a', target: 0, maxSize: 1 })];
    const plan = planFor({ groups, nodes, pods: [filler, large, small, first, second] });
    expect([first, second].map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered']);
    expect(verdictOf(plan, small)?.kind).toBe('fits-present-node');
  });
});
