/** A workload states how many of its pods stay on regular nodes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'shares-'));
const config = join(directory, 'config.yaml');
writeFileSync(config, "scaleUp: { priorities: { '50': [spot], '10': ['.*'] } }\n");
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const TOLERATION = { key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' };
const web = (replicas: number) =>
  deployment({
    name: 'web',
    replicas,
    cpu: '3',
    annotations: { 'aks-autoscaler/min-on-demand': '30%' },
    spec: { tolerations: [TOLERATION] },
  });

it('its share gets regular nodes and the others Spot nodes, and neither a wave of evictions nor more replicas change that', async () => {
  const spot = aPool({ name: 'spot', count: 0, max: 20, priority: 'Spot', evictionPolicy: 'Delete' });
  const regular = aPool({ name: 'regular', count: 0, max: 20 });
  const flags = [`--config=${config}`, '--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=1m'];
  const world = await startedWorld({ spec: worldOf([spot, regular]), flags });
  const sizes = () => [capacity(world, 'spot'), capacity(world, 'regular')];
  world.world.cluster.apply(web(10));
  await world.until('all bound', () => bound(world, 'web') === 10, 10 * MINUTE);
  expect(sizes()).toEqual([7, 3]);

  world.world.arm.control.raise({ evict: { pool: 'spot', count: 3 } });
  await world.advance(MINUTE);
  await world.until('all bound again', () => bound(world, 'web') === 10, 10 * MINUTE);
  world.world.cluster.apply(web(20));
  await world.until('all bound', () => bound(world, 'web') === 20, 10 * MINUTE);
  await world.advance(5 * MINUTE);
  expect(sizes()).toEqual([14, 6]);
  expect(world.world.violations()).toEqual([]);
});
