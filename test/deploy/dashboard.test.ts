/** Every query of the dashboard names metrics, labels and values that are served, and no two panels lie on each other. */
import { describe, expect, it } from 'vitest';
import { dashboard, fleetDashboard, ROWS } from '../../deploy/dashboard.ts';
import { FLEET_ROWS } from '../../deploy/dashboard-fleet.ts';
import { RECORDING_RULES } from '../../deploy/recording-rules.ts';
import { catalogue } from '../../docs/reference.ts';
import { VERDICTS } from '../../src/planning/explain/verdicts.ts';
import { familyOf, labelsIn, seriesIn } from './promql.ts';

const queriesOf = (rows: typeof ROWS) =>
  rows.flatMap(({ panels }) => panels).flatMap(({ title, queries }) => queries.map((query) => ({ title, ...query })));
const QUERIES = queriesOf(ROWS);
const FLEET_QUERIES = queriesOf(FLEET_ROWS);

interface Placed {
  readonly type: string;
  readonly id: number;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
}

describe('the dashboard', async () => {
  const known = new Map((await catalogue()).map((entry) => [entry.name, entry]));

  it.each(QUERIES)('$title: $legend', ({ expr, legend }) => {
    const series = seriesIn(expr);
    expect(series.length).toBeGreaterThan(0);
    const served = series.flatMap(({ metric, matchers, excluded }) => {
      const entry = known.get(metric) ?? known.get(familyOf(metric));
      expect(entry, metric).toBeDefined();
      if (metric.endsWith('_bucket')) expect(entry?.type).toBe('histogram');
      if (/\b(rate|increase)\(/.test(expr)) expect(['counter', 'histogram', 'summary'], metric).toContain(entry?.type);
      const labels = ['cluster', 'job', 'instance', 'le', ...(entry?.labels ?? [])];
      for (const label of [...matchers.keys(), ...excluded.keys()]) expect(labels, metric).toContain(label);
      expect(matchers.get('cluster')).toEqual(['$cluster']);
      expect(matchers.get('job')).toEqual(['$job']);
      return labels;
    });
    for (const label of labelsIn(`${expr} ${legend}`)) expect(served).toContain(label);
  });

  it.each(FLEET_QUERIES)('of all clusters: $title: $legend', ({ expr, legend }) => {
    const [series] = seriesIn(expr);
    const metric = series?.metric ?? '';
    const labels = known.get(metric)?.labels ?? (RECORDING_RULES.some(({ record }) => record === metric) ? [] : undefined);
    expect(labels, expr).toBeDefined();
    expect(series?.matchers.get('cluster')).toEqual(['$cluster']);
    // Two daemons of one cluster are two lines: a dry run counts the same nodes.
    expect(labelsIn(`${expr} ${legend}`)).toEqual(expect.arrayContaining(['cluster', 'job']));
    for (const label of [...labelsIn(`${expr} ${legend}`), ...(series?.matchers.keys() ?? [])])
      expect(['cluster', 'job', ...(labels ?? [])]).toContain(label);
  });

  it('shows every recorded series', () => {
    const shown = FLEET_QUERIES.flatMap(({ expr }) => seriesIn(expr)).map(({ metric }) => metric);
    expect(RECORDING_RULES.filter(({ record }) => !shown.includes(record))).toEqual([]);
  });

  it('matches only label values that exist', () => {
    const asked = new Map<string, Set<string>>();
    for (const { metric, matchers } of QUERIES.flatMap(({ expr }) => seriesIn(expr))) {
      for (const [label, values] of matchers) {
        if (['cluster', 'job', 'node_group'].includes(label)) continue;
        const key = `${metric} ${label}`;
        asked.set(key, new Set([...(asked.get(key) ?? []), ...values]));
      }
    }
    expect([...asked.keys()].toSorted()).toEqual([
      'aks_autoscaler_node_group_size kind',
      'aks_autoscaler_oldest_unschedulable_pod_age_seconds verdict',
    ]);
    expect([...(asked.get('aks_autoscaler_node_group_size kind') ?? [])].toSorted()).toEqual(['max', 'ready', 'target', 'upcoming']);
    for (const verdict of asked.get('aks_autoscaler_oldest_unschedulable_pod_age_seconds verdict') ?? [])
      expect(VERDICTS).toContain(verdict);
  });

  it('shows the ten signals that people miss elsewhere', () => {
    const shown = new Set(QUERIES.flatMap(({ expr }) => seriesIn(expr)).map(({ metric }) => familyOf(metric)));
    for (const name of [
      'unschedulable_pods',
      'oldest_unschedulable_pod_age_seconds',
      'node_group_scale_up_stage_seconds',
      'arm_tokens_remaining',
      'arm_throttled_until_timestamp_seconds',
      'scale_up_failures_total',
      'node_group_drift',
      'wasted_cores',
      'preempted_nodes_total',
      'loop_last_completed_timestamp_seconds',
      'config_findings',
    ]) {
      expect([...shown]).toContain(`aks_autoscaler_${name}`);
    }
  });

  it.each([dashboard, fleetDashboard])('places its panels side by side, each with an id of its own: %s', (make) => {
    const { panels } = JSON.parse(JSON.stringify(make())) as { readonly panels: readonly Placed[] };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = new Set<string>();
    for (const { gridPos, id } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(cells.has(`${x} ${y}`), `panel ${id}`).toBe(false);
          cells.add(`${x} ${y}`);
        }
      }
    }
  });
});
