import { describe, expect, it } from 'vitest';
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
