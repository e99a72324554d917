import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, SECOND, worldOf, events } from './support.ts';

/** Cheap machines first, the others when there are none. */
const directory = mkdtempSync(join(tmpdir(), 'spot-'));
const priorities = join(directory, 'config.yaml');
writeFileSync(priorities, "scaleUp: { priorities: { '50': [spot], '10': ['.*'] } }\n");
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const TOLERATION = { key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' };

const web = (replicas: number) => deployment({ name: 'web', replicas, cpu: '3', spec: { tolerations: [TOLERATION] } });

/** Six Spot nodes with a pod each. */
async function start(
  evictionPolicy: 'Delete' | 'Deallocate',
  flags: readonly string[] = ['--scale-down-enabled=false'],
): Promise<VirtualRun> {
  const spot = aPool({ name: 'spot', count: 6, max: 12, priority: 'Spot', evictionPolicy });
  const regular = aPool({ name: 'regular', vmSize: 'Standard_D8s_v5', count: 0, max: 6 });
  const run = await startedWorld({ spec: worldOf([spot, regular]), flags });
  run.world.cluster.apply(web(6));
  const world = run;
  await world.until('all bound', () => bound(world, 'web') === 6, 5 * MINUTE);
  await world.advance(MINUTE);
  return world;
}

const announced = (world: VirtualRun) =>
  world.world.cluster.store
    .nodes()
    .filter(({ status }) => (status.conditions ?? []).some(({ type, status: is }) => type === 'PreemptScheduled' && is === 'True'));

describe('a wave over half a Spot pool', () => {
  it('its nodes are cordoned and emptied within the notice, and replaced at once', async () => {
    const world = await start('Delete');
    const writesBefore = world.writes().length;
    world.world.arm.control.raise({ evict: { pool: 'spot', count: 3 } });
    await world.until('announced', () => announced(world).length === 3, 5 * SECOND);
    const noticedMs = world.clock.now();
    await world.until('a write', () => world.writes().length > writesBefore, 5 * SECOND);
    await world.until(
      'left by their pods',
      () => {
        const names = new Set(announced(world).map(({ metadata }) => metadata.name));
        return world.world.cluster.store
          .boundPods()
          .every((pod) => pod.metadata.labels?.['app'] !== 'web' || !names.has(pod.spec.nodeName ?? ''));
      },
      20 * SECOND,
    );
    expect(world.clock.now() - noticedMs).toBeLessThan(20 * SECOND);
    expect(announced(world).map(({ spec }) => spec.unschedulable)).toEqual([true, true, true]);
    expect(events(world, 'NodePreempted')).toHaveLength(3);
    const served = await (await fetch(`${world.daemon.url ?? ''}/metrics`)).text();
    expect(served).toMatch(/^aks_autoscaler_preempted_nodes_total\{node_group="[^"]*spot[^"]*"\} 3$/m);
    expect(served).toMatch(/^aks_autoscaler_preempted_pods_total\{outcome="evicted"\} 3$/m);
    expect(served).toMatch(/^aks_autoscaler_preempted_pods_total\{outcome="stayed"\} 0$/m);
    expect(served).toMatch(/^aks_autoscaler_preemption_notice_seconds_count 3$/m);
    await world.until('all bound again', () => bound(world, 'web') === 6, 5 * MINUTE);
    await world.advance(5 * MINUTE);
    expect([bound(world, 'web'), pending(world), capacity(world, 'spot') + capacity(world, 'regular')]).toEqual([6, 0, 6]);
    expect(world.world.violations()).toEqual([]);
  });

  it('deallocated machines are not taken for capacity, and hold nothing up', async () => {
    const world = await start('Deallocate');
    world.world.arm.control.raise({ evict: { pool: 'spot', count: 4 } });
    await world.until('deallocated', () => stopped(world) === 4, 3 * MINUTE);
    await world.until('all bound again', () => bound(world, 'web') === 6, 5 * MINUTE);
    expect(world.world.violations()).toEqual([]);
    expect(world.reports.at(-1)?.scaleDown?.inhibited ?? '').not.toContain('too many nodes are unready');
  });

  it('deallocated instances that stay deallocated are deleted soon, and free their place', async () => {
    const world = await start('Deallocate', ['--scale-down-delay-after-add=1m', '--scale-down-unneeded-time=1h']);
    world.world.arm.control.raise({ evict: { pool: 'spot', count: 4 } });
    await world.until('deallocated', () => stopped(world) === 4, 3 * MINUTE);
    await world.until('all bound again', () => bound(world, 'web') === 6, 5 * MINUTE);
    await world.until('none left', () => stopped(world) === 0, 12 * MINUTE);
    await world.advance(5 * MINUTE);
    expect(bound(world, 'web')).toBe(6);
    expect(capacity(world, 'spot')).toBeLessThan(7);
    expect(world.world.violations()).toEqual([]);
  });

  it('the next priority is ordered in the loop in which Spot turns out to have none left', async () => {
    const world = await start('Delete', ['--scale-down-enabled=false', `--config=${priorities}`]);
    world.world.arm.control.setStock('Standard_D4s_v5', '0', 0);
    world.world.arm.control.raise({ evict: { pool: 'spot', count: 3 } });
    const refused = () => world.reports.find((report) => report.state.stockouts.length > 0);
    await world.until('out of stock reported', () => refused() !== undefined, 5 * MINUTE);
    const loop = refused();
    const grown = loop?.rounds.flatMap(({ increases }) => increases.map(({ increase }) => increase.group)) ?? [];
    expect(grown).toEqual([expect.stringContaining('regular')]);
    await world.until('all bound again', () => bound(world, 'web') === 6, 10 * MINUTE);
    expect(capacity(world, 'regular')).toBeGreaterThan(0);
    expect(world.world.violations()).toEqual([]);
  });

  it('a daemon that dies in the middle of it is followed by one that goes on', async () => {
    const world = await start('Delete');
    world.world.arm.control.raise({ evict: { pool: 'spot', count: 3 } });
    await world.until('marked', () => announced(world).some(({ spec }) => spec.unschedulable === true), 10 * SECOND);
    world.killDaemon();
    await world.startDaemon();
    await world.until('all bound again', () => bound(world, 'web') === 6, 5 * MINUTE);
    await world.advance(2 * MINUTE);
    expect(world.world.cluster.store.nodes().filter(({ spec }) => spec.unschedulable === true)).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });
});

function stopped(world: VirtualRun): number {
  const set = world.world.arm.control.state().sets.find(({ pool }) => pool === 'spot');
  return set?.instances.filter(({ power }) => power === 'deallocated').length ?? 0;
}

it('Spot pools with a better placement score grow first, and the answer of explain has the score', async () => {
  const stock = { 'Standard_D4s_v5/1': 2, 'Standard_D4s_v5/2': 90 };
  const pools = ['1', '2'].map((zone) => aPool({ name: `spot${zone}`, count: 0, priority: 'Spot', zones: [zone] }));
  const world = await startedWorld({ spec: worldOf(pools, { stock }), flags: ['--expander=placement,least-waste'] });
  world.world.cluster.apply(web(3));
  await world.until('all bound', () => bound(world, 'web') === 3, 5 * MINUTE);
  expect([capacity(world, 'spot1'), capacity(world, 'spot2')]).toEqual([0, 3]);
  const answer = await (await fetch(`${world.daemon.url ?? ''}/api/v1/pools/spot1`)).text();
  expect(answer).toContain('"placementScore":"Low"');
});
