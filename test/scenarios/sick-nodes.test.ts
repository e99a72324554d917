/** Sick nodes in virtual time: a new node comes first, then the sick one goes; too many are left; quarantined ones are named. */
import { expect, it } from 'vitest';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, budget, capacity, deployment, events, MINUTE, pending, worldOf } from './support.ts';

const POOLS = ['one', 'many', 'aside'] as const;
const REIMAGED = ['fresh', 'stuck', 'denied', 'taken'] as const;
const XID = { type: 'XIDErrors', reason: 'XidErrorsPresent', message: 'XID 79' } as const;

/** Where no entry of the configuration names the pool. */
const SICK_TAG = { 'k8s.io_cluster-autoscaler_node-template_autoscaling-options_sickNodes': 'gpu' };

function sickNodesFile(): string {
  const reimaged = REIMAGED.map((name) => `  - { name: ${name}, sickNodes: { presets: [gpu], remedy: reimage } }\n`);
  const pools = `nodeGroupOptions:\n  - { name: many, sickNodes: { presets: [gpu] } }\n${reimaged.join('')}`;
  return configFile(`scaleUp: { prices: { Standard_D4s_v5: 0.25 } }\n${pools}`);
}

const nodesOf = (run: VirtualRun, pool: string) =>
  run.world.cluster.store
    .nodes()
    .filter((node) => node.metadata.labels?.['kubernetes.azure.com/agentpool'] === pool)
    .map((node) => node.metadata.name)
    .sort();

/** Each pool has three nodes, and a workload that fills them. */
async function worldWithPools(pools: readonly string[]): Promise<VirtualRun> {
  const run = await startedWorld({
    spec: worldOf(pools.map((name) => aPool({ name, count: 3, min: 3, max: 6, ...(name === 'one' ? { tags: SICK_TAG } : {}) }))),
    flags: ['--scale-down-delay-after-add=1m', '--scan-interval=1m', `--config=${sickNodesFile()}`],
  });
  for (const name of pools) {
    const spec = { nodeSelector: { 'kubernetes.azure.com/agentpool': name } };
    run.world.cluster.apply(deployment({ name, replicas: 3, cpu: '3', spec }));
  }
  if (pools.includes('one')) run.world.cluster.apply(budget('one', 1));
  await run.until('the pods run', () => pools.every((name) => bound(run, name) === 3), 10 * MINUTE);
  return run;
}

it('makes way for a new node, unless too many of its pool are sick, over a restart; a quarantined node is no working one', async () => {
  const run = await worldWithPools(POOLS);
  const { control } = run.world.cluster;
  const [sick = ''] = nodesOf(run, 'one');
  const [first = '', second = ''] = nodesOf(run, 'many');
  const [aside = ''] = nodesOf(run, 'aside');
  for (const node of [sick, first, second]) control.reportCondition(node, { ...XID, status: 'True' });
  control.quarantine(aside);

  await run.advance(9 * MINUTE);
  expect([capacity(run, 'one'), nodesOf(run, 'one').includes(sick)]).toEqual([3, true]);
  await run.until('the new node is requested', () => capacity(run, 'one') === 4, 10 * MINUTE);
  run.killDaemon();
  await run.startDaemon();
  await run.until('the sick node is gone', () => !nodesOf(run, 'one').includes(sick), 60 * MINUTE);
  expect([bound(run, 'one'), capacity(run, 'one'), pending(run)]).toEqual([3, 3, 0]);
  await run.until('it says so', () => events(run, 'SickNodeReplaced').length > 0, 10 * MINUTE);
  expect(events(run, 'SickNodeReplaced').join()).toMatch(
    /vmss000000 makes way for 1 new node of aks-one-\S+: sick \(XIDErrors=True\), 1 pod moves/,
  );

  expect([capacity(run, 'many'), nodesOf(run, 'many').slice(0, 2)]).toEqual([3, [first, second]]);
  expect(events(run, 'SickNodeKept').join()).toMatch(
    /2 of 3 nodes of pool aks-many-\S+ are sick, more than 1 \(20 %\): none of them is replaced/,
  );
  // One is well again: the other may go.
  control.reportCondition(first, { ...XID, status: 'False' });
  await run.until('the other one makes way', () => !nodesOf(run, 'many').includes(second), 60 * MINUTE);
  expect([bound(run, 'many'), nodesOf(run, 'many').includes(first)]).toEqual([3, true]);

  // Its place is taken by a new node: the minimum is a number of working nodes.
  expect([capacity(run, 'aside'), nodesOf(run, 'aside').includes(aside)]).toEqual([4, true]);
  expect(run.world.violations()).toEqual([]);
});

