/** Machines whose bootstrap fails, of every kind of pool: cleared and replaced, with less haste each time, and not for ever. */
import { expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, worldOf } from './support.ts';

const KINDS = ['vmss-uniform', 'vmss-flexible', 'vms-pool'] as const;
const ROWS = KINDS.map((kind, at) => ({ kind, pool: `pool${at}`, seen: new Set<string>(), born: new Set<string>() }));

it('a bad image costs few machines, leaves none behind, and the pool recovers with the next good one, of whatever kind it is', async () => {
  const pools = ROWS.map(({ kind, pool }) => aPool({ name: pool, kind, count: 2, min: 2, max: 8 }));
  const world = await startedWorld({ spec: worldOf(pools), flags: ['--scale-down-unneeded-time=2h', '--scan-interval=30s'] });
  const { control } = world.world.arm;
  const machines = (pool: string) => {
    const state = control.state();
    const own = state.sets.find(({ pool: of }) => of === pool)?.instances;
    return own ?? state.agentPools.find(({ name }) => name === pool)?.machines ?? [];
  };
  for (const { pool, seen } of ROWS) {
    control.addCatalogued({ number: 11, id: pool, match: { pool } });
    world.world.cluster.apply(deployment({ name: pool, replicas: 8, cpu: '1500m', spec: { nodeSelector: { agentpool: pool } } }));
    for (const { name } of machines(pool)) seen.add(name);
  }
  for (let minute = 0; minute < 25; minute++) {
    await world.advance(MINUTE);
    for (const { pool, seen, born } of ROWS) for (const { name } of machines(pool)) if (!seen.has(name)) born.add(name);
  }
  for (const { kind, pool, seen, born } of ROWS) {
    expect(born.size, kind).toBeGreaterThan(1);
    // Two at a time, after five and then ten minutes of rest.
    expect(born.size, kind).toBeLessThanOrEqual(8);
    expect(machines(pool).length, kind).toBeLessThanOrEqual(4);
    expect(
      machines(pool).filter(({ name }) => seen.has(name)),
      kind,
    ).toHaveLength(2);
    control.removeFault(pool);
  }
  await world.until('all bound', () => ROWS.every(({ pool }) => bound(world, pool) === 8), 25 * MINUTE);
  await world.advance(MINUTE);
  for (const { kind, pool } of ROWS) {
    expect(machines(pool), kind).toHaveLength(4);
    expect(
      machines(pool).every(({ provisioningState }) => provisioningState === 'Succeeded'),
      kind,
    ).toBe(true);
  }
  expect(world.world.violations()).toEqual([]);
});
