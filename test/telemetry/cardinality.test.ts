/**
 * How many series a daemon can come to: all that `/metrics` serves when every series of every metric is there, for 50 pools.
 * A metric is not in the table below only if it has no label.
 */
import { Counter, Gauge, Histogram, Summary } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createCompatibleMetrics } from '../../src/telemetry/cluster-autoscaler-metrics.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const POOLS = 50;

/** How many values each label comes to, in the order of the labels. Per pool it is all that there are; nodes are no label. */
const VALUES: Readonly<Record<string, readonly number[]>> = {
  // The cluster has headroom, too.
  aks_autoscaler_headroom: [51, 3],
  aks_autoscaler_repacks_ended_total: [3],
  aks_autoscaler_sick_nodes: [POOLS],
  aks_autoscaler_sick_node_replacements_total: [3],
  aks_autoscaler_quarantined_nodes: [POOLS],
  aks_autoscaler_loop_duration_seconds: [10],
  aks_autoscaler_loops_total: [3],
  aks_autoscaler_loop_step_failures_total: [9, 6],
  aks_autoscaler_loop_triggers_total: [6],
  // What the daemon asks, without the doctor's questions.
  aks_autoscaler_arm_calls_total: [16, 5],
  // Deletions of instances and of machines, and counts of AKS.
  aks_autoscaler_arm_writes_postponed_total: [3],
  aks_autoscaler_arm_call_duration_seconds: [16],
  aks_autoscaler_arm_tokens_remaining: [20],
  aks_autoscaler_arm_throttled_until_timestamp_seconds: [15],
  aks_autoscaler_quota_limit_cores: [20],
  aks_autoscaler_quota_used_cores: [20],
  aks_autoscaler_cache_row_age_seconds: [3],
  aks_autoscaler_cache_rows: [3],
  aks_autoscaler_cache_agent_runs_total: [7, 4],
  aks_autoscaler_cache_agent_run_duration_seconds: [7],
  aks_autoscaler_cache_agent_last_success_timestamp_seconds: [7],
  aks_autoscaler_cache_agent_due_lag_seconds: [7],
  aks_autoscaler_cache_duplicate_rows_total: [3],
  aks_autoscaler_cache_fences_active: [3],
  aks_autoscaler_cache_rows_rejected_total: [3, 7],
  aks_autoscaler_cache_on_demand_refreshes_total: [3, 4],
  aks_autoscaler_cache_evictions_total: [3, 3],
  aks_autoscaler_shared_store_commands_total: [2],
  aks_autoscaler_cache_external_changes_total: [POOLS],
  aks_autoscaler_scale_ups_total: [POOLS, 4],
  aks_autoscaler_scaled_up_nodes_total: [POOLS],
  aks_autoscaler_conflicts_total: [POOLS],
  aks_autoscaler_replans_total: [3],
  aks_autoscaler_scale_up_late_failures_total: [POOLS, 2],
  aks_autoscaler_scale_up_given_back_nodes_total: [POOLS],
  aks_autoscaler_scale_up_failures_total: [POOLS, 13],
  aks_autoscaler_scale_up_stage_seconds: [5],
  aks_autoscaler_node_group_scale_up_stage_seconds: [POOLS, 5],
  aks_autoscaler_pod_unschedulable_to_bound_seconds: [POOLS],
  aks_autoscaler_wasted_cores: [5, 5],
  aks_autoscaler_wasted_memory_bytes: [5, 5],
  aks_autoscaler_wasted_cost_per_hour: [5, 5],
  aks_autoscaler_config_reloads_total: [3],
  aks_autoscaler_config_findings: [11],
  aks_autoscaler_scaled_down_nodes_total: [POOLS, 4],
  aks_autoscaler_scale_down_failures_total: [POOLS, 6],
  aks_autoscaler_evicted_pods_total: [4],
  aks_autoscaler_kept_nodes: [20],
  aks_autoscaler_build_info: [1, 1],
  aks_autoscaler_node_group_drift: [POOLS, 3],
  aks_autoscaler_agent_pool_count_syncs_total: [4],
  aks_autoscaler_unschedulable_pods: [7],
  aks_autoscaler_oldest_unschedulable_pod_age_seconds: [7],
  aks_autoscaler_nodes: [3],
  aks_autoscaler_node_group_size: [POOLS, 5],
  aks_autoscaler_stopped_instances: [POOLS],
  aks_autoscaler_stopped_disks_cost_per_hour: [POOLS],
  aks_autoscaler_preempted_nodes_total: [POOLS],
  aks_autoscaler_preempted_pods_total: [2],
  aks_autoscaler_node_group_frozen: [POOLS],
  // A family has two pools at least.
  aks_autoscaler_zone_skew_nodes: [POOLS / 2],
  aks_autoscaler_node_group_paused_until_timestamp_seconds: [POOLS, 2],
  aks_autoscaler_watch_restarts_total: [25, 3],
  aks_autoscaler_watch_staleness_seconds: [25],
  aks_autoscaler_kube_calls_total: [8, 6],
  aks_autoscaler_template_estimate_error_ratio: [POOLS, 5],
  aks_autoscaler_template_boot_seconds: [POOLS],
  aks_autoscaler_template_promises_broken_total: [4],
  aks_autoscaler_dry_run_withheld_writes_total: [8],
  cluster_autoscaler_failed_node_creations_total: [3],
  cluster_autoscaler_skipped_scale_events_count: [2, 2],
  cluster_autoscaler_created_node_groups_total: [1],
  cluster_autoscaler_deleted_node_groups_total: [1],
  cluster_autoscaler_nodes_count: [6],
  cluster_autoscaler_node_groups_count: [2],
  cluster_autoscaler_unschedulable_pods_count: [4],
  cluster_autoscaler_skipped_pods_count: [1],
  cluster_autoscaler_cpu_limits_cores: [2],
  cluster_autoscaler_memory_limits_bytes: [2],
  cluster_autoscaler_last_activity: [8],
  cluster_autoscaler_function_duration_seconds: [6],
  cluster_autoscaler_function_duration_quantile_seconds: [6],
  cluster_autoscaler_binpacking_heterogeneity: [5, 1, 3],
  cluster_autoscaler_unremovable_nodes_count: [20],
  cluster_autoscaler_node_removal_latency_seconds: [2, 7],
  cluster_autoscaler_node_taints_count: [20],
  cluster_autoscaler_dra_node_template_resources_mismatch: [4, 4],
  cluster_autoscaler_capacity_buffer_oldest_reconciliation_timestamp_seconds: [2],
  cluster_autoscaler_node_group_min_count: [POOLS],
  cluster_autoscaler_node_group_max_count: [POOLS],
  cluster_autoscaler_node_group_target_count: [POOLS],
  cluster_autoscaler_node_group_healthiness: [POOLS],
  cluster_autoscaler_node_group_backoff_status: [POOLS, 1],
};

