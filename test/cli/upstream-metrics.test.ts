import { describe, expect, it } from 'vitest';
import { aPool, bound, deployment, MINUTE, worldOf } from '../scenarios/support.ts';
import { startedWorld } from '../support/virtual-world.ts';

/** What the Cluster Autoscaler of 2026 serves: name, type, labels. */
const UPSTREAM: readonly (readonly [name: string, type: string, ...labels: readonly string[]])[] = [
  ['cluster_safe_to_autoscale', 'gauge'],
  ['nodes_count', 'gauge', 'state'],
  ['node_groups_count', 'gauge', 'node_group_type'],
  ['unschedulable_pods_count', 'gauge', 'type'],
  ['skipped_pods_count', 'gauge', 'requestor'],
  ['max_nodes_count', 'gauge'],
  ['cluster_cpu_current_cores', 'gauge'],
  ['cluster_memory_current_bytes', 'gauge'],
  ['cpu_limits_cores', 'gauge', 'direction'],
  ['memory_limits_bytes', 'gauge', 'direction'],
  ['last_activity', 'gauge', 'activity'],
  ['function_duration_seconds', 'histogram', 'function'],
  ['function_duration_quantile_seconds', 'summary', 'function'],
  ['pending_node_deletions', 'gauge'],
  ['errors_total', 'counter', 'type'],
  ['scaled_up_nodes_total', 'counter', 'gpu_resource_name', 'gpu_name', 'dra_drivers'],
  ['scaled_up_gpu_nodes_total', 'counter', 'gpu_resource_name', 'gpu_name'],
  ['failed_scale_ups_total', 'counter', 'reason', 'gpu_resource_name', 'gpu_name', 'dra_drivers'],
  ['failed_node_creations_total', 'counter', 'reason'],
  ['failed_gpu_scale_ups_total', 'counter', 'reason', 'gpu_resource_name', 'gpu_name'],
  ['scaled_down_nodes_total', 'counter', 'reason', 'gpu_resource_name', 'gpu_name', 'dra_drivers'],
  ['scaled_down_gpu_nodes_total', 'counter', 'reason', 'gpu_resource_name', 'gpu_name'],
  ['evicted_pods_total', 'counter', 'eviction_result'],
  ['unneeded_nodes_count', 'gauge'],
  ['unremovable_nodes_count', 'gauge', 'reason'],
  ['scale_down_in_cooldown', 'gauge'],
  ['old_unregistered_nodes_removed_count', 'counter'],
  ['overflowing_controllers_count', 'gauge'],
  ['skipped_scale_events_count', 'counter', 'direction', 'reason'],
  ['created_node_groups_total', 'counter', 'group_type'],
  ['deleted_node_groups_total', 'counter', 'group_type'],
  ['node_taints_count', 'gauge', 'type'],
  ['inconsistent_instances_migs_count', 'gauge'],
  ['binpacking_heterogeneity', 'histogram', 'instance_type', 'cpu_count', 'namespace_count'],
  ['max_node_skip_eval_duration_seconds', 'gauge'],
  ['node_removal_latency_seconds', 'histogram', 'deleted', 'delay_reason'],
  ['dra_node_template_resources_mismatch', 'gauge', 'driver', 'mismatch_type'],
  ['capacity_buffer_oldest_reconciliation_timestamp_seconds', 'gauge', 'new_buffer'],
  ['node_group_min_count', 'gauge', 'node_group'],
  ['node_group_max_count', 'gauge', 'node_group'],
  ['node_group_target_count', 'gauge', 'node_group'],
  ['node_group_healthiness', 'gauge', 'node_group'],
  ['node_group_backoff_status', 'gauge', 'node_group', 'reason'],
];
const PREFIX = 'cluster_autoscaler_';
/** Of histograms and summaries. */
const OF_THE_TYPE = new Set(['le', 'quantile']);

interface Served {
  readonly type: string;
  readonly labels: readonly string[];
  readonly series: number;
}

