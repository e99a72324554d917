import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCompatibleMetrics } from '../../src/telemetry/compatible-metrics.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

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

  it('is made anew each time: two daemons in one process do not count together', async () => {
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
  const { registry: _registry, ...sections } = createMetrics();
  const native = Object.values(sections).flatMap((section) => Object.keys(section));
  // Counters there read the native ones.
  const derived = ['errors', 'scaledUpNodes', 'failedScaleUps', 'scaledDownNodes', 'evictedPods'];
  const compatible = Object.keys(createCompatibleMetrics(createMetrics())).filter((key) => !derived.includes(key));

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
      'scaled_up_nodes_total 5',
      'failed_scale_ups_total{reason="cloudProviderError"} 2',
      'scaled_down_nodes_total{reason="empty"} 1',
      'evicted_pods_total{eviction_result="succeeded"} 4',
      'errors_total{type="apiCallError"} 1',
    ]) {
      expect(text).toContain(`cluster_autoscaler_${line}\n`);
    }
    expect(text).not.toMatch(/^cluster_autoscaler.*blocked/m);
    expect(text.match(/^cluster_autoscaler_errors_total\{/gm)).toHaveLength(1);
  });

  it('are absent when they are not wanted', async () => {
    expect(await served(createMetrics())).not.toContain('cluster_autoscaler_');
  });

  it('have labels of the closed set only', () => {
    const metrics = createMetrics();
    createCompatibleMetrics(metrics);
    const names = metrics.registry.getMetricsAsArray().flatMap((metric) => ('labelNames' in metric ? (metric.labelNames as string[]) : []));
    const more = new Set([...LABELS, 'type', 'eviction_result', 'node_group_type', 'direction', 'activity', 'function']);
    expect(names.filter((name) => !more.has(name))).toEqual([]);
  });
});
