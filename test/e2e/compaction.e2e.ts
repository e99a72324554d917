/** The history that a daemon follows is cut off. */
import { describe, expect, it } from 'vitest';
import { aPool } from '../scenarios/support.ts';
import { scenarios } from './scenario.ts';
import { until } from './until.ts';
import { deployment } from './workloads.ts';
import type { E2eWorld } from './world.ts';

const { begin, plane } = scenarios();
let world: E2eWorld;

describe('compaction on a real control plane', () => {
  it('reads everything again when its history was compacted away (410)', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    await world.apply(deployment({ name: 'old', replicas: 2, cpu: '1500m' }));
    await world.untilRunning('old', 2);
    const daemon = await world.soleDaemon(['--scale-down-enabled=false']);
    daemon.program.signal('SIGSTOP');
    await world.scale('old', 0);
    await until('the old pods are gone', async () => (await world.pods('old')).length === 0);
    await world.apply(deployment({ name: 'new', replicas: 6, cpu: '1500m' }));
    await until('the scheduler gave up on four', async () => {
      const pods = await world.pods('new');
      return (
        pods.filter(({ status }) => status.conditions?.some(({ type, status: is }) => type === 'PodScheduled' && is === 'False')).length ===
        4
      );
    });
    // Without the API server nothing is written meanwhile: what is cut off is later than all that the daemon has seen.
    await plane().withoutApiServer(() => plane().compact());
    daemon.program.signal('SIGCONT');
    await world.untilRunning('new', 6, 120_000);
    // Had the pods of the past still counted, or those of the present not, it would be another number.
    expect(world.capacity('general')).toBe(3);
    expect(await daemon.metric(/aks_autoscaler_watch_restarts_total\{resource="pods",cause="expired"\} (\d+)/)).toBeGreaterThan(0);
    daemon.mustRun();
    expect(world.violations).toEqual([]);
  });
});
