/** Pods that fell back to regular nodes return to Spot once Azure has it again: one node ahead, and with the share of a workload left behind. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, worldOf } from './support.ts';

const HOUR = 60 * MINUTE;
const SIZE = 'Standard_D4s_v5';
const directory = mkdtempSync(join(tmpdir(), 'back-'));
const config = join(directory, 'config.yaml');
const repack =
  'repack: { enabled: true, minScore: 0.5, confirmAfter: 1m, searchEvery: 1m, minPodAge: 5m, retryAfter: 5m, retryAfterAtMost: 10m }';
writeFileSync(config, `scaleUp: { priorities: { '50': [spot], '10': ['.*'] } }\n${repack}\n`);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const TOLERATION = { key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' };
const annotations = { 'aks-autoscaler/min-on-demand': '25%' };

it('without any price: the first node is tried alone, the others follow, and no pod waits', async () => {
  const spot = aPool({ name: 'spot', vmSize: SIZE, count: 0, max: 20, priority: 'Spot', evictionPolicy: 'Delete' });
  const regular = aPool({ name: 'regular', vmSize: SIZE, count: 0, max: 20 });
  const times = ['--scale-down-unneeded-time=3m', '--scale-down-delay-after-add=1m', '--scan-interval=30s'];
  const flags = [`--config=${config}`, ...times, '--max-node-group-backoff-duration=5m'];
  const world = await startedWorld({ spec: worldOf([spot, regular], { stock: { [`${SIZE}/0/Spot`]: 0 } }), flags });
  const tries = () =>
    world.reports.flatMap(({ rounds }) =>
      rounds.flatMap(({ increases }) => increases.flatMap(({ increase: { cause, from, to } }) => (cause === 'repack' ? [to - from] : []))),
    );
  const sizes = () => [capacity(world, 'spot'), capacity(world, 'regular')];
  world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3', annotations, spec: { tolerations: [TOLERATION] } }));
  await world.until('all bound', () => bound(world, 'web') === 3, 10 * MINUTE);
  expect(sizes()).toEqual([0, 3]);

  // Tries in vain: each closes the size again.
  await world.advance(25 * MINUTE);
  expect([capacity(world, 'regular'), bound(world, 'web')]).toEqual([3, 3]);
  expect(tries().length).toBeGreaterThan(0);

  world.world.arm.control.setStock(SIZE, '0', 20, 'Spot');
  await world.until('two pods are back on Spot', () => sizes().join() === '2,1', 3 * HOUR);
  expect([bound(world, 'web'), pending(world)]).toEqual([3, 0]);
  await world.advance(20 * MINUTE);
  expect(sizes()).toEqual([2, 1]);
  expect(new Set(tries())).toEqual(new Set([1]));
  expect(world.world.violations()).toEqual([]);
});
