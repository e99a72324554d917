/** Pools that are one pool per zone: removals keep them even; while a zone is down, the others serve its pods and stay. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'zones-'));
const config = join(directory, 'config.yaml');
writeFileSync(config, 'cluster: { avoidDownZones: true }\nscaleUp: { balanceSimilarGroups: true }\n');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const POOLS = ['east', 'middle', 'west'];

describe('pools that are one per zone', () => {
  it('stay even while idle nodes are removed, and stand in for a zone that is down', async () => {
    const pools = [5, 3, 2].map((count, at) => aPool({ name: POOLS[at] ?? '', count, min: 2, zones: [String(at + 1)] }));
    const flags = [
      `--config=${config}`,
      '--scale-down-unneeded-time=1m',
      '--max-scale-down-parallelism=1',
      '--scale-down-delay-after-add=1m',
    ];
    const world = await startedWorld({ spec: worldOf(pools), flags });
    const sizes = () => POOLS.map((pool) => capacity(world, pool));
    const seen: string[] = [];
    const served = async () => (await fetch(`${world.daemon.url ?? ''}/metrics`)).text();
    expect(await served()).toMatch(/^aks_autoscaler_zone_skew_nodes\{node_group="[^"]*east[^"]*"\} 3$/m);
    await world.until(
      'all are at their minimum',
      () => {
        if (seen.at(-1) !== sizes().join()) seen.push(sizes().join());
        return sizes().join() === '2,2,2';
      },
      15 * MINUTE,
    );
    expect(seen).toEqual(['5,3,2', '4,3,2', '3,3,2', '2,3,2', '2,2,2']);

    // Older than a node that is still starting.
    await world.advance(10 * MINUTE);
    expect(await served()).toMatch(/^aks_autoscaler_zone_skew_nodes\{node_group="[^"]*east[^"]*"\} 0$/m);
    world.world.arm.control.raise({ zoneDown: { zone: '1' } });
    await world.advance(2 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 6, cpu: '3' }));
    await world.until('all pods bound', () => bound(world, 'web') === 6, 5 * MINUTE);
    expect(sizes()).toEqual([2, 3, 3]);
    const written = world.reports.flatMap(({ rounds }) =>
      rounds.flatMap(({ increases }) => increases.map(({ increase }) => increase.group)),
    );
    expect(written.some((group) => group.includes('east'))).toBe(false);

    world.world.cluster.apply(deployment({ name: 'web', replicas: 0, cpu: '3' }));
    await world.advance(8 * MINUTE);
    expect(sizes()).toEqual([2, 3, 3]);
    const kept = world.reports.at(-1)?.scaleDown?.kept.filter(({ reason }) => reason === 'ZoneDown') ?? [];
    expect(kept[0]?.detail).toContain('is down, 2 of its 2 nodes are not ready');
    expect(world.world.violations()).toEqual([]);
  });
});
