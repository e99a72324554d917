/** Machines that Azure takes back. */
import { describe, expect, it } from 'vitest';
import { aPool } from '../scenarios/support.ts';
import { scenarios } from './scenario.ts';
import { until } from './until.ts';
import { deployment } from './workloads.ts';
import type { E2eWorld } from './world.ts';

const { begin } = scenarios();
let world: E2eWorld;

describe('Spot machines on a real control plane', () => {
  it('replaces a Spot node that Azure took back', async () => {
    world = await begin({ pools: [aPool({ name: 'spot', count: 1, min: 0, priority: 'Spot' })] });
    const tolerations = [{ key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' }];
    await world.apply(deployment({ name: 'batch', replicas: 2, cpu: '1500m', spec: { tolerations } }));
    const [before] = await world.untilRunning('batch', 2);
    await world.soleDaemon();
    expect(world.arm.control.raise({ evict: { pool: 'spot' } })).toBeUndefined();
    await world.untilGone(before?.spec.nodeName ?? '');
    // The garbage collector of pods takes its time before it ends those of a node that is no more.
    await until(
      'both run on another node',
      async () => {
        const pods = await world.running('batch');
        return pods.length === 2 && pods.every(({ spec }) => spec.nodeName !== before?.spec.nodeName);
      },
      180_000,
      () => world.picture(),
    );
    expect(world.capacity('spot'), await world.picture()).toBe(1);
    expect(world.violations).toEqual([]);
  });
});
