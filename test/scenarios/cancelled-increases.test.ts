/** Nodes on their way whose pods are gone: deleted before they join where that is certain, and left alone where it is not. */
import { expect, it } from 'vitest';
import { defined } from '../../src/lib/defined.ts';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

const CONFIG = 'scaleDown: {cancelIncreases: true, unneededTime: 4m, delayAfterAdd: 0s}\n';

function nodesOf(run: VirtualRun, pool: string): number {
  return run.world.cluster.store.list('nodes').filter(({ metadata }) => metadata.labels?.['agentpool'] === pool).length;
}

it('an increase is cancelled once its pods are gone; not for pods that were replaced, nodes that joined, or beside another writer', async () => {
  const names = ['gone', 'replaced', 'joined', 'raised'];
  const pools = [...names.map((name) => aPool({ name, count: 0 })), aPool({ name: 'machines', kind: 'vms-pool', count: 0 })];
  const [osUp, provisioned] = [90, 100].map((seconds) => ({ p50: seconds * SECOND, p95: seconds * SECOND }));
  const run = await startedWorld({ spec: worldOf(pools), knobs: { ...defined({ osUp, provisioned }) } });
  await run.stopDaemon();
  const file = configFile(CONFIG);
  await run.startDaemon([`--config=${file}`]);
  const workload = (pool: string, name = pool) => deployment({ name, replicas: 3, cpu: '3', spec: { nodeSelector: { agentpool: pool } } });
  const sizes = () => names.map((name) => capacity(run, name));
  const machines = () => run.world.arm.control.state().agentPools.find(({ name }) => name === 'machines')?.size ?? Number.NaN;
  for (const name of [...names, 'machines']) run.world.cluster.apply(workload(name));
  await run.until('nodes are on their way', () => sizes().join() === '3,3,3,3', 30 * SECOND);
  run.world.cluster.remove(workload('machines'));
  run.world.cluster.remove(workload('gone'));
  run.world.cluster.remove(workload('replaced'));
  run.world.cluster.remove(workload('raised'));
  run.world.arm.control.raise({ foreignScale: { pool: 'raised', to: 4 } });
  await run.advance(10 * SECOND);
  run.world.cluster.apply(workload('replaced', 'successor'));
  await run.until('the nodes of pods that are gone are deleted', () => capacity(run, 'gone') === 0, MINUTE);
  expect(nodesOf(run, 'gone')).toBe(0);
  const haveJoined = () => ['joined', 'replaced', 'machines'].every((name) => nodesOf(run, name) === 3);
  await run.until('the others join', haveJoined, 5 * MINUTE);
  // AKS accepts no other request for a pool while it creates its machines, and these join meanwhile: nothing is asked in vain.
  const asked = run.writes().filter(({ path }) => path.includes('/machines'));
  expect([machines(), asked.map(({ method, status }) => `${method} ${status}`)]).toEqual([3, ['PUT 200']]);
  run.world.cluster.remove(workload('joined'));
  await run.advance(2 * MINUTE);
  expect(sizes()).toEqual([0, 3, 3, 4]);
  expect(nodesOf(run, 'gone')).toBe(0);
  expect(bound(run, 'successor')).toBe(3);
  // A node that has joined goes as any other that is not needed.
  await run.until('the nodes without pods go', () => sizes().join() === '0,3,0,0' && machines() === 0, 20 * MINUTE);
  // It can be requested again, and a second time.
  run.world.cluster.apply(workload('gone'));
  await run.until('pods are served', () => bound(run, 'gone') === 3, 10 * MINUTE);
  expect(run.reports.at(-1)?.state.backoffs.size).toBe(0);
  expect(run.world.violations()).toEqual([]);
  expect(run.reports.flatMap(({ failures }) => failures)).toEqual([]);
});
