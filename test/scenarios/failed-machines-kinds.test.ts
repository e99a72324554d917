/** Machines whose bootstrap fails, of every kind of pool: cleared and replaced, with less haste each time, and not for ever. */
import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, worldOf } from './support.ts';

describe.each(['vmss-uniform', 'vmss-flexible', 'vms-pool'] as const)('a bad image of a %s', (kind) => {
  it('costs few machines, leaves none behind, and the pool recovers with the next good one', async () => {
    const pool = aPool({ name: 'general', kind, count: 2, min: 2, max: 8 });
    const world = await startedWorld({ spec: worldOf([pool]), flags: ['--scale-down-unneeded-time=2h', '--scan-interval=30s'] });
    const machines = () => {
      const state = world.world.arm.control.state();
      const own = state.sets.find(({ pool: of }) => of === 'general')?.instances;
      return own ?? state.agentPools.find(({ name }) => name === 'general')?.machines ?? [];
    };
    world.world.arm.control.addCatalogued({ number: 11, id: 'image', match: { pool: 'general' } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '1500m' }));
    const seen = new Set(machines().map(({ name }) => name));
    const born = new Set<string>();
    for (let minute = 0; minute < 25; minute++) {
      await world.advance(MINUTE);
      for (const { name } of machines()) if (!seen.has(name)) born.add(name);
    }
    expect(born.size).toBeGreaterThan(1);
    // Two at a time, after five and then ten minutes of rest.
    expect(born.size).toBeLessThanOrEqual(8);
    expect(machines().length).toBeLessThanOrEqual(4);
    expect(machines().filter(({ name }) => seen.has(name))).toHaveLength(2);
    world.world.arm.control.removeFault('image');
    await world.until('all bound', () => bound(world, 'web') === 8, 25 * MINUTE);
    await world.advance(MINUTE);
    expect(machines()).toHaveLength(4);
    expect(machines().every(({ provisioningState }) => provisioningState === 'Succeeded')).toBe(true);
    expect(world.world.violations()).toEqual([]);
  });
});