function servedIn(text: string): ReadonlyMap<string, Served> {
  const types = [...text.matchAll(/^# TYPE cluster_autoscaler_(\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type] as const);
  return new Map(
    types.map(([name, type]) => {
      const ofName = type === 'histogram' || type === 'summary' ? `${name}(?:_bucket|_sum|_count)?` : name;
      const lines = [...text.matchAll(new RegExp(`^${PREFIX}${ofName}(?:\\{(.*)\\})? \\S+$`, 'gm'))];
      const labels = lines.flatMap(([, inside = '']) => [...inside.matchAll(/(\w+)="/g)].map(([, label = '']) => label));
      return [name, { type, labels: [...new Set(labels)].filter((label) => !OF_THE_TYPE.has(label)), series: lines.length }] as const;
    }),
  );
}

describe("the Cluster Autoscaler's metrics", () => {
  it('are served by name, type and labels by a daemon that grew and shrank, but for those named in the documentation', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'general' })]),
      flags: ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=1m', '--scale-down-delay-after-failure=1m'],
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.until('all bound', () => bound(world, 'web') === 8, 5 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '700m' }));
    await world.until(
      'a node went',
      () => world.reports.some(({ removed }) => removed.some(({ kind }) => kind === 'deleted')),
      10 * MINUTE,
    );
    await world.advance(20_000);
    const text = await (await fetch(`${world.daemon.url ?? ''}/metrics`)).text();
    const served = servedIn(text);

    const names = UPSTREAM.map(([name]) => name);
    expect([...served.keys()].filter((name) => !names.includes(name))).toEqual([]);
    expect(names.filter((name) => !served.has(name)).toSorted()).toEqual([]);
    // Those of pools with GPUs and devices begin with the first; buffers are not looked at unless asked for.
    const empty = [...served].flatMap(([name, { series }]) => (series === 0 ? [name] : []));
    expect(empty.toSorted()).toEqual([
      'capacity_buffer_oldest_reconciliation_timestamp_seconds',
      'dra_node_template_resources_mismatch',
      'failed_gpu_scale_ups_total',
      'scaled_down_gpu_nodes_total',
      'scaled_up_gpu_nodes_total',
    ]);
    for (const [name, type, ...labels] of UPSTREAM) {
      const is = served.get(name);
      if (is === undefined) continue;
      expect([name, is.type]).toEqual([name, type]);
      if (is.series > 0) expect([name, ...is.labels.toSorted()]).toEqual([name, ...labels.toSorted()]);
    }

    const value = (series: string): number | undefined => {
      const line = text.split('\n').find((candidate) => candidate.startsWith(`${PREFIX}${series} `));
      return line === undefined ? undefined : Number(line.split(' ').at(-1));
    };
    const all = (pattern: RegExp): readonly string[] => [...text.matchAll(pattern)].map(([, name = '']) => name).toSorted();
    expect({
      latencies: value('node_removal_latency_seconds_count{deleted="true",delay_reason="none"}'),
      shapes: value('binpacking_heterogeneity_sum{instance_type="Standard_D4s_v5",cpu_count="4",namespace_count="0-5"}'),
      scaledUp: value('scaled_up_nodes_total{gpu_resource_name="",gpu_name="",dra_drivers=""}'),
      created: value('created_node_groups_total{group_type="autoprovisioned"}'),
      skipped: value('skipped_scale_events_count{direction="up",reason="CpuResourceLimit"}'),
      timeouts: value('failed_node_creations_total{reason="timeout"}'),
      median: (value('function_duration_quantile_seconds{quantile="0.5",function="main"}') ?? -1) >= 0,
      functions: all(/function_duration_seconds_count\{function="([^"]+)"/g),
      activities: all(/last_activity\{activity="([^"]+)"/g),
    }).toEqual({
      latencies: 1,
      shapes: 1,
      scaledUp: 1,
      created: 0,
      skipped: 0,
      timeouts: 0,
      median: true,
      functions: [
        'cloudProviderRefresh',
        'findUnneeded',
        'main',
        'scaleDown',
        'scaleDown:softTaintUnneeded',
        'scaleUp',
        'updateClusterState',
      ],
      activities: [
        'autoscaling',
        'cloudProviderRefresh',
        'findUnneeded',
        'main',
        'mainSuccessful',
        'scaleDown',
        'scaleDown:softTaintUnneeded',
        'scaleUp',
        'updateClusterState',
      ],
    });
  });
});
