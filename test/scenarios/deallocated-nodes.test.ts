/** Pools that deallocate nodes instead of deleting them (`azure.deallocate`), in virtual time. */
import { describe, expect, it } from 'vitest';
import { stoppedInstances } from '../../src/domain/node-group.ts';
import { NO_PRICES } from '../../src/domain/policy.ts';
import { describeStopped } from '../../src/planning/explain/answers/stopped-words.ts';
import { runCommand } from '../support/run-command.ts';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=3m', '--scale-down-delay-after-add=1m', '--scan-interval=1m', '--scale-down-unready-time=5m'];
const LEASE = [
  '--leader-elect=true',
  '--leader-elect-lease-duration=15s',
  '--leader-elect-renew-deadline=10s',
  '--leader-elect-retry-period=2s',
];
const ON = { AZURE_DEALLOCATE: 'true' };
const general = aPool({ name: 'general', count: 1, min: 1, max: 6, scaleDownMode: 'Deallocate' });

/** A replica that stands by needs a name of its own. */
function identityFile(): string {
  return configFile('kubernetes: {identity: second}\n');
}

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

/** Two disks of 128 GiB, at the price of the list: what people see of it. */
async function expectCostShown(run: VirtualRun): Promise<void> {
  const [group] = (run.reports.at(-1)?.observation?.cloud.groups ?? []).filter(({ id }) => id.includes('general'));
  const { values } = await run.metrics.cluster.stoppedCost.get();
  expect(values).toMatchObject([{ labels: { node_group: group?.id }, value: 0.054 }]);
  const ask = async (...words: readonly string[]) =>
    (await runCommand(['explain', ...words, '--url', run.daemon.url ?? ''])).out.replace(/\s+/g, ' ');
  expect(await ask('pool', 'general')).toContain(
    'Azure bills 2 OS disks of 128 GiB (Premium_LRS) and no VM: 0.054 per hour; the next increase',
  );
  const [stopped] = group === undefined ? [] : stoppedInstances(group);
  const node = await ask('node', stopped?.node ?? '');
  expect(node).toContain(
    'no VM runs, Azure bills its disk (0.027 per hour), and to plans it is no node. The next increase of its pool starts it',
  );
}

