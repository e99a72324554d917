import { expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const TOLERATION = { key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' };
const KINDS = ['vmss-uniform', 'vmss-flexible', 'vms-pool'] as const;
const ROWS = KINDS.flatMap((kind, at) =>
  (['Delete', 'Deallocate'] as const).map((evictionPolicy, of) => ({
    kind,
    evictionPolicy,
    row: `${kind}, ${evictionPolicy}`,
    pool: `spot${at}${of}`,
  })),
);

it('Spot machines that are taken back are replaced at once, and what is left of them goes, by kind of pool and eviction policy', async () => {
  const pools = ROWS.map(({ pool, kind, evictionPolicy }) =>
    aPool({ name: pool, kind, count: 4, max: 12, priority: 'Spot', evictionPolicy }),
  );
  const flags = ['--scale-down-delay-after-add=1m', '--scale-down-unneeded-time=1h'];
  const world = await startedWorld({ spec: worldOf(pools), flags });
  const { control } = world.world.arm;
  /** Machines of the pool that are no capacity any more and have not gone. */
  const stopped = (pool: string): number => {
    const state = control.state();
    const own = state.sets.find((set) => set.pool === pool)?.instances ?? state.agentPools.find(({ name }) => name === pool)?.machines;
    return (own ?? []).filter(({ power }) => power === 'deallocated').length;
  };
  const writesOf = (pool: string) => world.writes().filter(({ path }) => path.includes(pool)).length;
  for (const { pool } of ROWS)
    world.world.cluster.apply(
      deployment({ name: pool, replicas: 4, cpu: '3', spec: { tolerations: [TOLERATION], nodeSelector: { agentpool: pool } } }),
    );
  const areBound = () => ROWS.every(({ pool }) => bound(world, pool) === 4);
  await world.until('all bound', areBound, 5 * MINUTE);
  await world.advance(MINUTE);
  const before = new Map(ROWS.map(({ pool }) => [pool, writesOf(pool)]));
  for (const { pool } of ROWS) control.raise({ evict: { pool, count: 2 } });
  await world.until('a write for each', () => ROWS.every(({ pool }) => writesOf(pool) > (before.get(pool) ?? 0)), 10 * SECOND);
  expect(events(world, 'NodePreempted')).toHaveLength(2 * ROWS.length);
  await world.until('all bound again', areBound, 10 * MINUTE);
  await world.until('none that is deallocated', () => ROWS.every(({ pool }) => stopped(pool) === 0), 12 * MINUTE);
  await world.advance(5 * MINUTE);
  for (const { row, pool } of ROWS) expect(bound(world, pool), row).toBe(4);
  expect(world.world.violations()).toEqual([]);
});
