/** Machines that come late, in part or not at all, nodes that are not of use yet, and what the status says of them. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const TWO = [aPool({ name: 'aaa', count: 0 }), aPool({ name: 'bbb', count: 0, vmSize: 'Standard_E4s_v5' })];
const PROVISION_TAG = 'k8s.io_cluster-autoscaler_node-template_autoscaling-options_maxnodeprovisiontime';
const web = (replicas: number, cpu = '3') => deployment({ name: 'web', replicas, cpu });

function start(pools: readonly PoolSpec[], flags: readonly string[] = []): Promise<VirtualRun> {
  return startedWorld({
    spec: worldOf(pools),
    flags: ['--scale-down-unneeded-time=2m', '--scale-down-delay-after-add=1m', '--scan-interval=30s', ...flags],
  });
}

interface GroupStatus {
  readonly name: string;
  readonly health: {
    readonly status: string;
    readonly nodeCounts: Readonly<Record<string, unknown>>;
    readonly cloudProviderTarget: number;
  };
  readonly scaleUp: { readonly status: string; readonly backoffInfo?: { readonly errorCode: string } };
  readonly scaleDown: { readonly status: string; readonly candidates?: number };
}
function statusOf(world: VirtualRun, pool: string): GroupStatus | undefined {
  const maps = world.world.cluster.store.list('configmaps');
  const found = maps.find(({ metadata }) => metadata.name === 'cluster-autoscaler-status') as
    | { readonly data: { readonly status: string } }
    | undefined;
  const { nodeGroups = [] } = parse(found?.data.status ?? '{}') as { nodeGroups?: readonly GroupStatus[] };
  return nodeGroups.find(({ name }) => name.includes(pool));
}
const nodes = (world: VirtualRun, pool: string) =>
  world.world.cluster.store.nodes().filter(({ metadata }) => metadata.labels?.['agentpool'] === pool);
const puts = (world: VirtualRun) => world.writes().filter(({ method }) => method === 'PUT');

describe('a machine that never becomes a node', () => {
  it('that is there, is being created for ever, or does not report: its pool backs off, another takes the pods, and it is deleted', async () => {
    const rows = [
      { number: 13, row: 'is there' },
      { number: 10, row: 'is being created for ever' },
      { number: 12, row: 'does not report' },
    ].map((each) => ({ ...each, lost: `a${each.number}`, spare: `b${each.number}`, app: `web-${each.number}` }));
    const pools = rows.flatMap(({ lost, spare, app }) => [
      aPool({ name: lost, count: 0, labels: { app } }),
      aPool({ name: spare, count: 0, vmSize: 'Standard_E4s_v5', labels: { app } }),
    ]);
    const world = await start(pools, ['--max-node-provision-time=6m']);
    const { control } = world.world.arm;
    for (const { number, lost, app } of rows) {
      control.addCatalogued({ number, id: lost, match: { pool: lost } });
      world.world.cluster.apply(deployment({ name: app, replicas: 2, cpu: '3', spec: { nodeSelector: { app } } }));
    }
    await world.until('the orders', () => puts(world).length === rows.length, MINUTE);
    const ordered = world.clock.now();
    await world.advance(MINUTE);
    for (const { row, lost } of rows) expect(statusOf(world, lost), row).toMatchObject({ scaleUp: { status: 'InProgress' } });
    await world.until('all bound', () => rows.every(({ app }) => bound(world, app) === 2), 15 * MINUTE);
    expect(world.clock.now() - ordered).toBeLessThan(12 * MINUTE);
    const told = ['ScaleUpTimedOut', 'FailedToScaleUpGroup', 'ScaleUpFailed'].flatMap((reason) => events(world, reason)).join();
    for (const { row, lost, spare } of rows) {
      expect(nodes(world, spare), row).toHaveLength(2);
      expect(told, row).toContain(lost);
    }
    await world.until('reported', () => rows.every(({ lost }) => statusOf(world, lost)?.scaleUp.status === 'Backoff'), MINUTE);
    for (const { lost } of rows) control.removeFault(lost);
    await world.until('the machines gone', () => rows.every(({ lost }) => capacity(world, lost) === 0), 20 * MINUTE);
    for (const { row, app } of rows) expect(bound(world, app), row).toBe(2);
    expect(world.world.violations()).toEqual([]);
  });

  it('a restart does not give it its time again', async () => {
    const world = await start(TWO, ['--max-node-provision-time=6m']);
    world.world.arm.control.addCatalogued({ number: 13, id: 'lost', match: { pool: 'aaa' } });
    world.world.cluster.apply(web(2));
    await world.until('an order', () => puts(world).length === 1, MINUTE);
    const ordered = world.clock.now();
    for (let life = 0; life < 2; life++) {
      await world.advance(2.5 * MINUTE);
      world.killDaemon();
      await world.startDaemon();
    }
    await world.until('another order', () => puts(world).length === 2, 5 * MINUTE);
    expect(world.clock.now() - ordered).toBeLessThan(8 * MINUTE);
    expect(events(world, 'ScaleUpTimedOut')).toHaveLength(1);
    world.world.arm.control.removeFault('lost');
    await world.until('the machines gone', () => capacity(world, 'aaa') === 0, 5 * MINUTE);
    await world.until('all bound', () => bound(world, 'web') === 2, 5 * MINUTE);
    expect(puts(world)).toHaveLength(2);
    expect(world.world.violations()).toEqual([]);
  });

  it('that is only late is waited for, and nothing is ordered twice', async () => {
    const rows = [9, 14, 54].map((number) => ({ number, late: `a${number}`, spare: `b${number}`, app: `web-${number}` }));
    const pools = rows.flatMap(({ late, spare, app }) => [
      aPool({ name: late, count: 0, labels: { app }, tags: { [PROVISION_TAG]: app === 'web-54' ? '15m' : '40m' } }),
      aPool({ name: spare, count: 0, vmSize: 'Standard_E4s_v5', labels: { app } }),
    ]);
    const world = await start(pools);
    for (const { number, late, app } of rows) {
      world.world.arm.control.addCatalogued({ number, id: late, match: { pool: late } });
      world.world.cluster.apply(deployment({ name: app, replicas: 2, cpu: '3', spec: { nodeSelector: { app } } }));
    }
    await world.until('all bound', () => rows.every(({ app }) => bound(world, app) === 2), 45 * MINUTE);
    await world.advance(3 * MINUTE);
    for (const { number, late, spare } of rows) expect([capacity(world, late), capacity(world, spare)], `fault ${number}`).toEqual([2, 0]);
    expect(puts(world)).toHaveLength(rows.length);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('a pool with an instance that has no node and keeps its place', () => {
  const failures = (world: VirtualRun) =>
    ['ScaleUpTimedOut', 'FailedToScaleUpGroup', 'ScaleUpFailed'].flatMap((reason) => events(world, reason));
  const SPOT = { key: 'kubernetes.azure.com/scalesetpriority', operator: 'Exists', effect: 'NoSchedule' };
  const FLAGS = ['--max-node-provision-time=5m', '--scale-down-enabled=false'];
  const KINDS = ['vmss-uniform', 'vmss-flexible'] as const;
  const web = (kind: string, replicas: number) =>
    deployment({ name: kind, replicas, cpu: '3', spec: { tolerations: [SPOT], nodeSelector: { agentpool: NAMES[kind] } } });
  const NAMES: Readonly<Record<string, string>> = { 'vmss-uniform': 'aaa', 'vmss-flexible': 'bbb' };
  const found = (world: VirtualRun) => ({
    failures: failures(world),
    capacities: ['aaa', 'bbb'].map((pool) => capacity(world, pool)),
    puts: puts(world).length,
  });

  /** A node for each pool, and the time in which one that has no node would have been given up. */
  async function grow(world: VirtualRun, replicas: number): Promise<void> {
    const before = found(world);
    const statuses = () => ['aaa', 'bbb'].map((pool) => statusOf(world, pool)?.scaleUp.status);
    for (const kind of KINDS) world.world.cluster.apply(web(kind, replicas));
    await world.until('all bound', () => KINDS.every((kind) => bound(world, kind) === replicas), 5 * MINUTE);
    await world.until('the end of the increase', () => statuses().every((status) => status === 'NoActivity'), 2 * MINUTE);
    await world.advance(6 * MINUTE);
    expect(statuses()).toEqual(['NoActivity', 'NoActivity']);
    expect(found(world)).toEqual({ ...before, capacities: before.capacities.map((count) => count + 1), puts: before.puts + 2 });
    expect(world.world.violations()).toEqual([]);
  }

  it('a deallocated instance whose Node object is deleted fails no later increase, in sets of both kinds', async () => {
    const pools = KINDS.map((kind) => aPool({ name: NAMES[kind] ?? '', kind, count: 1, priority: 'Spot', evictionPolicy: 'Deallocate' }));
    const world = await start(pools, FLAGS);
    for (const pool of ['aaa', 'bbb']) {
      world.world.arm.control.raise({ evict: { pool, count: 1 } });
      const isStopped = () => world.world.arm.machines.list().some((machine) => machine.pool === pool && machine.power === 'deallocated');
      await world.until('deallocated', isStopped, 3 * MINUTE);
      for (const { metadata } of nodes(world, pool)) world.world.cluster.remove({ apiVersion: 'v1', kind: 'Node', metadata });
    }
    await world.advance(8 * MINUTE);
    for (const pool of ['aaa', 'bbb']) expect([capacity(world, pool), nodes(world, pool).length], pool).toEqual([1, 0]);
    for (const replicas of [1, 2]) await grow(world, replicas);
    world.killDaemon();
    await world.startDaemon();
    for (const replicas of [3, 4]) await grow(world, replicas);
  });
});

