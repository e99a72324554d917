/**
 * The Cluster Autoscaler's metric names, so that dashboards and alerts made for it keep working. Most counters are read
 * from the native ones at scrape time. Must not know who sets a metric.
 */
import type { Registry } from 'prom-client';
import { CLUSTER_AUTOSCALER_CATALOGUE } from './cluster-autoscaler-catalogue.ts';
import { derivedCounter, type DerivedCounter, type Labels, type Source } from './derived-counter.ts';
import { createMetricGroup, type MetricsOf } from './metric-specs.ts';
import type { Metrics } from './metrics.ts';

export const ERROR_TYPES = [
  'cloudProviderError',
  'apiCallError',
  'internalError',
  'transientError',
  'configurationError',
  'nodeGroupDoesNotExistError',
  'unexpectedScaleDownStateError',
] as const;
/** In addition to Azure's own codes. The Cluster Autoscaler has those too, and they are not a closed set. */
const FAILED_REASONS = ['cloudProviderError', 'apiCallError', 'timeout'] as const;
const REMOVAL_CAUSES = ['underutilized', 'empty', 'unready'] as const;

export type CompatibleMetrics = ReturnType<typeof createCompatibleMetrics>;

/** Creates the metrics in the registry of the native ones, from which the counters are read. */
export function createCompatibleMetrics(native: Metrics) {
  const { registry, deferred } = native;
  /** GPU labels by node group. */
  const gpus = new Map<string, GpuLabels>();
  /** Device drivers by node group, separated by commas. */
  const drivers = new Map<string, string>();
  const metrics = createMetricGroup(CLUSTER_AUTOSCALER_CATALOGUE, { registry, deferred, prefix: PREFIX });
  startAtZero(metrics);
  const pools: PoolLabels = {
    ofPool: (row) => {
      const group = String(row['node_group']);
      return { ...NO_GPU, ...gpus.get(group), dra_drivers: drivers.get(group) ?? '' };
    },
    ofGpuPool: (row) => gpus.get(String(row['node_group'])),
  };
  return {
    deferred,
    gpus,
    drivers,
    /** VM sizes that have their own series. */
    sizes: new Set<string>(),
    ...derivedScaleUp(native, registry, pools),
    ...derivedScaleDown(native, registry, pools),
    ...metrics,
  };
}

const PREFIX = 'cluster_autoscaler_';

interface PoolLabels {
  readonly ofPool: (row: Labels) => Labels;
  /** Undefined if the pool has no GPUs. */
  readonly ofGpuPool: (row: Labels) => Labels | undefined;
}

function derivedScaleUp(native: Metrics, registry: Registry, { ofPool, ofGpuPool }: PoolLabels) {
  const plain: Labels = { ...NO_GPU, ...NO_DEVICES };
  const derived = derivedIn(registry);
  const failures = (labelsOf: (row: Labels) => Labels | undefined): readonly Source[] => [
    {
      from: native.scaleUp.writes,
      as: (row) => (row['outcome'] === 'failed' ? withReason('cloudProviderError', labelsOf(row)) : undefined),
    },
    { from: native.scaleUp.lateFailures, as: (row) => withReason('cloudProviderError', labelsOf(row)) },
    { from: native.scaleUp.failures, as: (row) => (row['reason'] === 'timeout' ? withReason('timeout', labelsOf(row)) : undefined) },
  ];
  return {
    errors: derived('errors_total', 'Failed steps of a loop, by kind of error.', {
      sources: [{ from: native.loop.stepFailures, as: ({ kind }) => errorType(kind) }],
      labelNames: ['type'],
      fromStart: ERROR_TYPES.map((type) => ({ type })),
    }),
    scaledUpNodes: derived('scaled_up_nodes_total', 'Nodes requested by increases.', {
      sources: [{ from: native.scaleUp.nodes, as: ofPool }],
      labelNames: POOL,
      fromStart: [plain],
    }),
    scaledUpGpuNodes: derived('scaled_up_gpu_nodes_total', 'Nodes with GPUs requested by increases.', {
      sources: [{ from: native.scaleUp.nodes, as: ofGpuPool }],
      labelNames: GPU,
    }),
    failedScaleUps: derived('failed_scale_ups_total', 'Scale-ups that failed, at once or later.', {
      sources: failures(ofPool),
      labelNames: ['reason', ...POOL],
      fromStart: FAILED_REASONS.map((reason) => ({ ...plain, reason })),
    }),
    failedGpuScaleUps: derived('failed_gpu_scale_ups_total', 'Scale-ups of pools with GPUs that failed.', {
      sources: failures(ofGpuPool),
      labelNames: ['reason', ...GPU],
    }),
  };
}

/** The Cluster Autoscaler has no word for a sick node, which does not work as it should, nor for one of a repack, whose pods fit elsewhere. */
function upstreamCause(cause: string | number | undefined): string {
  if (cause === 'repacked') return 'underutilized';
  return cause === 'sick' ? 'unready' : String(cause);
}

function derivedScaleDown(native: Metrics, registry: Registry, { ofPool, ofGpuPool }: PoolLabels) {
  const plain: Labels = { ...NO_GPU, ...NO_DEVICES };
  const derived = derivedIn(registry);
  return {
    scaledDownNodes: derived('scaled_down_nodes_total', 'Nodes removed.', {
      sources: [{ from: native.scaleDown.nodes, as: (row) => withReason(upstreamCause(row['cause']), ofPool(row)) }],
      labelNames: ['reason', ...POOL],
      fromStart: REMOVAL_CAUSES.map((reason) => ({ ...plain, reason })),
    }),
    scaledDownGpuNodes: derived('scaled_down_gpu_nodes_total', 'Nodes with GPUs removed.', {
      sources: [{ from: native.scaleDown.nodes, as: (row) => withReason(upstreamCause(row['cause']), ofGpuPool(row)) }],
      labelNames: ['reason', ...GPU],
    }),
    evictedPods: derived('evicted_pods_total', 'Finished evictions; those delayed by a disruption budget do not count.', {
      sources: [{ from: native.scaleDown.evictions, as: ({ outcome }) => EVICTED[String(outcome)] }],
      labelNames: ['eviction_result'],
      fromStart: Object.values(EVICTED),
    }),
  };
}

function derivedIn(registry: Registry) {
  return (name: string, help: string, series: Omit<DerivedCounter, 'name' | 'help'>) =>
    derivedCounter({ name: `${PREFIX}${name}`, help, ...series }, registry);
}

function withReason(reason: string, labels: Labels | undefined): Labels | undefined {
  return labels === undefined ? undefined : { ...labels, reason };
}

/** Publishes series of closed sets before the first event. */
function startAtZero(metrics: MetricsOf<typeof CLUSTER_AUTOSCALER_CATALOGUE>): void {
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

/** The Cluster Autoscaler's labels of GPUs. */
type GpuLabels = {
  readonly gpu_resource_name: string;
  readonly gpu_name: string;
};

/** The nearest of the Cluster Autoscaler's error types; a cancelled step is not an error. */
function errorType(kind: string | number | undefined): { readonly type: (typeof ERROR_TYPES)[number] } | undefined {
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