describe('a pool that deallocates', () => {
  it('stops nodes when load falls, leaves them over a restart, and starts them before it creates any when load rises', async () => {
    const run = await startedWorld({ spec: worldOf([general]), env: ON, flags: FLAGS });
    await withTwoStopped(run);
    expect([inAzure(run), posts(run, 'delete'), puts(run)]).toEqual([[4, 2, 2], 0, 1]);
    await run.advance(10 * MINUTE);
    run.killDaemon();
    await run.startDaemon([`--retail-prices-endpoint=${run.world.arm.url}/api/retail/prices`]);
    await run.advance(20 * MINUTE);
    expect([inAzure(run), events(run, 'ClusterUnhealthy'), posts(run, 'delete')]).toEqual([[4, 2, 2], [], 0]);
    await expectCostShown(run);
    run.world.cluster.apply(web(5));
    await run.until('five pods run', () => bound(run, 'web') === 5, 10 * MINUTE);
    expect([inAzure(run), pending(run), posts(run, 'start'), puts(run)]).toEqual([[5, 5, 0], 0, 1, 2]);
    // Started nodes are nodes like others: they are stopped again.
    run.world.cluster.apply(web(1));
    await run.until('four nodes are stopped', () => machines(run, 'deallocated') === 4, 40 * MINUTE);
    await run.advance(10 * MINUTE);
    expect([inAzure(run), bound(run, 'web'), posts(run, 'delete')]).toEqual([[5, 1, 4], 1, 0]);
    // How long a start took is known after a restart.
    run.world.cluster.apply(web(2));
    await run.until('two pods run', () => bound(run, 'web') === 2, 10 * MINUTE);
    await run.advance(MINUTE);
    run.killDaemon();
    await run.startDaemon();
    await run.advance(MINUTE);
    const { out } = await runCommand(['explain', 'pool', 'general', '--url', run.daemon.url ?? '']);
    expect(out.replace(/\s+/g, ' ')).toMatch(/a start takes \d+ s, a new node \d/);
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

  it('keeps its limits while another writer starts one stopped instance and deletes another, and names neither', async () => {
    const run = await startedWorld({ spec: worldOf([general]), env: ON, flags: FLAGS });
    await withTwoStopped(run);
    await run.advance(2 * MINUTE);
    const { control } = run.world.arm;
    expect(control.raise({ foreignPower: { pool: 'general', action: 'start' } })).toBeUndefined();
    const set = control.state().sets.find(({ pool }) => pool === 'general');
    const gone = set?.instances.find(({ power }) => power === 'deallocated')?.id ?? '';
    expect(control.raise({ foreignDelete: { pool: 'general', instanceIds: [gone] } })).toBeUndefined();
    run.world.cluster.apply(web(5));
    await run.until('five pods run', () => bound(run, 'web') === 5, 15 * MINUTE);
    await run.advance(10 * MINUTE);
    // The node that the other one started is counted on, and usable a loop after it is ready: one node more was requested, and is stopped again.
    expect([machines(run, 'running'), bound(run, 'web'), events(run, 'StartFailed')]).toEqual([5, 5, []]);
    expect(capacity(run, 'general')).toBeLessThanOrEqual(6);
    expect(run.world.violations()).toEqual([]);
  });

  it.each(['another leader', 'another process without a lease'])(
    'starts each instance once although %s takes over in between',
    async (who) => {
      const isLeader = who === 'another leader';
      const run = await startedWorld({ spec: worldOf([general]), env: ON, flags: isLeader ? [...FLAGS, ...LEASE] : FLAGS });
      await withTwoStopped(run);
      if (isLeader) await run.startStandby([`--config=${identityFile()}`]);
      await run.advance(MINUTE);
      run.world.cluster.apply(web(4));
      await run.until('a start is sent', () => posts(run, 'start') > 0, 5 * MINUTE);
      if (isLeader) await run.stopDaemon();
      else {
        run.killDaemon();
        await run.startDaemon();
      }
      await run.until('four pods run', () => bound(run, 'web') === 4, 15 * MINUTE);
      await run.advance(5 * MINUTE);
      // The taints of the stops are younger than ten minutes, and without a lease their writer might still be at work.
      expect([inAzure(run), posts(run, 'start'), bound(run, 'web')]).toEqual([[4, 4, 0], 1, 4]);
      expect(run.world.violations()).toEqual([]);
    },
  );

  it('is no Flexible scale set and none that AKS deletes from: nodes are deleted as usual, down to their minimum, and it is said why', async () => {
    const kinds = { flex: { kind: 'vmss-flexible' }, sets: { scaleDownMode: 'Delete' } } as const;
    const pools = Object.entries(kinds).map(([name, kind]) =>
      aPool({ name, count: 3, min: 1, max: 4, scaleDownMode: 'Deallocate', ...kind }),
    );
    const run = await startedWorld({ spec: worldOf(pools), env: ON, flags: [...FLAGS, '--max-drain-parallelism=3'] });
    const left = (): readonly number[] =>
      pools.map(({ name }) => run.world.arm.machines.list().filter(({ pool, power }) => pool === name && power === 'running').length);
    await run.until('one node of each is left', () => left().every((count) => count === 1), 60 * MINUTE);
    await run.advance(10 * MINUTE);
    const powers = run.world.arm.machines.list().filter(({ power }) => power !== 'running');
    expect([left(), powers, posts(run, 'deallocate'), posts(run, 'start')]).toEqual([[1, 1], [], 0, 0]);
    const groups = run.reports.at(-1)?.observation?.cloud.groups ?? [];
    const said = pools.map(({ name }) => {
      const group = groups.find(({ id }) => id.includes(name));
      return group === undefined ? '' : describeStopped(group, { prices: NO_PRICES });
    });
    expect(said).toEqual([
      expect.stringContaining('AKS makes Uniform scale sets alone, and Azure stops and starts VMs of Flexible ones only one by one'),
      expect.stringContaining('its agent pool has scaleDownMode Delete'),
    ]);
    expect(run.world.violations()).toEqual([]);
  });
});
