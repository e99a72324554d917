import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { publishClusterAutoscalerGauges } from '../../src/observers/cluster-autoscaler-metrics/gauges.ts';
import { publishObservation } from '../../src/observers/metrics/loop-metrics.ts';
import { createCompatibleMetrics, ERROR_TYPES } from '../../src/telemetry/cluster-autoscaler-metrics.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, aTemplate, START_MS, type PodOptions } from '../support/builders.ts';
import { aLoopReport } from '../support/loop-report.ts';
import { aPolicy } from '../support/policy.ts';
import { aState } from '../support/state.ts';

/** Every label name there may be. A new one is a decision: its values must be a closed set or pool names. */
const LABELS = new Set([
  'step',
  'outcome',
  'trigger',
  'operation',
  'status',
  'policy',
  'table',
  'kind',
  'reason',
  'cause',
  'node_group',
  'verdict',
  'state',
  'resource',
  'quota',
  'stage',
  'blocker',
  'direction',
  // Of the one process that serves them.
  'version',
  'nodejs',
]);

describe('the catalogue of metrics', () => {
  it('renders, each metric with help and the prefix', async () => {
    const metrics = createMetrics();
    metrics.loop.completed.inc({ outcome: 'completed' });
    const text = await metrics.registry.metrics();
    expect(text).toContain('aks_autoscaler_loops_total{outcome="completed"} 1');
    const all = await metrics.registry.getMetricsAsJSON();
    expect(all.length).toBeGreaterThan(40);
    for (const { name, help } of all) {
      expect(name).toMatch(/^aks_autoscaler_[a-z_]+$/);
      expect(help.length, name).toBeGreaterThan(10);
    }
  });

  it('has labels of the closed set only: never pods, nodes or ids', () => {
    const metrics = createMetrics();
    const used = metrics.registry.getMetricsAsArray().flatMap((metric) => ('labelNames' in metric ? (metric.labelNames as string[]) : []));
    expect(used.length).toBeGreaterThan(20);
    expect([...new Set(used)].filter((name) => !LABELS.has(name))).toEqual([]);
  });

  it('counters end in _total and times in seconds', async () => {
    for (const { name, type } of await createMetrics().registry.getMetricsAsJSON()) {
      if (String(type) === 'counter') expect(name).toMatch(/_total$/);
      if (String(type) === 'histogram') expect(name).toMatch(/_seconds$/);
    }
  });

  it('is created each time: two daemons in one process do not count together', async () => {
    const [left, right] = [createMetrics(), createMetrics()];
    left.scaleUp.nodes.inc({ node_group: 'a' }, 5);
    expect(await right.registry.metrics()).not.toContain('node_group="a"');
  });
});

const SRC = resolve(import.meta.dirname, '..', '..', 'src');

/** Everything but the catalogues themselves. */
function sourceText(): string {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/^telemetry\/(compatible-)?metrics\.ts$/.test(path))
    .map((path) => readFileSync(join(SRC, path), 'utf8'))
    .join('\n');
}

describe('no metric is only promised', () => {
  const text = sourceText();
  const { registry: _registry, deferred: _deferred, ...sections } = createMetrics();
  const native = Object.values(sections).flatMap((section) => Object.keys(section));
  const REMEMBERED = new Set(['deferred', 'gpus', 'drivers', 'sizes']);
  // Counters there read the native ones.
  const derived = [
    'errors',
    'scaledUpNodes',
    'scaledUpGpuNodes',
    'failedScaleUps',
    'failedGpuScaleUps',
    'scaledDownNodes',
    'scaledDownGpuNodes',
    'evictedPods',
    // Always 0, which the catalogue itself says.
    'createdNodeGroups',
    'deletedNodeGroups',
    'inconsistentInstances',
  ];
  const compatible = Object.keys(createCompatibleMetrics(createMetrics())).filter((key) => !REMEMBERED.has(key) && !derived.includes(key));

  it.each([...native, ...compatible])('%s is set somewhere', (key) => {
    expect(text).toMatch(new RegExp(`\\b${key}\\s*\\.(inc|set|observe)\\(`));
  });
});

