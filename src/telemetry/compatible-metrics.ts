/**
 * The Cluster Autoscaler's metric names, so that dashboards and alerts made for it go on working. Only what can be filled
 * truthfully is here. Counters are not counted twice: they are read from the native ones when somebody scrapes.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Metrics } from './metrics.ts';

/** As many buckets as dashboards need: the Cluster Autoscaler has 150 of them per function, up to half an hour. */
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export type CompatibleMetrics = ReturnType<typeof createCompatibleMetrics>;

type Rows = readonly { readonly value: number; readonly labels: Readonly<Record<string, string | number | undefined>> }[];
type Native = { get(): Promise<{ values: Rows }> };

/** Makes the metrics in the registry of the native ones, from which the counters are read. */
export function createCompatibleMetrics(native: Metrics) {
  const registers: Registry[] = [native.registry];
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Gauge<Label> =>
    new Gauge({ name: `cluster_autoscaler_${name}`, help, labelNames: [...labelNames], registers });
  const gpus = new Map<string, GpuLabels>();
  const counted = (name: string, help: string, sources: readonly Source[], labelNames: readonly string[] = []): Counter =>
    new Counter({
      name: `cluster_autoscaler_${name}`,
      help,
      labelNames: [...labelNames],
      registers,
      async collect() {
        const rows = await totalsOf(sources);
        this.reset();
        for (const { labels, total } of rows) this.inc(labels, total);
      },
    });
  /** Labels that pools with GPUs have beside; others have none, which is the same to Prometheus as empty ones. */
  const ofPool = (row: Labels): Labels => gpus.get(String(row['node_group'])) ?? {};
  const reason = (value: string) => (row: Labels) => ({ ...ofPool(row), reason: value });

  const evicted: Readonly<Record<string, string>> = { evicted: 'succeeded', failed: 'failed' };

  const failures: readonly Source[] = [
    { from: native.scaleUp.writes, as: (row) => (row['outcome'] === 'failed' ? reason('cloudProviderError')(row) : undefined) },
    { from: native.scaleUp.lateFailures, as: reason('cloudProviderError') },
    { from: native.scaleUp.failures, as: (row) => (row['reason'] === 'timeout' ? reason('timeout')(row) : undefined) },
  ];

  return {
    /** What is known of the pools' GPUs, by node group. */
    gpus,
    errors: counted(
      'errors_total',
      'Steps of a loop that failed, by kind of error.',
      [
        {
          from: native.loop.stepFailures,
          as: ({ kind }) => {
            const type = errorType(kind);
            return type === undefined ? undefined : { type };
          },
        },
      ],
      ['type'],
    ),
    scaledUpNodes: counted('scaled_up_nodes_total', 'Nodes asked for.', [{ from: native.scaleUp.nodes, as: ofPool }], GPU),
    scaledUpGpuNodes: counted(
      'scaled_up_gpu_nodes_total',
      'Nodes with GPUs asked for.',
      [{ from: native.scaleUp.nodes, as: (row) => gpus.get(String(row['node_group'])) }],
      GPU,
    ),
    failedScaleUps: counted('failed_scale_ups_total', 'Scale-ups that failed, at once or later.', failures, ['reason', ...GPU]),
    failedGpuScaleUps: counted(
      'failed_gpu_scale_ups_total',
      'Scale-ups of pools with GPUs that failed.',
      failures.map(({ from, as }) => ({ from, as: (row) => (gpus.has(String(row['node_group'])) ? as(row) : undefined) })),
      ['reason', ...GPU],
    ),
    scaledDownNodes: counted(
      'scaled_down_nodes_total',
      'Nodes removed.',
      [{ from: native.scaleDown.nodes, as: (row) => reason(String(row['cause']))(row) }],
      ['reason', ...GPU],
    ),
    scaledDownGpuNodes: counted(
      'scaled_down_gpu_nodes_total',
      'Nodes with GPUs removed.',
      [
        {
          from: native.scaleDown.nodes,
          as: (row) => (gpus.has(String(row['node_group'])) ? reason(String(row['cause']))(row) : undefined),
        },
      ],
      ['reason', ...GPU],
    ),
    evictedPods: counted(
      'evicted_pods_total',
      'Evictions that ended; those that a budget put off are not counted.',
      [
        {
          from: native.scaleDown.evictions,
          as: ({ outcome }) => {
            const result = evicted[String(outcome)];
            return result === undefined ? undefined : { eviction_result: result };
          },
        },
      ],
      ['eviction_result'],
    ),
    safeToAutoscale: gauge('cluster_safe_to_autoscale', '1 while not too many nodes are unready.'),
    nodes: gauge('nodes_count', 'Nodes of the cluster by state.', ['state']),
    nodeGroups: gauge('node_groups_count', 'Node groups.', ['node_group_type']),
    unschedulablePods: gauge('unschedulable_pods_count', 'Pods without a node, by what the scheduler said of them.', ['type']),
    overflowingControllers: gauge('overflowing_controllers_count', 'Controllers with more than ten different pods that nothing can help.'),
    maxNodes: gauge('max_nodes_count', 'Configured limit of nodes; 0 is no limit.'),
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
    unneededNodes: gauge('unneeded_nodes_count', 'Nodes that could go.'),
    unremovableNodes: gauge('unremovable_nodes_count', 'Nodes that stay, by reason.', ['reason']),
    scaleDownInCooldown: gauge('scale_down_in_cooldown', '1 while removals rest after a scale-up, a removal or a failure.'),
    nodeTaints: gauge('node_taints_count', "Taints of all nodes, by key; keys that are not the autoscaler's are other.", ['type']),
    groupMin: gauge('node_group_min_count', 'Minimum size of a node group.', ['node_group']),
    groupMax: gauge('node_group_max_count', 'Maximum size of a node group.', ['node_group']),
    groupTarget: gauge('node_group_target_count', 'Target size of a node group; absent while it is not known.', ['node_group']),
    groupHealthiness: gauge('node_group_healthiness', '1 while not too many nodes of the group are unready.', ['node_group']),
    groupBackoff: gauge('node_group_backoff_status', '1 while the group rests after a failed scale-up, by the code of the failure.', [
      'node_group',
      'reason',
    ]),
  };
}

