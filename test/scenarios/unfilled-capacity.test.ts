/** Capacity that Azure accepted and could not fill, in a set that shows no failed machines. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, worldOf } from './support.ts';

const SIZE = 'Standard_E4s_v5';

/** One pool whose size is out of stock, and pods that need three nodes of it. */
async function refused(): Promise<VirtualRun> {
  const run = await startedWorld({
    spec: worldOf([aPool({ name: 'rare', vmSize: SIZE, count: 1, min: 1 })], { stock: { [`${SIZE}/0`]: 0 } }),
    knobs: { listFailedInstances: false },
  });
  run.world.cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '3' }));
  await run.until('an order', () => capacity(run, 'rare') === 4, 2 * MINUTE);
  return run;
}

const machines = (world: VirtualRun): number =>
  world.world.arm.control.state().sets.find(({ pool }) => pool === 'rare')?.instances.length ?? Number.NaN;

describe('a scale-up that Azure accepted and could not fill', () => {
  it('is given back, and the next node that is needed is the only one that comes', async () => {
    const world = await refused();
    await world.until('the capacity given back', () => capacity(world, 'rare') === 1, 4 * MINUTE);
    expect(machines(world)).toBe(1);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '3' }));
    world.world.arm.control.setStock(SIZE, '0', 10);
    await world.until('both pods to run', () => bound(world, 'web') === 2 && pending(world) === 0, 20 * MINUTE);
    expect([capacity(world, 'rare'), machines(world)]).toEqual([2, 2]);
    expect(world.world.violations()).toEqual([]);
  });

  it('is not ours any more after a restart: the capacity stays, and the difference is measured', async () => {
    const world = await refused();
    world.killDaemon();
    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '3' }));
    await world.startDaemon();
    await world.advance(15 * MINUTE);
    expect([capacity(world, 'rare'), machines(world)]).toEqual([4, 1]);
    expect(world.writes().filter(({ method }) => method === 'PUT')).toHaveLength(1);
    const drift = await world.metrics.registry.getSingleMetricAsString('aks_autoscaler_node_group_drift');
    expect(drift).toMatch(/rare.*kind="instances".* -3/);
    expect(world.world.violations()).toEqual([]);
  });
});
