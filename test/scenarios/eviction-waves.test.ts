/** A wave of evictions is evidence that a Spot size has no stock: pods go elsewhere for a while, then one node is tried. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'waves-'));
const config = join(directory, 'config.yaml');
writeFileSync(config, "scaleUp: { priorities: { '50': [spot], '10': ['.*'] }, spotEvictionWave: 3 }\n");
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const TOLERATION = { key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' };
const web = (replicas: number) => deployment({ name: 'web', replicas, cpu: '3', spec: { tolerations: [TOLERATION] } });

it('the pods of a wave get regular nodes, later pods one Spot node to try, and then Spot nodes again', async () => {
  const spot = aPool({ name: 'spot', count: 5, max: 20, priority: 'Spot', evictionPolicy: 'Delete' });
  const regular = aPool({ name: 'regular', vmSize: 'Standard_D8s_v5', count: 0, max: 20 });
  const world = await startedWorld({ spec: worldOf([spot, regular]), flags: [`--config=${config}`, '--scale-down-enabled=false'] });
  world.world.cluster.apply(web(5));
  await world.until('all bound', () => bound(world, 'web') === 5, 10 * MINUTE);
  world.world.arm.control.raise({ evict: { pool: 'spot', count: 3 } });
  await world.advance(MINUTE);
  await world.until('all bound again', () => bound(world, 'web') === 5, 10 * MINUTE);
  // Two pods fit on one of the regular nodes.
  expect([capacity(world, 'spot'), capacity(world, 'regular')]).toEqual([2, 2]);

  await world.advance(5 * MINUTE);
  world.world.cluster.apply(web(10));
  await world.until('all bound', () => bound(world, 'web') === 10, 10 * MINUTE);
  const steps = world.reports.flatMap(({ rounds }) =>
    rounds.flatMap(({ increases }) =>
      increases.map(({ increase: { group, from, to } }) => `${group.includes('spot') ? 'spot' : 'regular'} +${to - from}`),
    ),
  );
  expect(steps).toContain('spot +1');
  expect(world.world.violations()).toEqual([]);
});
