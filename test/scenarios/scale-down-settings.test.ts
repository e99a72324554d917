/** What a setting says is what the running daemon does: removals. */
import { describe, expect, it } from 'vitest';
import type { NodeObject, ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf, type Workload } from './support.ts';

/** Short timers, so that a scenario tells its story in minutes. */
const QUICK = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=0s'];

async function start(flags: readonly string[], pool: Partial<PoolSpec> = {}, objects: readonly ObjectDraft[] = []): Promise<VirtualRun> {
  const general = aPool({ name: 'general', count: 3, min: 0, ...pool });
  const run = await startedWorld({ spec: worldOf([general]), flags: [...QUICK, ...flags], env: { POD_NAME: 'pod-a' } });
  for (const object of objects) run.world.cluster.apply(object);
  return run;
}

const OWNER = 'aks-autoscaler/deletion-owner';
const LEASE = ['--leader-elect=true'];
const nodes = (world: VirtualRun, pool = 'general') =>
  world.world.cluster.store.nodes().filter(({ metadata }) => metadata.labels?.['agentpool'] === pool);
const posts = (world: VirtualRun) => world.writes().filter(({ method }) => method === 'POST');
const leaving = (node: NodeObject) => (node.spec.taints ?? []).some(({ key }) => key === 'ToBeDeletedByClusterAutoscaler');
/** Why the last loop kept nodes of the pool. */
const keptFor = (world: VirtualRun, pool = 'general') =>
  new Set(
    world.reports
      .at(-1)
      ?.scaleDown?.kept.filter(({ node }) => node.includes(`-${pool}-`))
      .map(({ reason, blocker }) => blocker?.reason ?? reason),
  );
const annotate = (world: VirtualRun, annotations: Readonly<Record<string, string>>, [node] = nodes(world)) => {
  if (node === undefined) throw new Error('no node');
  world.world.cluster.apply({ ...node, metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, ...annotations } } });
  return node.metadata.name;
};

