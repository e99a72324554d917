import { describe, expect, it } from 'vitest';
import { aPool, bound, deployment, MINUTE, worldOf } from '../scenarios/support.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';

/** One series as it is served; undefined when it is not there. */
async function served(world: VirtualRun, series: string): Promise<number | undefined> {
  const text = await (await fetch(`${world.daemon.url ?? ''}/metrics`)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

const FAST = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=5m', '--scale-down-delay-after-failure=1m'];

describe('what a daemon serves', () => {
  it('shows a scale-up and a scale-down under both families of names', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'general' })]),
      flags: [...FAST, '--node-group-auto-discovery=label:team=web'],
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.until('all bound', () => bound(world, 'web') === 8, 5 * MINUTE);
    await world.advance(20_000);
    const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes('general'))?.id ?? '';
    const expected = {
      [`aks_autoscaler_scaled_up_nodes_total{node_group="${group}"}`]: 1,
      'cluster_autoscaler_scaled_up_nodes_total{gpu_resource_name="",gpu_name="",dra_drivers=""}': 1,
      'cluster_autoscaler_nodes_count{state="ready"}': 3,
      'cluster_autoscaler_nodes_count{state="unready"}': 0,
      'cluster_autoscaler_node_groups_count{node_group_type="autoscaled"}': world.reports.at(-1)?.observation?.cloud.groups.length,
      'cluster_autoscaler_unschedulable_pods_count{type="unschedulable"}': 0,
      'aks_autoscaler_config_findings{kind="discovery-without-group"}': 1,
      cluster_autoscaler_cluster_safe_to_autoscale: 1,
      cluster_autoscaler_max_nodes_count: world.reports.at(-1)?.observation?.cloud.groups.reduce((sum, { maxSize }) => sum + maxSize, 0),
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
    const removed = async (reason: string): Promise<number> =>
      (await served(
        world,
        `cluster_autoscaler_scaled_down_nodes_total{gpu_resource_name="",gpu_name="",dra_drivers="",reason="${reason}"}`,
      )) ?? 0;
    expect((await removed('empty')) + (await removed('underutilized'))).toBe(1);
    expect(await served(world, 'cluster_autoscaler_last_activity{activity="mainSuccessful"}')).toBeCloseTo(world.clock.now() / 1000, -2);
  });

  it('shows the stages of a scale-up by pool, the age of waiting pods, and the waste', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    world.world.cluster.apply(deployment({ name: 'giant', replicas: 1, cpu: '90' }));
    await world.until('a write', () => world.writes().length > 0, MINUTE);
    await world.advance(30_000);
    const waiting = (await served(world, 'aks_autoscaler_oldest_unschedulable_pod_age_seconds{verdict="coming"}')) ?? 0;
    expect(waiting).toBeGreaterThan(15);
    expect(waiting).toBeLessThan(45);
    await world.until('all bound', () => bound(world, 'web') === 8, 5 * MINUTE);
    await world.advance(20_000);
    const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes('general'))?.id ?? '';
    const stage = async (name: string): Promise<number> => {
      const labels = `{node_group="${group}",stage="${name}"}`;
      const [sum, count] = [
        await served(world, `aks_autoscaler_node_group_scale_up_stage_seconds_sum${labels}`),
        await served(world, `aks_autoscaler_node_group_scale_up_stage_seconds_count${labels}`),
      ];
      expect(count, name).toBeGreaterThan(0);
      expect(await served(world, `aks_autoscaler_scale_up_stage_seconds_count{stage="${name}"}`)).toBe(count);
      return (sum ?? 0) / (count ?? 1);
    };
    expect(await stage('planned')).toBeLessThan(5);
    expect(await stage('written')).toBeLessThan(10);
    expect((await stage('created')) + (await stage('ready'))).toBeGreaterThan(30);
    expect(await stage('bound')).toBeLessThan(30);
    const total = (await served(world, `aks_autoscaler_pod_unschedulable_to_bound_seconds_sum{node_group="${group}"}`)) ?? 0;
    const pods = (await served(world, `aks_autoscaler_pod_unschedulable_to_bound_seconds_count{node_group="${group}"}`)) ?? 0;
    const parts = await Promise.all(['planned', 'written', 'created', 'ready', 'bound'].map(stage));
    // The stages add up to the whole, but for what each machine and pod rounds.
    expect(Math.abs(total / pods - parts.reduce((sum, part) => sum + part, 0))).toBeLessThan(15);
    expect(await served(world, 'aks_autoscaler_oldest_unschedulable_pod_age_seconds{verdict="coming"}')).toBe(0);
    expect(await served(world, 'aks_autoscaler_oldest_unschedulable_pod_age_seconds{verdict="impossible"}')).toBeGreaterThan(40);
    expect(await served(world, 'aks_autoscaler_config_findings{kind="no-node-group"}')).toBe(0);
    expect(await served(world, 'aks_autoscaler_resident_memory_bytes')).toBeGreaterThan(50_000_000);
    const text = await (await fetch(`${world.daemon.url ?? ''}/metrics`)).text();
    expect(text).toMatch(/^aks_autoscaler_wasted_cores\{reason="\w+",blocker="\w*"\} [\d.]+$/m);
  });

  /** Each pool of a size of its own, with what Azure answers to its increase. Absent: Azure accepts it and has no such machine. */
  const FAILING = [
    { name: 'stock', vmSize: 'Standard_E4s_v5' },
    {
      name: 'subnet',
      vmSize: 'Standard_D2s_v5',
      answer: [400, 'SubnetIsFull', 'Subnet aks-subnet does not have enough capacity for 1 IP addresses.'],
    },
    {
      name: 'policy',
      vmSize: 'Standard_D4s_v5',
      answer: [403, 'RequestDisallowedByPolicy', "Resource 'aks-policy' was disallowed by policy."],
    },
    {
      name: 'identity',
      vmSize: 'Standard_D8s_v5',
      answer: [403, 'AuthorizationFailed', 'The client does not have authorization to perform this action.'],
    },
    {
      name: 'quota',
      vmSize: 'Standard_D16s_v5',
      answer: [409, 'OperationNotAllowed', 'Operation results in exceeding approved standardDSv5Family Cores quota.'],
    },
    { name: 'sku', vmSize: 'Standard_F8s_v2', answer: [409, 'SkuNotAvailable', 'The requested VM size is currently not available.'] },
  ] as const;

  /** Of the pool, by the label `reason`. */
  async function failuresOf(world: VirtualRun, pool: string, reason: string): Promise<number> {
    const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes(`-${pool}-`))?.id ?? '';
    return (await served(world, `aks_autoscaler_scale_up_failures_total{node_group="${group}",reason="${reason}"}`)) ?? 0;
  }

  it('counts the reason of a failure, for each pool its own', async () => {
    const pools = FAILING.map(({ name, vmSize }) => aPool({ name, vmSize, count: 0 }));
    const world = await startedWorld({ spec: worldOf(pools, { stock: { 'Standard_E4s_v5/0': 0 } }) });
    for (const { name, ...refused } of FAILING) {
      const spec = { nodeSelector: { 'kubernetes.azure.com/agentpool': name } };
      world.world.cluster.apply(deployment({ name, replicas: 1, cpu: '1500m', spec }));
      if (!('answer' in refused)) continue;
      const [status, code, message] = refused.answer;
      const effect = { kind: 'answer', status, body: { error: { code, message } } } as const;
      world.world.arm.control.addFault({ id: name, match: { method: 'PUT', pathGlob: `**/aks-${name}-*` }, effect });
    }
    await world.advance(4 * MINUTE);
    const failures = FAILING.map(async ({ name }) => [name, (await failuresOf(world, name, name)) > 0] as const);
    expect(await Promise.all(failures)).toEqual(FAILING.map(({ name }) => [name, true]));
  });

  it('counts the reason of a failure: a machine that never becomes a node', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]), knobs: { bootstrapFailureRate: 1 } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.advance(8 * MINUTE);
    expect(await failuresOf(world, 'general', 'bootstrap')).toBeGreaterThan(0);
  });

  it('shows the calls to Azure, remaining and throttled ones, size differences, and the age of the last loop', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    await world.advance(20_000);
    const id = world.reports.at(-1)?.observation?.cloud.groups[0]?.id ?? '';
    const seen = async (series: string): Promise<number> => (await served(world, series)) ?? Number.NaN;
    expect(await seen('aks_autoscaler_arm_calls_total{operation="listScaleSets",status="200"}')).toBe(1);
    expect(await seen('aks_autoscaler_arm_tokens_remaining{policy="HighCostGetVMScaleSetSubscriptionMaximum"}')).toBeGreaterThan(1_000);
    expect(await seen('aks_autoscaler_arm_throttled_until_timestamp_seconds{policy="HighCostGetVMScaleSet"}')).toBe(0);
    expect(await seen(`aks_autoscaler_node_group_drift{node_group="${id}",kind="agent-pool"}`)).toBe(0);
    const ageOf = async () => world.clock.now() / 1000 - (await seen('aks_autoscaler_loop_last_completed_timestamp_seconds'));
    expect(await ageOf()).toBeLessThan(15);

    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    world.world.arm.control.addFault({
      id: 'busy',
      match: { method: 'GET', pathGlob: '**/virtualMachineScaleSets' },
      effect: { kind: 'answer', status: 429, headers: { 'retry-after': '600' }, body: { error: { code: 'TooManyRequests', message: '' } } },
    });
    await world.until('all bound', () => bound(world, 'web') === 8, 5 * MINUTE);
    await world.advance(MINUTE);
    expect(await seen('aks_autoscaler_arm_calls_total{operation="listScaleSets",status="429"}')).toBe(1);
    const heldFor =
      (await seen('aks_autoscaler_arm_throttled_until_timestamp_seconds{policy="HighCostGetVMScaleSet"}')) - world.clock.now() / 1000;
    expect(heldFor).toBeGreaterThan(300);
    // AKS was never told of the growth.
    expect(await seen(`aks_autoscaler_node_group_drift{node_group="${id}",kind="agent-pool"}`)).toBe(-1);
  });

  it('begins what it counts of a pool at 0: the first of them is an increase', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    await world.advance(20_000);
    const own = `node_group="${world.reports.at(-1)?.observation?.cloud.groups[0]?.id ?? ''}"`;
    for (const series of [
      `scale_ups_total{${own},outcome="accepted"}`,
      `scaled_up_nodes_total{${own}}`,
      `conflicts_total{${own}}`,
      `cache_external_changes_total{${own}}`,
      `preempted_nodes_total{${own}}`,
      `scaled_down_nodes_total{${own},cause="empty"}`,
      `scale_down_failures_total{${own},step="evict"}`,
      `node_group_scale_up_stage_seconds_count{${own},stage="ready"}`,
      `node_group_scale_up_stage_seconds_sum{${own},stage="ready"}`,
      `pod_unschedulable_to_bound_seconds_count{${own}}`,
      'preempted_pods_total{outcome="stayed"}',
    ]) {
      expect([series, await served(world, `aks_autoscaler_${series}`)]).toEqual([series, 0]);
    }
  });

  it('serves only the native names if configured', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]), flags: ['--cluster-autoscaler-metrics=false'] });
    await world.advance(20_000);
    const text = await (await fetch(`${world.daemon.url ?? ''}/metrics`)).text();
    expect(text).toContain('aks_autoscaler_loops_total{outcome="completed"}');
    expect(text).not.toContain('cluster_autoscaler_nodes_count');
  });

  it('the number of series is bounded by pools, not by nodes or pods', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', max: 10 })]) });
    const series = async () =>
      (await (await fetch(`${world.daemon.url ?? ''}/metrics`)).text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    // Series of a kind of call are there from the first such call on.
    const count = async () => (await series()).filter((line) => !/[{,](operation|policy)=/.test(line)).length;
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.until('bound', () => bound(world, 'web') === 8, 5 * MINUTE);
    await world.advance(MINUTE);
    const before = await count();
    world.world.cluster.apply(deployment({ name: 'more', replicas: 30, cpu: '700m' }));
    await world.until('bound', () => bound(world, 'more') === 30, 10 * MINUTE);
    await world.advance(MINUTE);
    expect((await count()) - before).toBeLessThan(10);
    expect((await series()).length).toBeLessThan(1_000);
  });
});
