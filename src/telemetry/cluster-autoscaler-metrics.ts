/**
 * The Cluster Autoscaler's metric names, so that dashboards and alerts made for it go on working. Only what can be filled
 * truthfully is here; docs/metrics.md names the rest. Most counters are read from the native ones when somebody scrapes.
 */
import { Counter, Gauge, Histogram, Summary } from 'prom-client';
import { derivedCounter, type DerivedCounter, type Labels, type Source } from './derived-counter.ts';
import type { Metrics } from './metrics.ts';

/** As many buckets as dashboards need: the Cluster Autoscaler has 150 of them per function, up to half an hour. */
const SECONDS = [0.05, 0.1, 0.5, 1, 5, 10, 30, 300];
/** A fifth of the Cluster Autoscaler's 19, over the same range. */
const REMOVAL_SECONDS = [5, 60, 300, 1500];
const QUANTILES = [0.5, 0.9, 0.99];
const HOUR_SECONDS = 3600;

export const ERROR_TYPES = [
  'cloudProviderError',
  'apiCallError',
  'internalError',
  'transientError',
  'configurationError',
  'nodeGroupDoesNotExistError',
  'unexpectedScaleDownStateError',
] as const;
/** Beside Azure's own codes, which the Cluster Autoscaler has as well and which are no closed set. */
export const FAILED_REASONS = ['cloudProviderError', 'apiCallError', 'timeout'] as const;
const REMOVAL_CAUSES = ['underutilized', 'empty', 'unready'] as const;

export type CompatibleMetrics = ReturnType<typeof createCompatibleMetrics>;

