/** Pools of type VirtualMachines that deallocate machines instead of deleting them (`azure.deallocate`), in virtual time: whatever AKS counts. */
import { describe, expect, it } from 'vitest';
import { stoppedInstances } from '../../src/domain/node-group.ts';
import type { MachineStops } from '../../world/simulator/base/world-spec.ts';
import { runCommand } from '../support/run-command.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=3m', '--scale-down-delay-after-add=1m', '--scan-interval=1m', '--scale-down-unready-time=5m'];
const ON = { AZURE_DEALLOCATE: 'true' };
const poolOf = (machineStops: MachineStops) =>
  aPool({ name: 'general', kind: 'vms-pool', count: 1, min: 1, max: 6, scaleDownMode: 'Deallocate', machineStops });

const machines = (run: VirtualRun, power: string): number =>
  run.world.arm.machines.list().filter((vm) => vm.pool === 'general' && vm.power === power).length;
const inAzure = (run: VirtualRun) => [machines(run, 'running'), machines(run, 'deallocated')];
const web = (replicas: number) => deployment({ name: 'web', replicas, cpu: '3' });
const posts = (run: VirtualRun, action: string): number => run.writes().filter(({ route }) => route.endsWith(`/${action}`)).length;
/** What came of the increases of the last minutes: nodes that they were made for, and ready ones. */
const sinceThen = (run: VirtualRun, minutes: number) => {
  const recent = [...(run.reports.at(-1)?.state.increases.values() ?? [])]
    .flat()
    .filter(({ acceptedAtMs, followed }) => followed && run.clock.now() - acceptedAtMs < minutes * MINUTE);
  const instances = recent.flatMap(({ followed }) => [...(followed?.instances.values() ?? [])]);
  return {
    nodes: recent.reduce((sum, { nodes }) => sum + nodes, 0),
    ready: instances.filter(({ readyAtMs }) => readyAtMs !== undefined).length,
  };
};
const groupOf = (run: VirtualRun) => run.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes('general'));

/** Four nodes for four pods; then two pods, and two machines are stopped. */
async function withTwoStopped(run: VirtualRun): Promise<void> {
  run.world.cluster.apply(web(4));
  await run.until('four pods run', () => bound(run, 'web') === 4, 15 * MINUTE);
  run.world.cluster.apply(web(2));
  await run.until('two machines are stopped', () => machines(run, 'deallocated') === 2, 60 * MINUTE);
  await run.advance(10 * MINUTE);
}