const node = (run: VirtualRun, name: string) => run.world.cluster.store.nodes().find(({ metadata }) => metadata.name === name);
const taintsOf = (run: VirtualRun, name: string) => (node(run, name)?.spec.taints ?? []).map(({ key }) => key);
const noteOf = (run: VirtualRun, name: string) => node(run, name)?.metadata.annotations?.['aks-autoscaler/reimaged'];
const reimages = (run: VirtualRun, pool: string) =>
  run.world.arm.control.journal().filter((entry) => entry.pool === pool && entry.path.endsWith('/reimage')).length;

it('is reimaged where that is asked for, over a restart, once: sick again, not back in time, or refused, it is replaced', async () => {
  const run = await worldWithPools(REIMAGED);
  const { control } = run.world.cluster;
  const azure = run.world.arm.control;
  const first = REIMAGED.map((pool) => nodesOf(run, pool)[0] ?? '');
  const [fresh = '', stuck = '', , taken = ''] = first;
  const body = { error: { code: 'AuthorizationFailed', message: 'no right' } };
  azure.addFault({
    id: 'no',
    match: { method: 'POST', pathGlob: '**/reimage', pool: 'denied' },
    effect: { kind: 'answer', status: 403, body },
  });
  for (const name of first) control.reportCondition(name, { ...XID, status: 'True' });
  await run.until('another writer deletes one', () => noteOf(run, taken) !== undefined, 60 * MINUTE);
  azure.raise({ foreignDelete: { pool: 'taken', instanceIds: ['0'] } });
  await run.until('two are being reimaged', () => [fresh, stuck].every((name) => noteOf(run, name) !== undefined), 60 * MINUTE);
  const power = () => run.world.arm.control.state().sets.find(({ pool }) => pool === 'stuck')?.instances[0]?.power;
  await run.until('its VM goes down', () => power() === 'starting', 5 * MINUTE);
  await run.until('its VM is up', () => power() === 'running', 5 * MINUTE);
  azure.raise({ hang: { pool: 'stuck' } });
  run.killDaemon();
  await run.startDaemon();
  control.reportCondition(fresh, { ...XID, status: 'False' });
  await run.until(
    'it takes pods again',
    () => taintsOf(run, fresh).length === 0 && node(run, fresh)?.spec.unschedulable !== true,
    12 * MINUTE,
  );
  expect(taintsOf(run, stuck)).toContain('ToBeDeletedByClusterAutoscaler');
  await run.until('it says so', () => events(run, 'SickNodeReimaged').length > 0, 5 * MINUTE);
  expect(events(run, 'SickNodeReimaged').join()).toMatch(/vmss000000 came back well from a reimage/);

  control.reportCondition(fresh, { ...XID, status: 'True' });
  await run.until('all are replaced', () => REIMAGED.every((pool, at) => !nodesOf(run, pool).includes(first[at] ?? '')), 90 * MINUTE);
  expect(REIMAGED.map((name) => [reimages(run, name), bound(run, name)])).toEqual(REIMAGED.map(() => [1, 3]));
  await run.until('no node is left over', () => REIMAGED.every((name) => capacity(run, name) === 3), 60 * MINUTE);
  expect([pending(run), run.world.violations()]).toEqual([0, []]);
});