/** Makes the metrics in the registry of the native ones, from which the counters are read. */
export function createCompatibleMetrics(native: Metrics) {
  const { registry } = native;
  const registers = [registry];
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Gauge<Label> =>
    new Gauge({ name: `cluster_autoscaler_${name}`, help, labelNames: [...labelNames], registers });
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> =>
    new Counter({ name: `cluster_autoscaler_${name}`, help, labelNames: [...labelNames], registers });
  const gpus = new Map<string, GpuLabels>();
  const derived = (name: string, help: string, sources: readonly Source[], series: Pick<DerivedCounter, 'labelNames' | 'fromStart'>) =>
    derivedCounter({ name: `cluster_autoscaler_${name}`, help, sources, ...series }, registry);
  const drivers = new Map<string, string>();
  const ofPool = (row: Labels): Labels => {
    const group = String(row['node_group']);
    return { ...NO_GPU, ...gpus.get(group), dra_drivers: drivers.get(group) ?? '' };
  };
  const ofGpuPool = (row: Labels): Labels | undefined => gpus.get(String(row['node_group']));
  const because = (reason: string, of: Labels | undefined): Labels | undefined => (of === undefined ? undefined : { ...of, reason });

  const failures = (of: (row: Labels) => Labels | undefined): readonly Source[] => [
    {
      from: native.scaleUp.writes,
      as: (row) => (row['outcome'] === 'failed' ? because('cloudProviderError', of(row)) : undefined),
    },
    { from: native.scaleUp.lateFailures, as: (row) => because('cloudProviderError', of(row)) },
    { from: native.scaleUp.failures, as: (row) => (row['reason'] === 'timeout' ? because('timeout', of(row)) : undefined) },
  ];
  const plain: Labels = { ...NO_GPU, ...NO_DEVICES };

  const metrics = {
    /** What is known of the pools' GPUs, by node group. */
    gpus,
    /** The drivers of the pools' devices, with commas, by node group. */
    drivers,
    /** VM sizes that have series of their own. */
    sizes: new Set<string>(),
    errors: derived(
      'errors_total',
      'Steps of a loop that failed, by kind of error.',
      [{ from: native.loop.stepFailures, as: ({ kind }) => typed(kind) }],
      { labelNames: ['type'], fromStart: ERROR_TYPES.map((type) => ({ type })) },
    ),
    scaledUpNodes: derived('scaled_up_nodes_total', 'Nodes asked for.', [{ from: native.scaleUp.nodes, as: ofPool }], {
      labelNames: POOL,
      fromStart: [plain],
    }),
    scaledUpGpuNodes: derived('scaled_up_gpu_nodes_total', 'Nodes with GPUs asked for.', [{ from: native.scaleUp.nodes, as: ofGpuPool }], {
      labelNames: GPU,
    }),
    failedScaleUps: derived('failed_scale_ups_total', 'Scale-ups that failed, at once or later.', failures(ofPool), {
      labelNames: ['reason', ...POOL],
      fromStart: FAILED_REASONS.map((reason) => ({ ...plain, reason })),
    }),
    failedGpuScaleUps: derived('failed_gpu_scale_ups_total', 'Scale-ups of pools with GPUs that failed.', failures(ofGpuPool), {
      labelNames: ['reason', ...GPU],
    }),
    failedNodeCreations: counter('failed_node_creations_total', 'Nodes that were asked for and did not come.', ['reason']),
    scaledDownNodes: derived(
      'scaled_down_nodes_total',
      'Nodes removed.',
      [{ from: native.scaleDown.nodes, as: (row) => because(String(row['cause']), ofPool(row)) }],
      { labelNames: ['reason', ...POOL], fromStart: REMOVAL_CAUSES.map((reason) => ({ ...plain, reason })) },
    ),
    scaledDownGpuNodes: derived(
      'scaled_down_gpu_nodes_total',
      'Nodes with GPUs removed.',
      [{ from: native.scaleDown.nodes, as: (row) => because(String(row['cause']), ofGpuPool(row)) }],
      { labelNames: ['reason', ...GPU] },
    ),
    evictedPods: derived(
      'evicted_pods_total',
      'Evictions that ended; those that a budget put off are not counted.',
      [{ from: native.scaleDown.evictions, as: ({ outcome }) => EVICTED[String(outcome)] }],
      { labelNames: ['eviction_result'], fromStart: Object.values(EVICTED) },
    ),
    oldUnregisteredRemoved: counter('old_unregistered_nodes_removed_count', 'Machines removed that never became nodes.'),
    skippedScaleEvents: counter('skipped_scale_events_count', 'Pools that were not scaled for a limit of the cluster.', [
      'direction',
      'reason',
    ]),
    createdNodeGroups: counter('created_node_groups_total', 'Node groups created; none ever is.', ['group_type']),
    deletedNodeGroups: counter('deleted_node_groups_total', 'Node groups deleted; none ever is.', ['group_type']),
    safeToAutoscale: gauge('cluster_safe_to_autoscale', '1 while not too many nodes are unready.'),
    nodes: gauge('nodes_count', 'Nodes of the cluster by state.', ['state']),
    nodeGroups: gauge('node_groups_count', 'Node groups.', ['node_group_type']),
    unschedulablePods: gauge('unschedulable_pods_count', 'Pods without a node, by what the scheduler said of them.', ['type']),
    skippedPods: gauge('skipped_pods_count', 'Pods that the last plan did not get to before its time was up.', ['requestor']),
    overflowingControllers: gauge('overflowing_controllers_count', 'Controllers with more than ten different pods that nothing can help.'),
    maxNodes: gauge(
      'max_nodes_count',
      'Nodes that all groups together may have: the sum of their maxima, or the limit of the cluster where that is less.',
    ),
    cpuCores: gauge('cluster_cpu_current_cores', 'Cores of all nodes but those being deleted.'),
    memoryBytes: gauge('cluster_memory_current_bytes', 'Memory of all nodes but those being deleted.'),
    cpuLimits: gauge('cpu_limits_cores', 'Configured limits of cores.', ['direction']),
    memoryLimits: gauge('memory_limits_bytes', 'Configured limits of memory.', ['direction']),
    lastActivity: gauge('last_activity', 'Unix time at which a part of the loop last began.', ['activity']),
    duration: new Histogram({
      name: 'cluster_autoscaler_function_duration_seconds',
      help: 'Duration of the parts of a loop.',
      labelNames: ['function'],
      buckets: SECONDS,
      registers,
    }),
    durationQuantiles: new Summary({
      name: 'cluster_autoscaler_function_duration_quantile_seconds',
      help: 'Quantiles of the duration of the parts of a loop over the last hour.',
      labelNames: ['function'],
      percentiles: QUANTILES,
      maxAgeSeconds: HOUR_SECONDS,
      ageBuckets: 5,
      registers,
    }),
    heterogeneity: new Histogram({
      name: 'cluster_autoscaler_binpacking_heterogeneity',
      help: 'Groups of equal pods that one increase is for.',
      labelNames: ['instance_type', 'cpu_count', 'namespace_count'],
      buckets: [1, 2, 4, 8, 16, 32],
      registers,
    }),
    unneededNodes: gauge('unneeded_nodes_count', 'Nodes that could go.'),
    unremovableNodes: gauge('unremovable_nodes_count', 'Nodes that stay, by reason.', ['reason']),
    scaleDownInCooldown: gauge('scale_down_in_cooldown', '1 while removals rest after a scale-up, a removal or a failure.'),
    pendingDeletions: gauge('pending_node_deletions', 'Nodes whose removal was begun and has not ended.'),
    removalLatency: new Histogram({
      name: 'cluster_autoscaler_node_removal_latency_seconds',
      help: 'From when an unneeded node was due until it was deleted, or was needed again (deleted="false"), by what held it up.',
      labelNames: ['deleted', 'delay_reason'],
      buckets: REMOVAL_SECONDS,
      registers,
    }),
    skippedEvaluation: gauge('max_node_skip_eval_duration_seconds', 'Longest time for which a node has not been looked at anew.'),
    nodeTaints: gauge('node_taints_count', 'Taints of all nodes, by key or by kind.', ['type']),
    deviceMismatches: gauge(
      'dra_node_template_resources_mismatch',
      'Ready nodes on which a driver has other devices than the template of their group says.',
      ['driver', 'mismatch_type'],
    ),
    bufferReconciled: gauge(
      'capacity_buffer_oldest_reconciliation_timestamp_seconds',
      'Unix time at which the CapacityBuffer that has waited longest was looked at; new: one whose status says nothing yet.',
      ['new_buffer'],
    ),
    // There as well it is 0 on Azure, and a dashboard that adds it up wants a number.
    inconsistentInstances: gauge(
      'inconsistent_instances_migs_count',
      'Managed instance groups, of another cloud, that contradict their instances.',
    ),
    groupMin: gauge('node_group_min_count', 'Minimum size of a node group.', ['node_group']),
    groupMax: gauge('node_group_max_count', 'Maximum size of a node group.', ['node_group']),
    groupTarget: gauge('node_group_target_count', 'Target size of a node group; absent while it is not known.', ['node_group']),
    groupHealthiness: gauge('node_group_healthiness', '1 while not too many nodes of the group are unready.', ['node_group']),
    groupBackoff: gauge('node_group_backoff_status', '1 while the group rests after a failed scale-up, by the code of the failure.', [
      'node_group',
      'reason',
    ]),
  };
  beginAtZero(metrics);
  return metrics;
}

