/** Pools that deallocate nodes instead of deleting them (`azure.deallocate`), in virtual time. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=3m', '--scale-down-delay-after-add=1m', '--scan-interval=20s', '--scale-down-unready-time=5m'];
const ON = { AZURE_DEALLOCATE: 'true' };
const general = aPool({ name: 'general', count: 1, min: 1, max: 6, scaleDownMode: 'Deallocate' });

const machines = (run: VirtualRun, power: string): number =>
  run.world.arm.machines.list().filter((vm) => vm.pool === 'general' && vm.power === power).length;
const inAzure = (run: VirtualRun) => [capacity(run, 'general'), machines(run, 'running'), machines(run, 'deallocated')];
const web = (replicas: number) => deployment({ name: 'web', replicas, cpu: '3' });
const posts = (run: VirtualRun, action: string): number => run.writes().filter(({ route }) => route.endsWith(`/${action}`)).length;
const puts = (run: VirtualRun): number => run.writes().filter(({ route, pool }) => pool === 'general' && route.startsWith('PUT')).length;

/** Four nodes for four pods; then two pods, and two nodes are stopped. */
async function withTwoStopped(run: VirtualRun): Promise<void> {
  run.world.cluster.apply(web(4));
  await run.until('four pods run', () => bound(run, 'web') === 4, 10 * MINUTE);
  run.world.cluster.apply(web(2));
  await run.until('two nodes are stopped', () => machines(run, 'deallocated') === 2, 30 * MINUTE);
}

describe('a pool that deallocates', () => {
  it('stops nodes when load falls, leaves them over a restart, and starts them before it creates any when load rises', async () => {
    const run = await startedWorld({ spec: worldOf([general]), env: ON, flags: FLAGS });
    await withTwoStopped(run);
    expect([inAzure(run), posts(run, 'delete'), puts(run)]).toEqual([[4, 2, 2], 0, 1]);
    await run.advance(10 * MINUTE);
    run.killDaemon();
    await run.startDaemon();
    await run.advance(20 * MINUTE);
    expect([inAzure(run), events(run, 'ClusterUnhealthy'), posts(run, 'delete')]).toEqual([[4, 2, 2], [], 0]);
    run.world.cluster.apply(web(5));
    await run.until('five pods run', () => bound(run, 'web') === 5, 10 * MINUTE);
    expect([inAzure(run), pending(run), posts(run, 'start'), puts(run)]).toEqual([[5, 5, 0], 0, 1, 2]);
    // Started nodes are nodes like others: they are stopped again.
    run.world.cluster.apply(web(1));
    await run.until('four nodes are stopped', () => machines(run, 'deallocated') === 4, 40 * MINUTE);
    await run.advance(10 * MINUTE);
    expect([inAzure(run), bound(run, 'web'), posts(run, 'delete')]).toEqual([[5, 1, 4], 1, 0]);
    expect(run.world.violations()).toEqual([]);
  });

  it('creates nodes when stopped ones do not start, and says why', async () => {
    const run = await startedWorld({ spec: worldOf([general]), env: ON, flags: FLAGS });
    await withTwoStopped(run);
    await run.advance(2 * MINUTE);
    const error = { code: 'AllocationFailed', message: 'Allocation failed.' };
    const match = { method: 'POST', pathGlob: '**/start' };
    run.world.arm.control.addFault({ id: 'no-start', match, effect: { kind: 'answer', status: 409, body: { error } } });
    run.world.cluster.apply(web(4));
    await run.until('four pods run', () => bound(run, 'web') === 4, 10 * MINUTE);
    expect([inAzure(run), posts(run, 'start')]).toEqual([[6, 4, 2], 1]);
    expect(events(run, 'StartFailed').join()).toMatch(
      /^Node group aks-general-\S+ creates new instances until .*: 2 stopped instances did not start: AllocationFailed/,
    );
    expect(run.world.violations()).toEqual([]);
  });
});