const DERIVED = [
  'errors_total',
  'evicted_pods_total',
  'failed_gpu_scale_ups_total',
  'failed_scale_ups_total',
  'scaled_down_gpu_nodes_total',
  'scaled_down_nodes_total',
  'scaled_up_gpu_nodes_total',
  'scaled_up_nodes_total',
];

interface Labelled {
  readonly labelNames: readonly string[];
}

/** Labels of each series that there may be. */
function seriesOf(metric: { readonly name: string }): readonly Readonly<Record<string, string>>[] {
  const { labelNames } = metric as unknown as Labelled;
  const counts = VALUES[metric.name] ?? [];
  if (labelNames.length > 0 && counts.length === 0) return [];
  const total = counts.reduce((product, count) => product * count, 1);
  return Array.from({ length: total }, (_, series) => {
    let rest = series;
    return Object.fromEntries(
      labelNames.map((name, index) => {
        const count = counts[index] ?? 1;
        const value = rest % count;
        rest = Math.floor(rest / count);
        return [name, `value${value}`];
      }),
    );
  });
}

describe('the whole of what is served', () => {
  const { registry } = createCompatible();

  function createCompatible() {
    const metrics = createMetrics();
    createCompatibleMetrics(metrics);
    return metrics;
  }

  it('is under 5,600 series with 50 pools, whatever happened and however many nodes there are', async () => {
    for (const metric of registry.getMetricsAsArray()) {
      for (const labels of seriesOf(metric)) {
        if (metric instanceof Histogram || metric instanceof Summary) metric.observe(labels, 1);
        else if (metric instanceof Counter || metric instanceof Gauge) metric.inc(labels, 1);
      }
    }
    const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines.length).toBeGreaterThan(4_000);
    expect(lines.length).toBeLessThan(5_600);
  });

  it('knows every metric that has labels', () => {
    const labelled = registry.getMetricsAsArray().filter((metric) => (metric as unknown as Labelled).labelNames.length > 0);
    const derived = labelled.filter((metric) => !(metric.name in VALUES)).map(({ name }) => name);
    // These are read from the others, with fewer labels.
    expect(derived.toSorted()).toEqual(DERIVED.map((name) => `cluster_autoscaler_${name}`).toSorted());
  });
});