/** Series of closed sets are there before anything happens. */
function beginAtZero(metrics: {
  readonly failedNodeCreations: Counter<'reason'>;
  readonly skippedScaleEvents: Counter<'direction' | 'reason'>;
  readonly createdNodeGroups: Counter<'group_type'>;
  readonly deletedNodeGroups: Counter<'group_type'>;
  readonly inconsistentInstances: Gauge;
}): void {
  metrics.inconsistentInstances.set(0);
  for (const reason of FAILED_REASONS) metrics.failedNodeCreations.inc({ reason }, 0);
  for (const direction of ['up', 'down']) {
    for (const reason of ['CpuResourceLimit', 'MemoryResourceLimit']) metrics.skippedScaleEvents.inc({ direction, reason }, 0);
  }
  metrics.createdNodeGroups.inc({ group_type: 'autoprovisioned' }, 0);
  metrics.deletedNodeGroups.inc({ group_type: 'autoprovisioned' }, 0);
}

const GPU = ['gpu_resource_name', 'gpu_name'] as const;
const POOL = [...GPU, 'dra_drivers'] as const;
const NO_GPU: GpuLabels = { gpu_resource_name: '', gpu_name: '' };
const NO_DEVICES = { dra_drivers: '' } as const;
const EVICTED: Readonly<Record<string, Labels>> = {
  evicted: { eviction_result: 'succeeded' },
  failed: { eviction_result: 'failed' },
};

/** As the Cluster Autoscaler tells GPUs apart. */
export type GpuLabels = {
  readonly gpu_resource_name: string;
  readonly gpu_name: string;
};

/** The nearest of the Cluster Autoscaler's error types; a cancelled step is no error. */
function typed(kind: string | number | undefined): { readonly type: (typeof ERROR_TYPES)[number] } | undefined {
  switch (kind) {
    case 'cancelled':
      return undefined;
    case 'config':
      return { type: 'configurationError' };
    case 'kube-api':
      return { type: 'apiCallError' };
    case 'throttled':
    case 'conflict':
    case 'unavailable':
      return { type: 'transientError' };
    case 'bug':
      return { type: 'internalError' };
    default:
      return { type: 'cloudProviderError' };
  }
}
