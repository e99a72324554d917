/** A pool at its maximum, for which a pod waits: nothing is removed there only to be requested again. */
import { expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, worldOf } from './support.ts';

it('nodes of a full pool stay as long as a pod waits for that pool, and the unneeded one goes afterwards', async () => {
  const spec = worldOf([aPool({ name: 'general', count: 2, min: 1, max: 2 })]);
  const world = await startedWorld({ spec, flags: ['--scale-down-unneeded-time=3m', '--scale-down-delay-after-add=30s'] });
  // One pod on each node, which could share a node.
  world.world.cluster.apply(deployment({ name: 'small', replicas: 2, cpu: '1200m' }));
  await world.until('both run', () => bound(world, 'small') === 2, MINUTE);
  const large = deployment({ name: 'large', replicas: 1, cpu: '3' });
  world.world.cluster.apply(large);
  await world.until('the large pod waits', () => pending(world) === 1, MINUTE);
  await world.advance(15 * MINUTE);
  expect(world.writes()).toEqual([]);
  expect([capacity(world, 'general'), bound(world, 'small'), pending(world)]).toEqual([2, 2, 1]);
  world.world.cluster.remove(large);
  await world.until('the unneeded node is removed', () => capacity(world, 'general') === 1, 10 * MINUTE);
  expect(world.world.violations()).toEqual([]);
});