describe('a VMs pool that deallocates', () => {
  it.each<[MachineStops, number, string]>([
    ['left-out', 0, "AKS's count leaves stopped ones out"],
    ['counted', 2, "AKS's count includes stopped ones"],
  ])(
    'and whose stopped machines are %s stops nodes, leaves them over a restart, and starts them before it creates any',
    async (machineStops, starts, said) => {
      const run = await startedWorld({ spec: worldOf([poolOf(machineStops)]), env: ON, flags: FLAGS });
      await withTwoStopped(run);
      expect([inAzure(run), bound(run, 'web')]).toEqual([[2, 2], 2]);
      run.killDaemon();
      await run.startDaemon();
      await run.advance(20 * MINUTE);
      expect([inAzure(run), events(run, 'ClusterUnhealthy')]).toEqual([[2, 2], []]);
      const group = groupOf(run);
      expect(group === undefined ? 0 : stoppedInstances(group).length).toBe(2);
      const { out } = await runCommand(['explain', 'pool', 'general', '--url', run.daemon.url ?? '']);
      expect(out.replace(/\s+/g, ' ')).toContain(said);
      run.world.cluster.apply(web(5));
      await run.until('five pods run', () => bound(run, 'web') === 5, 20 * MINUTE);
      expect([inAzure(run), pending(run), posts(run, 'start')]).toEqual([[5, 0], 0, starts]);
      await run.advance(2 * MINUTE);
      expect(sinceThen(run, 20)).toEqual({ nodes: 3, ready: 3 });
      run.world.cluster.apply(web(1));
      await run.until('four machines are stopped', () => machines(run, 'deallocated') === 4, 90 * MINUTE);
      expect([inAzure(run), bound(run, 'web'), run.world.violations()]).toEqual([[1, 4], 1, []]);
    },
  );

  it('and from which AKS deletes all the same is like any other', async () => {
    const run = await startedWorld({ spec: worldOf([poolOf('deleted')]), env: ON, flags: FLAGS });
    run.world.cluster.apply(web(4));
    await run.until('four pods run', () => bound(run, 'web') === 4, 15 * MINUTE);
    run.world.cluster.apply(web(2));
    await run.until('two machines are left', () => machines(run, 'running') === 2, 60 * MINUTE);
    await run.advance(10 * MINUTE);
    run.world.cluster.apply(web(4));
    await run.until('four pods run again', () => bound(run, 'web') === 4, 20 * MINUTE);
    expect([inAzure(run), posts(run, 'start'), run.world.violations()]).toEqual([[4, 0], 0, []]);
  });

  it('creates machines when counted ones do not start, and says why', async () => {
    const run = await startedWorld({ spec: worldOf([poolOf('counted')]), env: ON, flags: FLAGS });
    await withTwoStopped(run);
    const error = { code: 'AllocationFailed', message: 'Allocation failed.' };
    const match = { method: 'POST', pathGlob: '**/start' };
    run.world.arm.control.addFault({ id: 'no-start', match, effect: { kind: 'answer', status: 409, body: { error } } });
    run.world.cluster.apply(web(4));
    await run.until('four pods run', () => bound(run, 'web') === 4, 20 * MINUTE);
    expect([inAzure(run), posts(run, 'start')]).toEqual([[4, 2], 1]);
    expect(events(run, 'StartFailed').join()).toContain('did not start: AllocationFailed');
    expect(run.world.violations()).toEqual([]);
  });

  it('creates nodes of another pool when AKS cannot start machines, backs off, and starts them later', async () => {
    const other = aPool({ name: 'other', vmSize: 'Standard_E8s_v5', count: 0, min: 0, max: 4 });
    const run = await startedWorld({ spec: worldOf([poolOf('left-out'), other]), env: ON, flags: FLAGS });
    run.world.cluster.apply(web(4));
    await run.until('four pods run', () => bound(run, 'web') === 4, 15 * MINUTE);
    run.world.cluster.apply(web(2));
    await run.until('a machine is stopped', () => machines(run, 'deallocated') > 0, 60 * MINUTE);
    await run.advance(15 * MINUTE);
    const stopped = machines(run, 'deallocated');
    run.world.arm.control.setStock('Standard_D4s_v5', '0', 0);
    run.world.cluster.apply(web(6));
    await run.until('six pods run', () => bound(run, 'web') === 6, 20 * MINUTE);
    expect([machines(run, 'deallocated') >= stopped, capacity(run, 'other') > 0]).toEqual([true, true]);
    expect(events(run, 'ScaleUpFailed').join()).toContain('AllocationFailed');
    run.world.arm.control.setStock('Standard_D4s_v5', '0', 100);
    await run.advance(40 * MINUTE);
    run.world.cluster.apply(web(12));
    await run.until('twelve pods run', () => bound(run, 'web') === 12, 40 * MINUTE);
    expect([machines(run, 'running') > 2, pending(run), run.world.violations()]).toEqual([true, 0, []]);
  });

  it.each<MachineStops>(['left-out', 'counted'])(
    'and whose stopped machines are %s starts each once although another process takes over in between',
    async (machineStops) => {
      const run = await startedWorld({ spec: worldOf([poolOf(machineStops)]), env: ON, flags: FLAGS });
      await withTwoStopped(run);
      const route = machineStops === 'counted' ? /^POST .*\/start$/ : /^PUT .*agentPools/;
      const sent = (): number => run.writes().filter((write) => route.test(write.route)).length;
      const before = sent();
      run.world.cluster.apply(web(4));
      await run.until('a start is sent', () => sent() > before, 5 * MINUTE);
      run.killDaemon();
      await run.startDaemon();
      await run.until('four pods run', () => bound(run, 'web') === 4, 20 * MINUTE);
      await run.advance(10 * MINUTE);
      expect([bound(run, 'web'), run.world.violations(), machines(run, 'running') <= 5]).toEqual([4, [], true]);
      expect(machines(run, 'running') + machines(run, 'deallocated')).toBeLessThanOrEqual(5);
    },
  );
});
