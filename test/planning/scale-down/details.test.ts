import { expect, it } from 'vitest';
import { aBudget, aNode, aPod, START_MS } from '../../support/builders.ts';
import { plan, pool, sinceMinutes, type World } from './world.ts';

const one: World = { groups: [pool('p', 1)], nodes: [aNode({ name: 'p-0' })], state: { unneededSince: sinceMinutes(30, ['p-0']) } };
const target = (confirmed: boolean) => ({ known: true, value: 1, version: '1', confirmed, observedAtMs: START_MS }) as const;
const unseen = aBudget({ name: 'b', disruptionsAllowed: 0, expectedPods: 0, currentHealthy: 0, desiredHealthy: 0 });

it.each<{ readonly name: string; readonly world: World; readonly says: object }>([
  {
    name: 'a frozen group says what froze it',
    world: { ...one, groups: [pool('p', 1, { frozen: 'the pool is being upgraded' })] },
    says: { reason: 'GroupFrozen', detail: 'the pool is being upgraded' },
  },
  {
    name: 'a group whose removals are blocked says by what',
    world: { ...one, groups: [pool('p', 1, { removalsHeld: 'removals are paused' })] },
    says: { reason: 'GroupFrozen', detail: 'removals are paused' },
  },
  {
    name: 'a size that nobody knows says why',
    world: { ...one, groups: [pool('p', 1, { target: { known: false, reason: 'never read' } })] },
    says: { reason: 'GroupUnconfirmed', detail: 'its target size is unknown: never read' },
  },
  {
    name: 'a size that is only expected',
    world: { ...one, groups: [pool('p', 1, { target: target(false) })] },
    says: { reason: 'GroupUnconfirmed', detail: 'its target size is not confirmed since its last change' },
  },
  {
    name: 'a minimum says its number',
    world: { ...one, groups: [pool('p', 1, { minSize: 1 })] },
    says: { reason: 'NodeGroupMinSizeReached', detail: 'its node group is at its minimum size of 1' },
  },
  {
    name: 'a node without a size',
    world: { ...one, nodes: [aNode({ name: 'p-0', memory: '0' })] },
    says: { reason: 'UnexpectedError', detail: 'the node has no allocatable CPU or memory, or only for ignored pods' },
  },
  {
    name: 'a budget whose controller has not spoken',
    world: { ...one, pods: [aPod({ nodeName: 'p-0', cpu: '100m' })], budgets: [unseen] },
    says: { reason: 'BlockedByPod', blocker: { reason: 'NotEnoughPdb', detail: 'default/b: its status has no pod counts yet' } },
  },
])('$name', ({ world, says }) => {
  const result = plan(world);
  expect(result.removals).toEqual([]);
  expect(result.kept).toMatchObject([says]);
});
