/** Pods that are nominated for nodes that have joined and are not ready: they keep their place, and are not kept by a node that dies. */
import { expect, it } from 'vitest';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, SECOND, worldOf } from './support.ts';

function nominatedOf(run: VirtualRun, name: string): unknown {
  const pod = run.world.cluster.store.pods().find(({ metadata }) => metadata.labels?.['app'] === name);
  return pod?.status['nominatedNodeName'];
}

function nodesOf(run: VirtualRun, pool: string): readonly string[] {
  const nodes = run.world.cluster.store.nodes().filter(({ metadata }) => metadata.labels?.['agentpool'] === pool);
  return nodes.map(({ metadata }) => metadata.name);
}

interface FieldEntry {
  readonly manager: string;
  readonly time: string;
  readonly fieldsV1: object;
}

/** Who wrote the name of the pod's node, and when it last changed. */
function writersOf(run: VirtualRun, name: string): readonly string[] {
  const pod = run.world.cluster.store.pods().find(({ metadata }) => metadata.labels?.['app'] === name);
  const { managedFields = [] } = (pod?.metadata ?? {}) as { readonly managedFields?: readonly FieldEntry[] };
  return managedFields
    .filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes('nominatedNodeName'))
    .map(({ manager, time }) => `${manager} ${time}`);
}

it('another leader keeps the nomination of the former one, and holds to it no longer than the node may take', async () => {
  const settings = 'scaleUp: {nominateNodes: true, maxProvisionTime: 4m}\ncluster: {maxNodeStartupTime: 3m}\nscaleDown: {enabled: false}\n';
  const [first, second] = [configFile(settings), configFile(`${settings}kubernetes: {identity: second}\n`)];
  const lease = [
    '--leader-elect=true',
    '--leader-elect-lease-duration=15s',
    '--leader-elect-renew-deadline=10s',
    '--leader-elect-retry-period=2s',
  ];
  const pools = [aPool({ name: 'dies', count: 0, max: 3 })];
  const run = await startedWorld({ spec: worldOf(pools), flags: [`--config=${first}`, '--scan-interval=5s', ...lease] });
  await run.startStandby([`--config=${second}`]);
  run.world.cluster.apply(deployment({ name: 'other', replicas: 1, cpu: '3', spec: { nodeSelector: { agentpool: 'dies' } } }));
  await run.until('the pod is nominated', () => nominatedOf(run, 'other') !== undefined, 5 * MINUTE);
  run.world.arm.control.raise({ hang: { pool: 'dies' } });
  const [dead] = nodesOf(run, 'dies');
  // kube-scheduler tries the pod once more, and clears the name.
  await run.advance(MINUTE);
  const written = writersOf(run, 'other');
  expect([nominatedOf(run, 'other'), written]).toEqual([dead, [expect.stringMatching(/^aks-autoscaler-nominations /)]]);
  await run.stopDaemon();
  await run.advance(MINUTE);
  expect([nominatedOf(run, 'other'), writersOf(run, 'other')]).toEqual([dead, written]);
  await run.until('the pod runs', () => bound(run, 'other') === 1, 12 * MINUTE);
  expect([nodesOf(run, 'dies').length, nominatedOf(run, 'other')]).toEqual([2, undefined]);
  expect(run.world.violations()).toEqual([]);
});

it('a large pod keeps its node against smaller ones over a restart, and gets another node if its own never becomes ready', async () => {
  const file = configFile(
    'scaleUp: {nominateNodes: true, maxProvisionTime: 4m}\ncluster: {maxNodeStartupTime: 3m}\nscaleDown: {enabled: false}\n',
  );
  const flags = [`--config=${file}`, '--scan-interval=5s'];
  const pools = [aPool({ name: 'keep', count: 0, max: 1 }), aPool({ name: 'dies', count: 0, max: 3 })];
  const run = await startedWorld({ spec: worldOf(pools), flags });
  const workload = (pool: string, name: string, replicas: number, cpu: string) =>
    run.world.cluster.apply(deployment({ name, replicas, cpu, spec: { nodeSelector: { agentpool: pool } } }));
  // The small pods come first in the queue of kube-scheduler, and the node has room for all of them alone.
  workload('keep', 'a-small', 3, '1');
  workload('keep', 'big', 1, '3');
  workload('dies', 'other', 1, '3');
  await run.until('the large pod is nominated', () => nominatedOf(run, 'big') !== undefined, 5 * MINUTE);
  expect([nominatedOf(run, 'big'), nominatedOf(run, 'a-small')]).toEqual([...nodesOf(run, 'keep'), undefined]);
  await run.stopDaemon();
  await run.until('the large pod runs', () => bound(run, 'big') === 1, MINUTE);
  expect([bound(run, 'a-small'), nominatedOf(run, 'big')]).toEqual([0, undefined]);
  await run.startDaemon();
  await run.until('the other pod is nominated', () => nominatedOf(run, 'other') !== undefined, 5 * MINUTE);
  const [dead] = nodesOf(run, 'dies');
  run.world.arm.control.raise({ hang: { pool: 'dies' } });
  await run.stopDaemon();
  // All that the next process finds.
  expect(nominatedOf(run, 'other')).toBe(dead);
  await run.startDaemon();
  await run.until('the other pod runs', () => bound(run, 'other') === 1, 12 * MINUTE);
  expect(nodesOf(run, 'dies').length).toBe(2);
  await run.advance(30 * SECOND);
  expect([bound(run, 'a-small'), nominatedOf(run, 'other')]).toEqual([0, undefined]);
  expect(run.world.violations()).toEqual([]);
  expect(run.reports.flatMap(({ failures }) => failures)).toEqual([]);
});