describe('the names of the Cluster Autoscaler', () => {
  const served = async (metrics: ReturnType<typeof createMetrics>): Promise<string> => metrics.registry.metrics();

  it('count what the native ones counted, once', async () => {
    const metrics = createMetrics();
    createCompatibleMetrics(metrics);
    metrics.scaleUp.nodes.inc({ node_group: 'a' }, 3);
    metrics.scaleUp.nodes.inc({ node_group: 'b' }, 2);
    metrics.scaleUp.writes.inc({ node_group: 'a', outcome: 'failed' });
    metrics.scaleUp.writes.inc({ node_group: 'a', outcome: 'accepted' });
    metrics.scaleUp.lateFailures.inc({ node_group: 'a', kind: 'quota' });
    metrics.scaleDown.nodes.inc({ node_group: 'a', cause: 'empty' });
    metrics.scaleDown.evictions.inc({ outcome: 'evicted' }, 4);
    metrics.scaleDown.evictions.inc({ outcome: 'blocked' }, 9);
    metrics.loop.stepFailures.inc({ step: 'observe', kind: 'kube-api' });
    metrics.loop.stepFailures.inc({ step: 'observe', kind: 'cancelled' });
    await served(metrics);
    const text = await served(metrics);
    for (const line of [
      'scaled_up_nodes_total{gpu_resource_name="",gpu_name="",dra_drivers=""} 5',
      'failed_scale_ups_total{gpu_resource_name="",gpu_name="",dra_drivers="",reason="cloudProviderError"} 2',
      'scaled_down_nodes_total{gpu_resource_name="",gpu_name="",dra_drivers="",reason="empty"} 1',
      'evicted_pods_total{eviction_result="succeeded"} 4',
      'errors_total{type="apiCallError"} 1',
    ]) {
      expect(text).toContain(`cluster_autoscaler_${line}\n`);
    }
    expect(text).not.toMatch(/^cluster_autoscaler.*blocked/m);
    // Every type has its series from the start.
    expect(text.match(/^cluster_autoscaler_errors_total\{.*\} 0$/gm)).toHaveLength(ERROR_TYPES.length - 1);
  });

  it('omit a node from the capacity of the cluster while it is being deleted', async () => {
    const marked = (secondsAgo: number) => [
      { key: 'ToBeDeletedByClusterAutoscaler', value: String(START_MS / 1000 - secondsAgo), effect: 'NoSchedule' } as const,
    ];
    const nodes = [aNode({ name: 'a' }), aNode({ name: 'b', taints: marked(599) }), aNode({ name: 'c', taints: marked(600) })];
    const metrics = createMetrics();
    publishClusterAutoscalerGauges(
      aLoopReport({ observation: anObservation([], aCluster({ nodes })) }),
      aPolicy(),
      createCompatibleMetrics(metrics),
    );
    expect(await served(metrics)).toContain('\ncluster_autoscaler_cluster_cpu_current_cores 8\n');
  });

  it('distinguish nodes with GPUs, as the Cluster Autoscaler does', async () => {
    const metrics = createMetrics();
    const compatible = createCompatibleMetrics(metrics);
    const origins = { labels: {}, taints: {}, allocatable: {} };
    const gpu = (id: string, labels: Readonly<Record<string, string>>, capacity: Readonly<Record<string, 'sku' | 'tag'>>) =>
      aGroup({ id, template: { ...aTemplate({ labels }), origins: { ...origins, capacity } } });
    const groups = [
      gpu('listed', { accelerator: 'nvidia-tesla-v100' }, { 'nvidia.com/gpu': 'sku' }),
      gpu('aks', { 'kubernetes.azure.com/accelerator': 'nvidia', accelerator: 'nvidia' }, { 'nvidia.com/gpu': 'sku' }),
      gpu('tagged', {}, { 'amd.com/gpu': 'tag' }),
      gpu('lying', { accelerator: 'nvidia' }, { cpu: 'sku' }),
      gpu('plain', {}, { cpu: 'sku' }),
    ];
    const observation = anObservation(groups, aCluster());
    publishClusterAutoscalerGauges(aLoopReport({ observation }), aPolicy(), compatible);
    for (const { id } of groups) {
      metrics.scaleUp.nodes.inc({ node_group: id }, 2);
      metrics.scaleDown.nodes.inc({ node_group: id, cause: 'empty' });
      metrics.scaleUp.failures.inc({ node_group: id, reason: 'timeout' });
      metrics.scaleUp.failures.inc({ node_group: id, reason: 'quota' }, 0);
    }
    const lines = (await served(metrics)).split('\n').filter((line) => /^cluster_autoscaler_(scaled|failed)\w+/.test(line));
    const labels = (name: string): readonly string[] =>
      lines
        .flatMap((line) => new RegExp(`^cluster_autoscaler_${name}(?:\\{(.*)\\})? (\\d+)$`).exec(line)?.slice(1, 3).join(' ') ?? [])
        .toSorted();
    const named = (resource: string, name: string): string => `gpu_resource_name="${resource}",gpu_name="${name}"`;
    const ofPools = (rest: string): string => `gpu_resource_name="",gpu_name="",dra_drivers=""${rest}`;
    const gpus = [
      named('amd.com/gpu', 'generic'),
      named('nvidia.com/gpu', 'not-listed'),
      named('nvidia.com/gpu', 'nvidia-tesla-v100'),
      named('nvidia.com/gpu', 'unexpected-label'),
    ];
    expect(labels('scaled_up_nodes_total')).toEqual([ofPools(' 2'), ...gpus.map((gpu) => `${gpu},dra_drivers="" 2`)]);
    expect(labels('scaled_up_gpu_nodes_total')).toEqual(gpus.map((gpu) => `${gpu} 2`));
    expect(labels('scaled_down_gpu_nodes_total')).toEqual(gpus.map((gpu) => `${gpu},reason="empty" 1`));
    expect(labels('failed_scale_ups_total')).toEqual([
      ofPools(',reason="apiCallError" 0'),
      ofPools(',reason="cloudProviderError" 0'),
      ofPools(',reason="timeout" 1'),
      ...gpus.map((gpu) => `${gpu},dra_drivers="",reason="timeout" 1`),
    ]);
    expect(labels('failed_gpu_scale_ups_total')).toHaveLength(4);
  });

  it.each([
    [0, 15],
    [Number.MAX_SAFE_INTEGER, 15],
    [12, 12],
    [40, 15],
  ])('max_nodes_count with --max-nodes-total=%i is what all groups may come to', async (maxNodesTotal, expected) => {
    const metrics = createMetrics();
    const groups = [aGroup({ id: 'a', maxSize: 10 }), aGroup({ id: 'b', maxSize: 5 })];
    const observation = anObservation(groups, aCluster());
    publishClusterAutoscalerGauges(aLoopReport({ observation }), aPolicy({ scaleUp: { maxNodesTotal } }), createCompatibleMetrics(metrics));
    expect(await served(metrics)).toContain(`\ncluster_autoscaler_max_nodes_count ${expected}\n`);
  });

  it.each<[string, PodOptions, number, number]>([
    ['refused', {}, 1, 0],
    ['refused, and given a place by preemption', { nominatedNodeName: 'n' }, 0, 0],
    ['refused, and given a place on a node that is gone', { nominatedNodeName: 'gone' }, 1, 0],
    ['refused, and on its way out', { deletionAtMs: START_MS }, 0, 0],
    ['of a scheduler that does not count', { shape: { schedulerName: 'theirs' } }, 0, 0],
    ['gated, or not looked at', { unschedulable: undefined }, 0, 0],
    ['not looked at, by one that need not look', { unschedulable: undefined, unseen: true, shape: { schedulerName: 'batch' } }, 0, 1],
  ])('unschedulable_pods_count: a pod that is %s', async (_what, pod, unschedulable, unprocessed) => {
    const metrics = createMetrics();
    const policy = aPolicy({ scaleUp: { allowedSchedulers: ['default-scheduler', 'batch'], bypassedSchedulers: ['batch'] } });
    const observation = anObservation([], aCluster({ nodes: [aNode({ name: 'n' })], pods: [aPod(pod)] }));
    publishClusterAutoscalerGauges(aLoopReport({ observation }), policy, createCompatibleMetrics(metrics));
    const text = await served(metrics);
    expect(text).toContain(`_unschedulable_pods_count{type="unschedulable"} ${unschedulable}\n`);
    expect(text).toContain(`_unschedulable_pods_count{type="scheduler_unprocessed"} ${unprocessed}\n`);
  });

  it.each([
    [false, 1],
    [true, 0],
  ])(
    'scale_down_in_cooldown with delays per group %j: the whole rests after a scale-up, or a group alone',
    async (delaysPerGroup, expected) => {
      const metrics = createMetrics();
      const state = aState({ lastScaleUpMs: START_MS });
      const policy = aPolicy({ scaleDown: { delayAfterAddMs: 600_000, delaysPerGroup } });
      publishClusterAutoscalerGauges(
        aLoopReport({ observation: anObservation([], aCluster()), state }),
        policy,
        createCompatibleMetrics(metrics),
      );
      expect(await served(metrics)).toContain(`\ncluster_autoscaler_scale_down_in_cooldown ${expected}\n`);
    },
  );

  it('are absent when they are not wanted', async () => {
    expect(await served(createMetrics())).not.toContain('cluster_autoscaler_');
  });

  it('have labels of the closed set only', () => {
    const metrics = createMetrics();
    createCompatibleMetrics(metrics);
    const names = metrics.registry.getMetricsAsArray().flatMap((metric) => ('labelNames' in metric ? (metric.labelNames as string[]) : []));
    const more = new Set([
      ...LABELS,
      'type',
      'eviction_result',
      'node_group_type',
      'direction',
      'activity',
      'function',
      'gpu_resource_name',
      'gpu_name',
      'dra_drivers',
      'group_type',
      'requestor',
      'instance_type',
      'cpu_count',
      'namespace_count',
      'deleted',
      'delay_reason',
      'new_buffer',
      // For devices; a cluster has few of them.
      'driver',
      'mismatch_type',
    ]);
    expect(names.filter((name) => !more.has(name))).toEqual([]);
  });
});

describe('cardinality', () => {
  it('nodes make no series', async () => {
    const series = async (nodesPerPool: number): Promise<number> => {
      const metrics = createMetrics();
      const compatible = createCompatibleMetrics(metrics);
      const groups = [1, 2, 3].map((pool) => aGroup({ id: `pool${pool}`, target: nodesPerPool }));
      const nodes = groups.flatMap(({ id }) => Array.from({ length: nodesPerPool }, (_, index) => aNode({ name: `${id}-${index}` })));
      const observation = anObservation(groups, aCluster({ nodes }));
      const state = aState();
      publishObservation(observation, state, metrics);
      publishClusterAutoscalerGauges(aLoopReport({ observation, state }), aPolicy(), compatible);
      return (await metrics.registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
    };
    expect(await series(40)).toBe(await series(1));
  });
});