describe('what may go at all', () => {
  const OF_SYSTEM = { namespace: 'kube-system' };
  const DISABLED = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';
  const ON_COMPLETION = { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'on-completion' };
  const SCRATCH = { volumes: [{ name: 'scratch', emptyDir: {} }] };
  const PRESSURE = { key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' };

  /** A pool of three nodes each, with one pod or none. */
  const ROWS: readonly {
    readonly row: string;
    readonly pool: string;
    readonly pod?: Partial<Workload>;
    readonly metadata?: object;
    readonly left: number;
    readonly reason?: string;
  }[] = [
    { row: 'everything that is empty', pool: 'empty', left: 0 },
    { row: 'a node of little use', pool: 'little', pod: {}, left: 1 },
    { row: 'not a node of more use than the threshold', pool: 'wide', pod: { cpu: '1' }, left: 1, reason: 'NotUnderutilized' },
    {
      row: 'not a node with local storage where that counts',
      pool: 'disk',
      pod: { spec: SCRATCH },
      left: 1,
      reason: 'LocalStorageRequested',
    },
    {
      row: 'not a node with a pod of the system',
      pool: 'sys',
      pod: {},
      metadata: OF_SYSTEM,
      left: 1,
      reason: 'UnmovableKubeSystemPod',
    },
    {
      row: 'not a node with a pod that is to run to its end',
      pool: 'task',
      pod: { annotations: ON_COMPLETION },
      left: 1,
      reason: 'BlockedByOnCompletionPod',
    },
    { row: 'not a node whose owner says so', pool: 'owned', left: 1, reason: 'ScaleDownDisabledAnnotation' },
    { row: 'a node that is not ready, by its own timer', pool: 'sick', left: 0 },
  ];

  it('is said for each node: by its use, its pods, its owner and its state', async () => {
    const flags = ['--scale-down-utilization-threshold=0.2', '--skip-nodes-with-local-storage', '--scale-down-unready-time=3m'];
    const spec = worldOf(ROWS.map(({ pool }) => aPool({ name: pool, count: 3 })));
    const world = await startedWorld({ spec, flags: [...QUICK, ...flags] });
    for (const { pool, pod, metadata } of ROWS) {
      if (pod === undefined) continue;
      const one = { name: pool, replicas: 1, cpu: '100m', ...pod };
      const draft = deployment({ ...one, spec: { ...one.spec, nodeSelector: { agentpool: pool } } });
      world.world.cluster.apply({ ...draft, metadata: { ...draft.metadata, ...metadata } });
    }
    const kept = annotate(world, { [DISABLED]: 'true' }, nodes(world, 'owned'));
    for (const node of nodes(world, 'sick'))
      world.world.cluster.apply({ ...node, spec: { ...node.spec, taints: [...(node.spec.taints ?? []), PRESSURE] } });
    await world.until('what may go is gone', () => ROWS.every(({ pool, left }) => capacity(world, pool) === left), 8 * MINUTE);
    await world.advance(3 * MINUTE);
    for (const { row, pool, left, reason } of ROWS) {
      expect(capacity(world, pool), row).toBe(left);
      if (reason !== undefined) expect([...keptFor(world, pool)], row).toContain(reason);
    }
    expect(nodes(world, 'owned').map(({ metadata }) => metadata.name)).toEqual([kept]);
    expect(bound(world, 'task')).toBe(1);
    expect(world.world.violations()).toEqual([]);
    annotate(world, { [DISABLED]: 'false' }, nodes(world, 'owned'));
    await world.until('gone when the word is taken back', () => capacity(world, 'owned') === 0, 5 * MINUTE);
  });

  it.each<[string, readonly string[], number, string | undefined]>([
    ['nothing when removals are turned off', ['--scale-down-enabled=false'], 3, undefined],
    ['no more than leaves the least number of cores', ['--cores-total=12:100'], 2, 'MinimalResourceLimitExceeded'],
    ['no more than leaves the least memory', ['--memory-total=20:1000'], 1, 'MinimalResourceLimitExceeded'],
  ])('%s', async (_name, flags, left, reason) => {
    const world = await start(flags);
    await world.advance(5 * MINUTE);
    expect(capacity(world, 'general')).toBe(left);
    if (reason !== undefined) expect([...keptFor(world)]).toContain(reason);
    expect(world.world.violations()).toEqual([]);
  });

  it('not a node that is not ready, where that is turned off', async () => {
    const world = await start(['--scale-down-unready-time=3m', '--scale-down-unready-enabled=false'], { count: 1 });
    const [sick] = nodes(world);
    if (sick === undefined) throw new Error('no node');
    world.world.cluster.apply({ ...sick, spec: { ...sick.spec, taints: [...(sick.spec.taints ?? []), PRESSURE] } });
    await world.advance(6 * MINUTE);
    expect(capacity(world, 'general')).toBe(1);
    expect([...keptFor(world)]).toContain('ScaleDownUnreadyDisabled');
  });

  it('a foreign deletion taint stays for ten minutes, then is removed and reported, and the node goes by its own timer', async () => {
    const world = await start([], { count: 1 });
    const [node] = nodes(world);
    if (node === undefined) throw new Error('no node');
    await world.advance(20 * SECOND);
    const value = String(Math.floor(world.clock.now() / SECOND));
    const mark = { key: 'ToBeDeletedByClusterAutoscaler', value, effect: 'NoSchedule' };
    world.world.cluster.apply({ ...node, spec: { ...node.spec, taints: [...(node.spec.taints ?? []), mark] } });
    const told = () => events(world, 'ClusterAutoscalerCleanup').length;
    await world.advance(9.5 * MINUTE);
    expect([nodes(world).filter(leaving).length, told(), capacity(world, 'general')]).toEqual([1, 0, 1]);
    await world.advance(50 * SECOND);
    expect([nodes(world).filter(leaving).length, told()]).toEqual([0, 1]);
    await world.until('gone', () => capacity(world, 'general') === 0, 3 * MINUTE);
  });

  it.each([
    { name: 'of a writer without a name stays', annotations: {}, flags: [], left: 1 },
    { name: 'of another process without a lease stays', annotations: { [OWNER]: 'other/since-1' }, flags: [], left: 1 },
    { name: 'of the same leader, before its process began again, is removed', annotations: { [OWNER]: 'pod-a/0' }, flags: LEASE, left: 0 },
  ])('a young deletion taint that a process finds when it begins: one $name', async ({ annotations, flags, left }) => {
    const world = await start(flags, { count: 1 });
    world.killDaemon();
    const [node] = nodes(world);
    if (node === undefined) throw new Error('no node');
    const mark = { key: 'ToBeDeletedByClusterAutoscaler', value: String(Math.floor(world.clock.now() / SECOND)), effect: 'NoSchedule' };
    const metadata = { ...node.metadata, annotations: { ...node.metadata.annotations, ...annotations } };
    world.world.cluster.apply({ ...node, metadata, spec: { ...node.spec, taints: [...(node.spec.taints ?? []), mark] } });
    await world.startDaemon();
    await world.advance(12 * SECOND);
    expect([nodes(world).filter(leaving).length, events(world, 'ClusterAutoscalerCleanup').length]).toEqual([left, 1 - left]);
  });
});

describe('how many at once, and how soon', () => {
  it('no more nodes are on their way out than may be', async () => {
    const world = await start(['--max-scale-down-parallelism=2', '--node-delete-delay-after-taint=20s'], { count: 6 });
    const machines = () => world.world.arm.control.state().sets.find(({ pool }) => pool === 'general')?.instances ?? [];
    const standing = () => new Set(machines().flatMap((machine) => (machine.provisioningState === 'Deleting' ? [] : [machine.hostName])));
    let most = 0;
    const isDone = () => {
      const hosts = standing();
      most = Math.max(most, nodes(world).filter((node) => leaving(node) && hosts.has(node.metadata.name)).length);
      return capacity(world, 'general') === 0;
    };
    await world.until('all gone', isDone, 20 * MINUTE);
    expect(most).toBe(2);
  });

  it('a node is marked for the wait before it goes, and cordoned unless that is turned off', async () => {
    for (const cordon of [true, false]) {
      const world = await start([`--cordon-node-before-terminating=${cordon}`, '--node-delete-delay-after-taint=40s'], { count: 1 });
      await world.until('a mark', () => nodes(world).some(leaving), 5 * MINUTE);
      const marked = world.clock.now();
      expect(nodes(world)[0]?.spec.unschedulable === true).toBe(cordon);
      await world.until('the deletion', () => posts(world).length === 1, 5 * MINUTE);
      expect(world.clock.now() - marked).toBeGreaterThanOrEqual(40 * SECOND);
    }
  });

  it('after a growth nothing goes for a while, wherever it was', async () => {
    const world = await start(['--scale-down-delay-after-add=6m', '--max-nodes-total=5'], { count: 2, min: 0 });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.until('growth', () => capacity(world, 'general') === 3, 3 * MINUTE);
    const grown = world.clock.now();
    world.world.cluster.remove(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.until('a removal', () => posts(world).length > 0, 20 * MINUTE);
    expect(world.clock.now() - grown).toBeGreaterThanOrEqual(6 * MINUTE);
    expect(world.clock.now() - grown).toBeLessThan(8 * MINUTE);
  });

  it('after a removal nothing goes for as long as is asked', async () => {
    const world = await start(['--scale-down-delay-after-delete=4m', '--max-scale-down-parallelism=1'], { count: 2 });
    await world.until('both gone', () => posts(world).length === 2, 20 * MINUTE);
    const [first, second] = posts(world).map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(4 * MINUTE);
  });

  it('a node with a delay annotation is deleted when the annotation is gone, or the time is up', async () => {
    const key = 'delay-deletion.cluster-autoscaler.kubernetes.io/backup';
    const world = await start(['--node-deletion-delay-timeout=3m'], { count: 1 });
    annotate(world, { [key]: '' });
    await world.until('a mark', () => nodes(world).some(leaving), 5 * MINUTE);
    const marked = world.clock.now();
    await world.until('the deletion', () => posts(world).length === 1, 10 * MINUTE);
    expect(world.clock.now() - marked).toBeGreaterThanOrEqual(3 * MINUTE);
    expect(world.clock.now() - marked).toBeLessThan(4 * MINUTE);
  });

  it('nodes that are ready within the interval of batches go in one call', async () => {
    const world = await start(['--node-deletion-batcher-interval=30s', '--max-drain-parallelism=3'], { count: 3 });
    await world.until('all gone', () => capacity(world, 'general') === 0, 10 * MINUTE);
    expect(posts(world)).toHaveLength(1);
  });

  it('marks of candidates: so many per loop', async () => {
    const world = await start(['--max-bulk-soft-taint-count=1', '--scale-down-unneeded-time=30m', '--scan-interval=30s'], { count: 4 });
    const marked = () =>
      nodes(world).filter(({ spec }) => (spec.taints ?? []).some(({ key }) => key.startsWith('DeletionCandidate'))).length;
    const seen: number[] = [];
    for (let minute = 0; minute < 6; minute += 1) {
      seen.push(marked());
      await world.advance(30 * SECOND);
    }
    expect(seen.every((count, index) => index === 0 || count - (seen[index - 1] ?? 0) <= 1)).toBe(true);
    expect(marked()).toBe(4);
  });

  it('a pod of the system goes when it has been there for as long as the setting says', async () => {
    const system = {
      ...deployment({ name: 'web', replicas: 1, cpu: '100m' }),
      metadata: { name: 'web', namespace: 'kube-system', labels: { app: 'web' } },
    };
    const world = await start(['--blocking-system-pod-distruption-timeout=6m', '--unremovable-node-recheck-timeout=1m'], { count: 2 }, [
      system,
    ]);
    world.world.cluster.apply(deployment({ name: 'other', replicas: 1, cpu: '2500m' }));
    await world.until('bound', () => bound(world, 'web') === 1 && bound(world, 'other') === 1, MINUTE);
    await world.advance(4 * MINUTE);
    const before = capacity(world, 'general');
    await world.until('one node', () => capacity(world, 'general') === 1, 8 * MINUTE);
    await world.until('bound again', () => bound(world, 'web') === 1, 2 * MINUTE);
    expect([before, capacity(world, 'general'), bound(world, 'web')]).toEqual([2, 1, 1]);
    expect(events(world, 'ScaleDown')).not.toEqual([]);
  });

  it('one drain at a time where one is allowed', async () => {
    const world = await start(['--max-drain-parallelism=1'], { count: 4 });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '300m', spec: { terminationGracePeriodSeconds: 60 } }));
    let most = 0;
    const isDone = () => {
      const machines = world.world.arm.control.state().sets.find(({ pool }) => pool === 'general')?.instances ?? [];
      const staying = new Set(machines.flatMap((machine) => (machine.provisioningState === 'Deleting' ? [] : [machine.hostName])));
      most = Math.max(most, nodes(world).filter((node) => leaving(node) && staying.has(node.metadata.name)).length);
      return capacity(world, 'general') === 1;
    };
    await world.until('one node', isDone, 30 * MINUTE);
    expect(most).toBe(1);
  });

  it.each([
    ['of its own pool, where that is asked for', ['--scale-down-delay-type-local'], 0],
    ['of any pool by default', [], 2],
  ])('a growth holds back removals %s', async (_name, flags, left) => {
    const pools = [aPool({ name: 'other', count: 0, labels: { only: 'here' } }), aPool({ name: 'general', count: 2 })];
    const world = await startedWorld({
      spec: worldOf(pools),
      flags: ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=10m', ...flags],
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '3', spec: { nodeSelector: { only: 'here' } } }));
    await world.advance(5 * MINUTE);
    expect([capacity(world, 'general'), bound(world, 'web')]).toEqual([left, 1]);
  });
});
