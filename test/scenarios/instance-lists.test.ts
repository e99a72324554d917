/** The list of a set's instances is the most expensive read: at most two of them in a minute, whatever happens in the set. */
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

let run: VirtualRun | undefined;
afterEach(async () => {
  await run?.stop();
  run = undefined;
});

const FLAGS = ['--scale-down-unneeded-time=30s', '--scale-down-delay-after-add=10s'];

/** The most lists of the pool's instances that the daemon sent within a minute. A list has one page here. */
function mostListsInAMinute(world: VirtualRun, sinceMs: number): number {
  const lists = world.world.arm.control
    .journal()
    .filter(
      ({ at, method, path, principal }) =>
        at >= sinceMs && principal !== '' && method === 'GET' && /aks-general[^/]*\/virtualMachines$/i.test(path),
    );
  return Math.max(0, ...lists.map(({ at }) => lists.filter((other) => other.at >= at && other.at < at + MINUTE).length));
}

describe('lists of the instances of one set', () => {
  it('stay within two a minute while it grows in steps', async () => {
    run = await VirtualRun.start({ spec: worldOf([aPool({ name: 'general', count: 1, max: 40 })]), flags: ['--scale-down-enabled=false'] });
    const world = run;
    const since = world.clock.now() + 30 * SECOND;
    await world.advance(30 * SECOND);
    for (let step = 1; step <= 8; step++) {
      world.world.cluster.apply(deployment({ name: `web-${step}`, replicas: 3, cpu: '3' }));
      await world.advance(15 * SECOND);
    }
    await world.until('all bound', () => bound(world, 'web-8') === 3, 8 * MINUTE);
    expect(mostListsInAMinute(world, since)).toBeLessThanOrEqual(2);
    expect(world.world.violations()).toEqual([]);
  });

  it('stay within two a minute while thirty of its nodes are removed', async () => {
    run = await VirtualRun.start({ spec: worldOf([aPool({ name: 'general', count: 30, max: 40 })]), flags: FLAGS });
    const world = run;
    const since = world.clock.now() + 30 * SECOND;
    await world.until('all removed', () => capacity(world, 'general') === 0, 20 * MINUTE);
    await world.advance(3 * MINUTE);
    expect(mostListsInAMinute(world, since)).toBeLessThanOrEqual(2);
    expect(world.world.violations()).toEqual([]);
  });
});
