/** What a setting says is what the running daemon does: growth. */
import { describe, expect, it } from 'vitest';
import type { PoolSpec, WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, SECOND, worldOf, type Workload } from './support.ts';

const GENERAL = aPool({ name: 'general', count: 1 });
const web = (change: Partial<Workload> = {}) => deployment({ name: 'web', replicas: 6, cpu: '3', ...change });

async function start(
  flags: readonly string[],
  pools: readonly PoolSpec[] = [GENERAL],
  change: Partial<WorldSpec> = {},
): Promise<VirtualRun> {
  return startedWorld({ spec: worldOf(pools, change), flags: ['--scale-down-enabled=false', '--scan-interval=30s', ...flags] });
}

const puts = (world: VirtualRun) => world.writes().filter(({ method }) => method === 'PUT');

describe('limits of the cluster', () => {
  it.each([
    ['--max-nodes-total=4', 3],
    ['--cores-total=0:16', 3],
    ['--memory-total=0:64', 3],
    ['--max-nodes-total=0', 6],
  ])('%s: a pool of one node beside a system node grows to %i', async (flag, expected) => {
    const world = await start([flag]);
    world.world.cluster.apply(web());
    await world.until('all bound', () => bound(world, 'web') === expected, 6 * MINUTE);
    await world.advance(2 * MINUTE);
    expect([capacity(world, 'general'), bound(world, 'web')]).toEqual([expected, expected]);
    expect(events(world, 'NotTriggerScaleUp').length > 0).toBe(expected < 6);
    expect(world.world.violations()).toEqual([]);
  });

  it('--max-nodes-total is reported on the status when it blocks', async () => {
    const world = await start(['--max-nodes-total=2']);
    world.world.cluster.apply(web());
    await world.advance(2 * MINUTE);
    expect(capacity(world, 'general')).toBe(1);
    expect(events(world, 'MaxNodesTotalReached')).not.toEqual([]);
    expect(events(world, 'NotTriggerScaleUp').join()).toMatch(/max total nodes in cluster reached/);
  });

  it('--max-nodes-per-scaleup: so many in one loop, the rest in the next ones, which follow at once', async () => {
    const world = await start(['--max-nodes-per-scaleup=2']);
    await world.advance(15 * SECOND);
    world.world.cluster.apply(web({ replicas: 10 }));
    await world.until('a first write', () => puts(world).length === 1, MINUTE);
    expect(capacity(world, 'general')).toBe(3);
    const began = world.clock.now();
    await world.until('all requested', () => capacity(world, 'general') === 10, MINUTE);
    expect((world.clock.now() - began) / SECOND).toBeLessThan(6);
    await world.until('all bound', () => bound(world, 'web') === 10, 10 * MINUTE);
    expect(puts(world)).toHaveLength(5);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('pods that are not meant, or not yet', () => {
  const delayed = { 'cluster-autoscaler.kubernetes.io/pod-scale-up-delay': '2m' };
  it.each<[string, readonly string[], Partial<Workload>, number, number]>([
    ['no delay', [], {}, 0, 15],
    ['a delay for all', ['--new-pod-scale-up-delay=1m'], {}, 60, 75],
    ['a longer one by annotation', ['--new-pod-scale-up-delay=1m'], { annotations: delayed }, 120, 135],
    ['a shorter one by annotation', ['--new-pod-scale-up-delay=3m'], { annotations: delayed }, 180, 195],
  ])('%s', async (_name, flags, change, least, most) => {
    const world = await start(flags);
    await world.advance(MINUTE);
    world.world.cluster.apply(web(change));
    const began = world.clock.now();
    await world.until('a write', () => puts(world).length === 1, 10 * MINUTE);
    const seconds = (world.clock.now() - began) / SECOND;
    expect(seconds).toBeGreaterThanOrEqual(least);
    expect(seconds).toBeLessThan(most);
  });

  it.each<[string, readonly string[], Readonly<Record<string, unknown>>, boolean]>([
    ['of a scheduler that is not allowed', ['--allowed-scheduler-names=mine'], {}, false],
    ['of a bypassed scheduler that says nothing', ['--bypassed-scheduler-names=mine'], { schedulerName: 'mine' }, true],
    ['expendable by the setting', ['--expendable-pods-priority-cutoff=5'], { priority: 4 }, false],
  ])('%s', async (_name, flags, spec, grows) => {
    const world = await start(flags);
    world.world.cluster.apply(web({ spec }));
    await world.advance(2 * MINUTE);
    expect(puts(world).length > 0).toBe(grows);
  });

  it('by default, of a scheduler that says nothing, gated or expendable; on the edge of expendable they are meant', async () => {
    const rows = [
      { row: 'of a scheduler that says nothing', name: 'other', spec: { schedulerName: 'mine' }, size: 0 },
      { row: 'gated', name: 'gated', spec: { schedulingGates: [{ name: 'example.com/wait' }] }, size: 0 },
      { row: 'expendable', name: 'spare', spec: { priority: -11 }, size: 0 },
      { row: 'on the edge of expendable', name: 'edge', spec: { priority: -10 }, size: 1 },
    ];
    const pools = rows.map(({ name }) => aPool({ name, count: 0 }));
    const world = await start([], pools);
    for (const { name, spec } of rows)
      world.world.cluster.apply(deployment({ name, replicas: 1, cpu: '3', spec: { ...spec, nodeSelector: { agentpool: name } } }));
    await world.advance(2 * MINUTE);
    for (const { row, name, size } of rows) expect(capacity(world, name), row).toBe(size);
  });
});

describe('how fast one pool may grow', () => {
  it('--max-nodes-per-group-per-minute: the rest goes to the next pool in the same plan, and what is left waits for its minute', async () => {
    const world = await start(['--max-nodes-per-group-per-minute=2'], [aPool({ name: 'a', count: 0 }), aPool({ name: 'b', count: 0 })]);
    world.world.cluster.apply(web());
    await world.until('a first plan', () => capacity(world, 'b') > 0, MINUTE);
    await world.advance(5 * SECOND);
    expect([capacity(world, 'a'), capacity(world, 'b')]).toEqual([2, 2]);
    await world.until('all bound', () => bound(world, 'web') === 6, 10 * MINUTE);
    expect([capacity(world, 'a'), capacity(world, 'b')]).toEqual([4, 2]);
    const [first, second, third] = puts(world).map(({ at }) => at);
    expect([(second ?? 0) - (first ?? 0) < SECOND, (third ?? 0) - (first ?? 0) >= MINUTE]).toEqual([true, true]);
    // kube-scheduler gave the place that was requested for one pod to another, and refused the first with all nodes of its increase.
    expect(puts(world)).toHaveLength(3);
  });
});

describe('pools that are alike', () => {
  const pair = (more: Partial<PoolSpec> = {}) => [aPool({ name: 'a', count: 0 }), aPool({ name: 'b', count: 0, ...more })];
  it.each<[string, readonly string[], Partial<PoolSpec>, readonly number[]]>([
    ['share what is needed where they are balanced', ['--balance-similar-node-groups'], {}, [3, 3]],
    ['do not by default', [], {}, [6, 0]],
    ['are not alike when a label differs', ['--balance-similar-node-groups'], { labels: { tier: 'x' } }, [6, 0]],
    ['unless it is to be ignored', ['--balance-similar-node-groups', '--balancing-ignore-label=tier'], { labels: { tier: 'x' } }, [3, 3]],
    ['one that is full leaves the rest to the other', ['--balance-similar-node-groups'], { max: 1 }, [5, 1]],
  ])('%s', async (_name, flags, more, sizes) => {
    const world = await start(flags, pair(more));
    world.world.cluster.apply(web());
    await world.until('all requested', () => capacity(world, 'a') + capacity(world, 'b') >= 6, MINUTE);
    await world.advance(30 * SECOND);
    expect([capacity(world, 'a'), capacity(world, 'b')]).toEqual(sizes);
  });
});

describe('a pool below its minimum', () => {
  it.each<[string, readonly string[], number]>([
    ['is raised to it', [], 3],
    ['is left alone when that is turned off', ['--enforce-node-group-min-size=false'], 1],
    ['is raised as far as the cluster may have nodes', ['--max-nodes-total=3'], 2],
    ['is raised as far as the cluster may have cores', ['--cores-total=0:12'], 2],
  ])('%s', async (_name, flags, expected) => {
    const world = await start(flags, [aPool({ name: 'general', count: 1, min: 3 })]);
    await world.advance(4 * MINUTE);
    expect(capacity(world, 'general')).toBe(expected);
    expect(pending(world)).toBe(0);
  });
});

describe('a group that failed', () => {
  const scarce = { stock: { 'Standard_D4s_v5/0': 0 } };
  it.each<[string, readonly string[], number]>([
    ['rests five minutes by default', [], 5],
    ['rests as long as the setting says', ['--initial-node-group-backoff-duration=9m'], 9],
  ])('%s', async (_name, flags, minutes) => {
    const world = await start(flags, [GENERAL], scarce);
    world.world.cluster.apply(web());
    await world.until('a second try', () => puts(world).length === 2, 40 * MINUTE);
    const [first, second] = puts(world).map(({ at }) => at);
    expect(((second ?? 0) - (first ?? 0)) / MINUTE).toBeGreaterThanOrEqual(minutes);
  });

  it('rests twice as long each time, up to the most that is allowed', async () => {
    const backoff = ['--initial-node-group-backoff-duration=2m', '--max-node-group-backoff-duration=5m'];
    const world = await start(backoff, [aPool({ name: 'general', count: 0 })]);
    world.world.arm.control.addCatalogued({ number: 41, id: 'policy', match: { pool: 'general' } });
    world.world.cluster.apply(web());
    await world.until('six tries', () => puts(world).length === 6, 24 * MINUTE);
    const tries = puts(world).map(({ at }) => at);
    const rests = tries.slice(1).map((at, index) => Math.round((at - (tries[index] ?? at)) / MINUTE));
    expect(rests).toEqual([2, 4, 5, 5, 5]);
  });
});

describe('the loop', () => {
  it('runs at the interval that is asked for while nothing happens', async () => {
    const world = await start([], [aPool({ name: 'general', count: 1, min: 1 })]);
    await world.advance(30 * SECOND);
    const before = world.reports.length;
    await world.advance(2 * MINUTE);
    expect(world.reports.length - before).toBe(4);
  });

  it('does not grow a cluster without nodes where that is turned off, and says so', async () => {
    const run = await startedWorld({
      spec: { ...worldOf([]), pools: [aPool({ name: 'general', count: 0 })] },
      flags: ['--scale-up-from-zero=false'],
    });
    run.world.cluster.apply(web());
    await run.until('the report', () => events(run, 'ClusterUnhealthy').length > 0, 12 * MINUTE);
    await run.advance(MINUTE);
    expect(run.writes()).toEqual([]);
    expect(events(run, 'ClusterUnhealthy')).toContain('Cluster has no nodes');
  });
});
