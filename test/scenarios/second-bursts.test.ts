import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

const sizes = (world: VirtualRun): readonly (readonly (number | undefined)[])[] =>
  world.writes().map(({ capacityBefore, capacityAfter }) => [capacityBefore, capacityAfter]);

describe('bursts while nodes boot', () => {
  it('are each requested once, and nothing is requested again while the nodes join and fill', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 0, max: 20 })]) });
    world.world.cluster.apply(deployment({ name: 'small', replicas: 6, cpu: '1' }));
    world.world.cluster.apply(deployment({ name: 'large', replicas: 2, cpu: '3' }));
    await world.until('the first write', () => world.writes().length > 0, MINUTE);
    await world.advance(20 * SECOND);
    world.world.cluster.apply(deployment({ name: 'late', replicas: 3, cpu: '3500m' }));
    await world.until('all pods bound', () => bound(world, 'small') + bound(world, 'large') + bound(world, 'late') === 11, 10 * MINUTE);
    await world.advance(2 * MINUTE);
    expect(sizes(world)).toEqual([
      [0, 4],
      [4, 7],
    ]);
    expect(capacity(world, 'general')).toBe(7);
    expect(world.world.violations()).toEqual([]);
  });

  it('do not take the room that was requested for an earlier burst: kube-scheduler fills that node before the next one joins', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 0, max: 20 })]) });
    world.world.cluster.apply(deployment({ name: 'small', replicas: 3, cpu: '1' }));
    await world.until('the first write', () => world.writes().length > 0, MINUTE);
    await world.advance(20 * SECOND);
    world.world.cluster.apply(deployment({ name: 'late', replicas: 3, cpu: '2500m' }));
    await world.until('all pods bound', () => bound(world, 'small') + bound(world, 'late') === 6, 10 * MINUTE);
    await world.advance(2 * MINUTE);
    // Packed anew, three nodes would do for all six pods, but the three small ones are bound by the time that the second node joins.
    expect(sizes(world)).toEqual([
      [0, 1],
      [1, 4],
    ]);
    expect(world.world.violations()).toEqual([]);
  });
});
