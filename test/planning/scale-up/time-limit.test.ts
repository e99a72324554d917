import { describe, expect, it } from 'vitest';
import { cutAsRecorded } from '../../../src/loop/replay/replay.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { aGroup, aNode, aPod } from '../../support/builders.ts';
import { growth, planFor, verdictOf, type World } from './world.ts';

/** The first two kinds of pods need a new node, the third fits on the node that is there. */
const PODS = ['3', '3500m', '1'].map((cpu, index) => aPod({ name: `pod-${index}`, cpu }));
const WORLD: World = {
  groups: [aGroup({ id: 'a', target: 0, maxSize: 9 })],
  nodes: [aNode({ name: 'there', cpu: '2' })],
  pods: PODS,
};
const kinds = (plan: ScaleUpPlan, pods: readonly Pod[] = PODS) => pods.map((pod) => verdictOf(plan, pod)?.kind);

describe('the time limit of a plan', () => {
  it('covers the searches on nodes that are there: pods without a search wait, and the others get nodes', () => {
    const plan = planFor({ ...WORLD, isLate: (_made, searches) => searches === 2 });
    expect(kinds(plan)).toEqual(['triggered', 'triggered', 'waiting']);
    expect(growth(plan)).toEqual(['a 0->2']);
    expect(plan).toMatchObject({ cutShortAfter: 2, searchedUntilLate: 2 });
  });

  it('allows one search and one estimate, so that every loop requests something', () => {
    const plan = planFor({ ...WORLD, isLate: () => true });
    expect(kinds(plan)).toEqual(['triggered', 'waiting', 'waiting']);
    expect(growth(plan)).toEqual(['a 0->1']);
  });

  it('decides about pods that are equal to a refused one without another search', () => {
    const equal = Array.from({ length: 5 }, (_, index) => aPod({ name: `pod-00-${index}`, cpu: '3' }));
    const plan = planFor({ ...WORLD, pods: [...equal, ...PODS], isLate: (_made, searches) => searches === 1 });
    expect(kinds(plan, equal)).toEqual(equal.map(() => 'triggered'));
  });

  it.each([0, 1, 2, 3, 4])('is repeated by a replay, after %s looks at the clock', (looks) => {
    let asked = 0;
    const plan = planFor({ ...WORLD, isLate: () => ++asked > looks });
    expect(planFor({ ...WORLD, ...cutAsRecorded(plan) })).toEqual(plan);
  });
});
