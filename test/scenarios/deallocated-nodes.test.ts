/** Pools that deallocate nodes instead of deleting them (`azure.deallocate`), in virtual time. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=3m', '--scale-down-delay-after-add=1m', '--scan-interval=20s'];
const ON = { AZURE_DEALLOCATE: 'true' };
const general = aPool({ name: 'general', count: 1, min: 1, max: 6, scaleDownMode: 'Deallocate' });

const machines = (run: VirtualRun, power: string): number =>
  run.world.arm.machines.list().filter((vm) => vm.pool === 'general' && vm.power === power).length;
const web = (replicas: number) => deployment({ name: 'web', replicas, cpu: '3' });
const posts = (run: VirtualRun, action: string): number => run.writes().filter(({ route }) => route.endsWith(`/${action}`)).length;
const puts = (run: VirtualRun): number => run.writes().filter(({ route, pool }) => pool === 'general' && route.startsWith('PUT')).length;

describe('a pool that deallocates', () => {
  it('stops nodes when load falls, and starts them before it creates any when load rises', async () => {
    const run = await startedWorld({ spec: worldOf([general]), env: ON, flags: FLAGS });
    run.world.cluster.apply(web(4));
    await run.until('four pods run', () => bound(run, 'web') === 4, 10 * MINUTE);
    run.world.cluster.apply(web(2));
    await run.until('two nodes are stopped', () => machines(run, 'deallocated') === 2, 30 * MINUTE);
    expect([capacity(run, 'general'), machines(run, 'running'), posts(run, 'delete'), puts(run)]).toEqual([4, 2, 0, 1]);
    await run.advance(30 * MINUTE);
    expect([capacity(run, 'general'), machines(run, 'running'), machines(run, 'deallocated')]).toEqual([4, 2, 2]);
    run.world.cluster.apply(web(5));
    await run.until('five pods run', () => bound(run, 'web') === 5, 10 * MINUTE);
    expect([capacity(run, 'general'), machines(run, 'running'), pending(run), posts(run, 'start')]).toEqual([5, 5, 0, 1]);
    expect(run.world.violations()).toEqual([]);
  });
});
