/**
 * The Cluster Autoscaler's metrics that are set directly, as data. Only metrics with true values are here; docs/metrics.md
 * names the rest. Must not know who sets a metric.
 */
import type { MetricGroup } from './metric-specs.ts';

/** As many buckets as dashboards need: the Cluster Autoscaler has 150 of them per function, up to half an hour. */
const SECONDS = [0.05, 0.1, 0.5, 1, 5, 10, 30, 300];
/** A fifth of the Cluster Autoscaler's 19, over the same range. */
const REMOVAL_SECONDS = [5, 60, 300, 1500];

/** Names get the prefix `cluster_autoscaler_`. */
export const CLUSTER_AUTOSCALER_CATALOGUE = {
  failedNodeCreations: {
    type: 'counter',
    name: 'failed_node_creations_total',
    help: 'Nodes that were requested and never registered, by reason.',
    labels: ['reason'],
  },
  oldUnregisteredRemoved: {
    type: 'counter',
    name: 'old_unregistered_nodes_removed_count',
    help: 'Removed instances that never registered as nodes.',
  },
  skippedScaleEvents: {
    type: 'counter',
    name: 'skipped_scale_events_count',
    help: 'Node groups that were not scaled because of a cluster-wide limit.',
    labels: ['direction', 'reason'],
  },
  createdNodeGroups: {
    type: 'counter',
    name: 'created_node_groups_total',
    help: 'Node groups created; always 0.',
    labels: ['group_type'],
  },
  deletedNodeGroups: {
    type: 'counter',
    name: 'deleted_node_groups_total',
    help: 'Node groups deleted; always 0.',
    labels: ['group_type'],
  },
  safeToAutoscale: { type: 'gauge', name: 'cluster_safe_to_autoscale', help: '1 while not too many nodes are unready.' },
  nodes: { type: 'gauge', name: 'nodes_count', help: 'Nodes of the cluster by state.', labels: ['state'] },
  nodeGroups: { type: 'gauge', name: 'node_groups_count', help: 'Node groups.', labels: ['node_group_type'] },
  unschedulablePods: {
    type: 'gauge',
    name: 'unschedulable_pods_count',
    help: "Pods without a node, by the scheduler's result.",
    labels: ['type'],
  },
  skippedPods: {
    type: 'gauge',
    name: 'skipped_pods_count',
    help: 'Pods that the last plan did not reach within its time limit.',
    labels: ['requestor'],
  },
  overflowingControllers: {
    type: 'gauge',
    name: 'overflowing_controllers_count',
    help: 'Controllers with more than ten different pods that no node group can help.',
  },
  maxNodes: {
    type: 'gauge',
    name: 'max_nodes_count',
    help: 'Maximum number of nodes in all groups: the sum of their maxima, or the cluster-wide limit if that is lower.',
  },
  cpuCores: { type: 'gauge', name: 'cluster_cpu_current_cores', help: 'Cores of all nodes except those being deleted.' },
  memoryBytes: { type: 'gauge', name: 'cluster_memory_current_bytes', help: 'Memory of all nodes except those being deleted.' },
  cpuLimits: { type: 'gauge', name: 'cpu_limits_cores', help: 'Configured limits of cores.', labels: ['direction'] },
  memoryLimits: { type: 'gauge', name: 'memory_limits_bytes', help: 'Configured limits of memory.', labels: ['direction'] },
  lastActivity: {
    type: 'gauge',
    name: 'last_activity',
    help: 'Unix time at which a part of the loop last began.',
    labels: ['activity'],
  },
  duration: {
    type: 'histogram',
    name: 'function_duration_seconds',
    help: 'Duration of the parts of a loop.',
    labels: ['function'],
    buckets: SECONDS,
  },
  durationQuantiles: {
    type: 'quantiles',
    name: 'function_duration_quantile_seconds',
    help: 'Quantiles of the duration of the parts of a loop over the last hour.',
    labels: ['function'],
    quantiles: [0.5, 0.9, 0.99],
  },
  heterogeneity: {
    type: 'histogram',
    name: 'binpacking_heterogeneity',
    help: 'Number of groups of equal pods per increase.',
    labels: ['instance_type', 'cpu_count', 'namespace_count'],
    buckets: [1, 2, 4, 8, 16, 32],
  },
  unneededNodes: { type: 'gauge', name: 'unneeded_nodes_count', help: 'Unneeded nodes.' },
  unremovableNodes: { type: 'gauge', name: 'unremovable_nodes_count', help: 'Unremovable nodes, by reason.', labels: ['reason'] },
  scaleDownInCooldown: {
    type: 'gauge',
    name: 'scale_down_in_cooldown',
    help: '1 during the cooldown of removals after a scale-up, a removal or a failure.',
  },
  pendingDeletions: { type: 'gauge', name: 'pending_node_deletions', help: 'Nodes whose removal has begun and not ended.' },
  removalLatency: {
    type: 'histogram',
    name: 'node_removal_latency_seconds',
    help: 'Time from when an unneeded node was due until it was deleted, or needed again (deleted="false"), by cause of the delay.',
    labels: ['deleted', 'delay_reason'],
    buckets: REMOVAL_SECONDS,
  },
  skippedEvaluation: {
    type: 'gauge',
    name: 'max_node_skip_eval_duration_seconds',
    help: 'Longest time since a node was last evaluated for removal.',
  },
  nodeTaints: { type: 'gauge', name: 'node_taints_count', help: 'Taints of all nodes, by key or by kind.', labels: ['type'] },
  deviceMismatches: {
    type: 'gauge',
    name: 'dra_node_template_resources_mismatch',
    help: 'Ready nodes on which a driver has other devices than the template of their group.',
    labels: ['driver', 'mismatch_type'],
  },
  bufferReconciled: {
    type: 'gauge',
    name: 'capacity_buffer_oldest_reconciliation_timestamp_seconds',
    help: 'Unix time of the last check of the CapacityBuffer that has waited longest; new_buffer is true if it has no status yet.',
    labels: ['new_buffer'],
  },
  /** Always 0 on Azure, in the Cluster Autoscaler too. Dashboards that sum it need a number. */
  inconsistentInstances: {
    type: 'gauge',
    name: 'inconsistent_instances_migs_count',
    help: 'Managed instance groups, of another cloud, that contradict their instances; always 0.',
  },
  groupMin: { type: 'gauge', name: 'node_group_min_count', help: 'Minimum size of a node group.', labels: ['node_group'] },
  groupMax: { type: 'gauge', name: 'node_group_max_count', help: 'Maximum size of a node group.', labels: ['node_group'] },
  groupTarget: {
    type: 'gauge',
    name: 'node_group_target_count',
    help: 'Target size of a node group; absent while it is unknown.',
    labels: ['node_group'],
  },
  groupHealthiness: {
    type: 'gauge',
    name: 'node_group_healthiness',
    help: '1 while not too many nodes of the group are unready.',
    labels: ['node_group'],
  },
  groupBackoff: {
    type: 'gauge',
    name: 'node_group_backoff_status',
    help: '1 while the group backs off after a failed scale-up, by the code of the failure.',
    labels: ['node_group', 'reason'],
  },
} as const satisfies MetricGroup;
