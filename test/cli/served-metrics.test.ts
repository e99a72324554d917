import { afterEach, describe, expect, it } from 'vitest';
import { aPool, bound, deployment, MINUTE, worldOf } from '../scenarios/support.ts';
import { VirtualRun, type VirtualRunOptions } from '../support/virtual-world.ts';

let run: VirtualRun | undefined;
async function start(options: VirtualRunOptions): Promise<VirtualRun> {
  run = await VirtualRun.start(options);
  return run;
}
afterEach(async () => {
  await run?.stop();
  run = undefined;
});

/** One series as it is served; undefined when it is not there. */
async function served(world: VirtualRun, series: string): Promise<number | undefined> {
  const text = await (await fetch(`${world.daemon.url ?? ''}/metrics`)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

const FAST = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=5m', '--scale-down-delay-after-failure=1m'];

describe('what a daemon serves', () => {
  it('tells a scale-up and a scale-down under both families of names', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general' })]), flags: FAST });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.until('all bound', () => bound(world, 'web') === 8, 5 * MINUTE);
    await world.advance(20_000);
    const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes('general'))?.id ?? '';
    const expected = {
      [`aks_autoscaler_scaled_up_nodes_total{node_group="${group}"}`]: 1,
      cluster_autoscaler_scaled_up_nodes_total: 1,
      'cluster_autoscaler_nodes_count{state="ready"}': 3,
      'cluster_autoscaler_nodes_count{state="unready"}': 0,
      'cluster_autoscaler_node_groups_count{node_group_type="autoscaled"}': world.reports.at(-1)?.observation?.cloud.groups.length,
      'cluster_autoscaler_unschedulable_pods_count{type="unschedulable"}': 0,
      cluster_autoscaler_cluster_safe_to_autoscale: 1,
      cluster_autoscaler_cluster_cpu_current_cores: 12,
      // The scale-up was less than five minutes ago.
      cluster_autoscaler_scale_down_in_cooldown: 1,
      [`cluster_autoscaler_node_group_target_count{node_group="${group}"}`]: 2,
      [`cluster_autoscaler_node_group_backoff_status{node_group="${group}",reason=""}`]: 0,
      'cluster_autoscaler_cpu_limits_cores{direction="maximum"}': 320_000,
    };
    const seen = Object.fromEntries(
      await Promise.all(Object.keys(expected).map(async (series) => [series, await served(world, series)] as const)),
    );
    expect(seen).toEqual(expected);

    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '700m' }));
    await world.until(
      'a node went',
      () => world.reports.some((report) => report.removed.some(({ kind }) => kind === 'deleted')),
      10 * MINUTE,
    );
    const removed = (await served(world, 'cluster_autoscaler_scaled_down_nodes_total{reason="empty"}')) ?? 0;
    expect(removed + ((await served(world, 'cluster_autoscaler_scaled_down_nodes_total{reason="underutilized"}')) ?? 0)).toBe(1);
    expect(await served(world, 'cluster_autoscaler_last_activity{activity="mainSuccessful"}')).toBeCloseTo(world.clock.now() / 1000, -2);
  });

  it('serves the native names alone when asked to', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general' })]), flags: ['--cluster-autoscaler-metrics=false'] });
    await world.advance(20_000);
    const text = await (await fetch(`${world.daemon.url ?? ''}/metrics`)).text();
    expect(text).toContain('aks_autoscaler_loops_total{outcome="completed"}');
    expect(text).not.toContain('cluster_autoscaler_nodes_count');
  });

  it('the number of series is bounded by pools, not by nodes or pods', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', max: 10 })]) });
    const count = async (): Promise<number> =>
      (await (await fetch(`${world.daemon.url ?? ''}/metrics`)).text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
        .length;
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.until('bound', () => bound(world, 'web') === 8, 5 * MINUTE);
    await world.advance(MINUTE);
    const before = await count();
    world.world.cluster.apply(deployment({ name: 'more', replicas: 30, cpu: '700m' }));
    await world.until('bound', () => bound(world, 'more') === 30, 10 * MINUTE);
    await world.advance(MINUTE);
    expect((await count()) - before).toBeLessThan(10);
    expect(await count()).toBeLessThan(1_000);
  });
});
