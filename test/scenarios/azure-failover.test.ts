import { describeBlock } from '../../src/domain/group-blocks.ts';
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const EAGER = ['--scale-down-unneeded-time=20s', '--scale-down-delay-after-add=10s'];

function setState(world: VirtualRun, pool: string): string | undefined {
  return world.world.arm.control.state().sets.find((set) => set.pool === pool)?.provisioningState;
}

describe('a new leader that finds an operation under way', () => {
  it('removes nothing in that set until the operation is over and its machines were listed, and says why', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'general', count: 3 }), aPool({ name: 'quiet', count: 2 })]),
      flags: EAGER,
    });
    await world.stopDaemon();
    // What the leader before may have asked for in its last moment.
    world.world.arm.control.raise({ foreignScale: { pool: 'general', to: 4 } });
    expect(setState(world, 'general')).toBe('Updating');
    await world.startDaemon();
    const before = world.reports.length;
    await world.until('the end of the operation', () => setState(world, 'general') === 'Succeeded', 5 * MINUTE);
    const endedAtMs = world.clock.now();
    expect(world.writes().filter(({ pool }) => pool === 'general')).toEqual([]);
    // The other set is nobody's hostage.
    expect(capacity(world, 'quiet')).toBe(0);
    const kept = world.reports.slice(before).flatMap(({ scaleDown }) => scaleDown?.kept ?? []);
    expect(kept.some(({ reason }) => reason === 'GroupUnconfirmed')).toBe(true);
    await world.until('the removal of what is not needed', () => capacity(world, 'general') === 0, 5 * MINUTE);
    const list = world.world.arm.control
      .journal()
      .find(({ at, route, path }) => at > endedAtMs && route.endsWith('{name}/virtualMachines') && path.includes('-general-'));
    const removal = world.writes().find(({ pool }) => pool === 'general');
    expect(removal?.at).toBeGreaterThan(list?.at ?? Number.POSITIVE_INFINITY);
    expect(world.world.violations()).toEqual([]);
  });

  it('adds at once, on top of what was asked for', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1 })]), flags: EAGER });
    await world.stopDaemon();
    world.world.arm.control.raise({ foreignScale: { pool: 'general', to: 2 } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    const since = world.clock.now();
    await world.startDaemon();
    await world.until('a write', () => world.writes().length > 0, 30 * SECOND);
    expect(setState(world, 'general')).toBe('Updating');
    expect(world.writes()[0]).toMatchObject({ status: 200, capacityBefore: 2, capacityAfter: 4 });
    await world.until('all bound', () => bound(world, 'web') === 20, 5 * MINUTE);
    expect(world.clock.now() - since).toBeLessThan(5 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('a set or pool in a state of its own', () => {
  it('a set in state Failed is grown and shrunk like any other', async () => {
    const stock = { 'Standard_D4s_v5/0': 1 };
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2 })], { stock }), flags: EAGER });
    await world.stopDaemon();
    world.world.arm.control.raise({ foreignScale: { pool: 'general', to: 5 } });
    await world.until('a failed operation', () => setState(world, 'general') === 'Failed', 5 * MINUTE);
    world.world.arm.control.setStock('Standard_D4s_v5', '0', 100);
    await world.startDaemon();
    await world.advance(SECOND);
    const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes('general'));
    expect(describeBlock(group?.blocks.change)).toBeUndefined();
    expect(group?.target).toMatchObject({ known: true, confirmed: true });
    const grown = world.writes().length;
    world.world.cluster.apply(deployment({ name: 'web', replicas: 40, cpu: '700m' }));
    await world.until(
      'a write',
      () =>
        world
          .writes()
          .slice(grown)
          .some(({ route }) => route.startsWith('PUT')),
      3 * MINUTE,
    );
    await world.until('all bound', () => bound(world, 'web') === 40, 10 * MINUTE);
  });

  it.each([
    { name: 'upgrading', pool: { provisioningState: 'Upgrading' }, reason: 'its agent pool is in state Upgrading' },
    { name: 'stopped', pool: { provisioningState: 'Succeeded', powerState: { code: 'Stopped' } }, reason: 'its agent pool is stopped' },
    {
      name: "scaled by AKS's own autoscaler",
      pool: { provisioningState: 'Succeeded', enableAutoScaling: true },
      reason: 'AKS runs its own autoscaler over its agent pool',
    },
  ])('a pool that is $name is neither grown nor shrunk, and the pods get that reason', async ({ pool, reason }) => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2 })]), flags: EAGER });
    world.world.arm.control.addFault({
      id: 'pools',
      match: { method: 'GET', pathGlob: '**/agentPools' },
      effect: {
        kind: 'answer',
        status: 200,
        body: { value: [{ name: 'general', properties: { type: 'VirtualMachineScaleSets', ...pool } }] },
      },
    });
    await world.stopDaemon();
    await world.startDaemon();
    await world.advance(2 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 30, cpu: '700m' }));
    await world.advance(2 * MINUTE);
    expect(world.writes()).toEqual([]);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain(reason);
    // Once AKS is done, the pool is served again within a few minutes.
    world.world.arm.control.removeFault('pools');
    await world.until('a write', () => world.writes().length > 0, 4 * MINUTE);
  });
});
