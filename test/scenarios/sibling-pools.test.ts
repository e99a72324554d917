/** One pool per zone, none of them with a node, and a workload that spreads over zones. */
import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from './support.ts';

const ZONE = 'topology.kubernetes.io/zone';
const POOLS = ['east', 'middle', 'west'];

describe('pools that are one per zone', () => {
  it('are opened evenly by one plan, whatever binds the pods is content with it, and nothing more is ordered', async () => {
    const pools = POOLS.map((name, at) => aPool({ name, count: 0, zones: [String(at + 1)] }));
    const world = await startedWorld({ spec: worldOf(pools), flags: ['--scale-down-enabled=false'] });
    const constraint = {
      maxSkew: 1,
      topologyKey: ZONE,
      whenUnsatisfiable: 'DoNotSchedule',
      // The system node is tainted: without this its zone would be one that stays empty for ever.
      nodeTaintsPolicy: 'Honor',
      labelSelector: { matchLabels: { app: 'web' } },
    };
    const template = deployment({ name: 'web', replicas: 9, cpu: '1200m', spec: { topologySpreadConstraints: [constraint] } });
    world.world.cluster.apply(template);
    await world.until('all pods bound', () => bound(world, 'web') === 9, 10 * MINUTE);
    await world.advance(MINUTE);
    const ordering = world.reports.filter((report) => report.rounds.some((round) => round.increases.length > 0));
    expect(ordering).toHaveLength(1);
    expect(POOLS.map((pool) => capacity(world, pool))).toEqual([1, 1, 1]);
    expect(world.world.violations()).toEqual([]);
  });
});