type Labels = Rows[number]['labels'];

const GPU = ['gpu_resource_name', 'gpu_name'] as const;

/** As the Cluster Autoscaler tells GPUs apart. */
export type GpuLabels = {
  readonly gpu_resource_name: string;
  readonly gpu_name: string;
};

interface Source {
  readonly from: Native;
  /** The labels for a row of the native counter; undefined: not counted here. */
  readonly as: (labels: Labels) => Labels | undefined;
}

interface Total {
  readonly labels: Record<string, string | number>;
  readonly total: number;
}

async function totalsOf(sources: readonly Source[]): Promise<readonly Total[]> {
  const totals = new Map<string, Total>();
  for (const { from, as } of sources) {
    for (const { value, labels } of (await from.get()).values) {
      const wanted = as(labels);
      // A row of nothing makes no series, unless the counter has no labels at all.
      if (wanted === undefined || (value === 0 && 'reason' in wanted)) continue;
      const named = Object.fromEntries(
        Object.entries(wanted).flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])),
      );
      const key = JSON.stringify(
        Object.keys(named)
          .toSorted()
          .map((name) => [name, named[name]]),
      );
      totals.set(key, { labels: named, total: (totals.get(key)?.total ?? 0) + value });
    }
  }
  return [...totals.values()];
}

/** The nearest of the Cluster Autoscaler's error types; a cancelled step is no error. */
function errorType(kind: string | number | undefined): string | undefined {
  switch (kind) {
    case 'cancelled':
      return undefined;
    case 'config':
      return 'configurationError';
    case 'kube-api':
      return 'apiCallError';
    case 'throttled':
    case 'conflict':
    case 'unavailable':
      return 'transientError';
    case 'bug':
      return 'internalError';
    default:
      return 'cloudProviderError';
  }
}