describe('pools side by side', () => {
  it('grow in the same loop, none waits for the operation of another', async () => {
    const world = await start(TWO.map((pool) => ({ ...pool, labels: { only: pool.name } })));
    for (const name of ['aaa', 'bbb'])
      world.world.cluster.apply(deployment({ name, replicas: 2, cpu: '3', spec: { nodeSelector: { only: name } } }));
    await world.until('two orders', () => puts(world).length === 2, MINUTE);
    expect(Math.abs((puts(world)[0]?.at ?? 0) - (puts(world)[1]?.at ?? 0))).toBeLessThan(5 * SECOND);
    await world.until('all bound', () => bound(world, 'aaa') + bound(world, 'bbb') === 4, 10 * MINUTE);
    expect([capacity(world, 'aaa'), capacity(world, 'bbb')]).toEqual([2, 2]);
  });

  it('a pool may grow while its machines are being deleted, and what goes is no room', async () => {
    const world = await start([aPool({ name: 'aaa', count: 3 })]);
    await world.until('deletions', () => world.writes().some(({ method }) => method === 'POST'), 10 * MINUTE);
    world.world.cluster.apply(web(3));
    await world.until('all bound', () => bound(world, 'web') === 3, 15 * MINUTE);
    await world.advance(5 * MINUTE);
    expect([capacity(world, 'aaa'), nodes(world, 'aaa').length]).toEqual([3, 3]);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('another writer resizes a pool', () => {
  it('that is its size from now on, and no write answers it', async () => {
    const rows = [
      { row: 'more nodes', pool: 'aaa', delta: 2, size: 4 },
      { row: 'fewer nodes', pool: 'bbb', delta: -1, size: 1 },
    ];
    const pools = rows.map(({ pool }) => aPool({ name: pool, count: 2 }));
    const world = await start(pools, ['--scale-down-enabled=false']);
    await world.advance(MINUTE);
    for (const { pool, delta } of rows) world.world.arm.control.raise({ foreignScale: { pool, delta } });
    const known = (pool: string) => statusOf(world, pool)?.health.cloudProviderTarget;
    await world.until('the sizes are known', () => rows.every(({ pool, size }) => known(pool) === size), 4 * MINUTE);
    await world.advance(8 * MINUTE);
    expect(world.writes()).toEqual([]);
    for (const { row, pool, size } of rows)
      expect(statusOf(world, pool), row).toMatchObject({
        health: { status: 'Healthy', nodeCounts: { registered: { total: size, ready: size } } },
        scaleUp: { status: 'NoActivity' },
      });
  });
});

describe('a node that is there and of no use', () => {
  const tainted = async (world: VirtualRun, key: string) => {
    const [node] = nodes(world, 'aaa');
    if (node === undefined) throw new Error('no node');
    const taint = { key, effect: 'NoSchedule' };
    world.world.cluster.apply({ ...node, spec: { ...node.spec, taints: [...(node.spec.taints ?? []), taint] } });
    await world.advance(15 * SECOND);
  };

  it('with a startup taint is on its way: pods wait for it, and nothing more is ordered until it is gone', async () => {
    const key = 'startup-taint.cluster-autoscaler.kubernetes.io/agent';
    const world = await start([aPool({ name: 'aaa', count: 0, taints: [`${key}=true:NoSchedule`] })]);
    world.world.cluster.apply(web(1));
    await world.until('a node', () => nodes(world, 'aaa').length === 1, 5 * MINUTE);
    await world.advance(5 * MINUTE);
    expect([capacity(world, 'aaa'), bound(world, 'web')]).toEqual([1, 0]);
    expect(statusOf(world, 'aaa')).toMatchObject({ health: { nodeCounts: { registered: { total: 1, ready: 0, notStarted: 1 } } } });
    const [node] = nodes(world, 'aaa');
    if (node === undefined) throw new Error('no node');
    world.world.cluster.apply({ ...node, spec: { ...node.spec, taints: (node.spec.taints ?? []).filter((taint) => taint.key !== key) } });
    await world.until('bound', () => bound(world, 'web') === 1, MINUTE);
    expect(puts(world)).toHaveLength(1);
  });

  it('with a status taint is ready and takes no pods: another is ordered at once, without the taint', async () => {
    const world = await start(
      [aPool({ name: 'aaa', count: 1, min: 1 })],
      ['--status-taint=example.com/busy', '--scale-down-enabled=false'],
    );
    await tainted(world, 'example.com/busy');
    world.world.cluster.apply(web(1));
    await world.until('bound', () => bound(world, 'web') === 1, 5 * MINUTE);
    expect(capacity(world, 'aaa')).toBe(2);
    await world.advance(70 * SECOND);
    expect(statusOf(world, 'aaa')).toMatchObject({ health: { nodeCounts: { registered: { ready: 2 } } } });
  });

  it('cordoned by a person takes no pods, another is ordered, and it goes when it is empty', async () => {
    const world = await start([aPool({ name: 'aaa', count: 1, min: 0 })]);
    const [node] = nodes(world, 'aaa');
    if (node === undefined) throw new Error('no node');
    world.world.cluster.apply({ ...node, spec: { ...node.spec, unschedulable: true } });
    await world.advance(15 * SECOND);
    world.world.cluster.apply(web(1));
    await world.until('bound', () => bound(world, 'web') === 1, 5 * MINUTE);
    expect(nodes(world, 'aaa')).toHaveLength(2);
    await world.until('gone', () => nodes(world, 'aaa').every(({ metadata }) => metadata.name !== node.metadata.name), 10 * MINUTE);
    expect([capacity(world, 'aaa'), bound(world, 'web')]).toEqual([1, 1]);
  });
});

describe('the status of removals', () => {
  it('counts candidates as long as there are any, and is quiet without', async () => {
    const world = await start([aPool({ name: 'aaa', count: 3, min: 1 })], ['--scale-down-unneeded-time=5m']);
    await world.advance(2 * MINUTE);
    expect(statusOf(world, 'aaa')?.scaleDown).toMatchObject({ status: 'CandidatesPresent' });
    await world.until('the minimum', () => nodes(world, 'aaa').length === 1, 15 * MINUTE);
    await world.advance(2 * MINUTE);
    expect(statusOf(world, 'aaa')?.scaleDown).toMatchObject({ status: 'NoCandidates' });
    expect(statusOf(world, 'aaa')?.scaleDown).not.toHaveProperty('candidates');
  });
});
