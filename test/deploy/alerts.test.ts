/** The alerts name what is served, each has its runbook, and Prometheus' own tool agrees with what they say when. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { alertGroups, runbookOf } from '../../deploy/alerts.ts';
import { RECORDING_RULES } from '../../deploy/recording-rules.ts';
import { catalogue } from '../../docs/reference.ts';
import { FAILURE_REASONS } from '../../src/azure/arm/errors.ts';
import { VERDICTS } from '../../src/planning/explain/verdicts.ts';
import { familyOf, labelsIn, seriesIn } from './promql.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const RULES = alertGroups().flatMap(({ rules }) => rules);
/** Prometheus adds these to what it scrapes. */
const TARGET_LABELS = new Set(['cluster', 'namespace', 'job', 'instance']);

function text(...path: readonly string[]): string {
  return readFileSync(join(ROOT, ...path), 'utf8');
}

function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('recorded series', async () => {
  const known = new Map((await catalogue()).map((entry) => [entry.name, new Set(entry.labels)]));

  it.each(RECORDING_RULES)('$record is named after its metric, and has the labels of one daemon', ({ record, expr }) => {
    const [level, of = '', operation] = record.split(':');
    const [series] = seriesIn(expr);
    expect(known.has(familyOf(series?.metric ?? '')) || known.has(series?.metric ?? '')).toBe(true);
    expect(series?.metric.replace(/_(?:total|bucket)$/, '')).toBe(of);
    expect([level, operation]).toEqual(['cluster_job', expect.stringMatching(/^(?:sum|p90_1h|increase1h|rate5m)$/)]);
    expect(labelsIn(expr).filter((label) => label !== 'le')).toEqual(['cluster', 'namespace', 'job']);
  });
});

describe('the alerts', async () => {
  const known = new Map((await catalogue()).map((entry) => [entry.name, new Set(entry.labels)]));

  it.each(RULES)('$alert is about one cluster', ({ expr }) => {
    // One that is well must not hide another: each aggregation and each comparison of two series keeps the label.
    const lists = [...expr.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].map(([, list = '']) => list.split(', '));
    expect(lists.length).toBeGreaterThan(0);
    for (const list of lists) expect(list).toContain('cluster');
    const aggregations = expr.match(/\b(?:sum|max|min|avg|count|group)\b/g) ?? [];
    expect(expr.match(/\b(?:sum|max|min|avg|count|group) by \(cluster, /g) ?? []).toHaveLength(aggregations.length);
  });

  it('has ten rules, each with a severity, a time, a summary and a runbook', () => {
    expect(RULES).toHaveLength(10);
    for (const { alert, labels, annotations, for: lasting } of RULES) {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(lasting).toMatch(/^\d+m$/);
      expect(annotations.summary.length, alert).toBeGreaterThan(20);
      expect(annotations.runbook_url).toBe(`docs/runbooks/${runbookOf(alert)}`);
    }
  });

  it.each(RULES)('$alert names metrics and labels that are served', ({ expr, annotations }) => {
    const series = seriesIn(expr);
    expect(series.length).toBeGreaterThan(0);
    for (const { metric, matchers, excluded } of series) {
      const labels = known.get(metric);
      expect(labels, metric).toBeDefined();
      for (const label of [...matchers.keys(), ...excluded.keys()]) expect([...(labels ?? [])], metric).toContain(label);
    }
    const mine = new Set([...TARGET_LABELS, ...series.flatMap(({ metric }) => [...(known.get(metric) ?? [])])]);
    for (const label of labelsIn(`${expr} ${annotations.summary}`).filter((name) => name !== '$value')) expect([...mine]).toContain(label);
  });

  it('matches only label values that exist', () => {
    const asked: Record<string, readonly string[]> = {};
    for (const { metric, matchers } of RULES.flatMap(({ expr }) => seriesIn(expr))) {
      for (const [label, values] of matchers) asked[`${metric} ${label}`] = [...(asked[`${metric} ${label}`] ?? []), ...values];
    }
    expect(asked).toEqual({
      'aks_autoscaler_oldest_unschedulable_pod_age_seconds verdict': VERDICTS.filter((name) => name === 'helped' || name === 'coming'),
      'aks_autoscaler_cache_agent_last_success_timestamp_seconds kind': ['scaleSets', 'instances', 'vms', 'agentPools'],
      'aks_autoscaler_node_group_drift kind': ['instances', 'nodes', 'agent-pool'],
      'aks_autoscaler_node_group_size kind': ['target'],
      'aks_autoscaler_node_group_paused_until_timestamp_seconds direction': ['scale-down'],
    });
    const agents = text('src', 'azure', 'agents', 'agents.ts');
    for (const kind of ['scaleSets', 'instances', 'vms', 'agentPools']) expect(agents).toContain(`kind: '${kind}', order:`);
  });

  it("fires and stays silent as promtool's tests expect", (context) => {
    if (!hasPromtool()) context.skip('promtool is not installed (Debian package prometheus)');
    execFileSync('promtool', ['check', 'rules', join(ROOT, 'deploy', 'prometheus', 'rules.yaml')], { stdio: 'pipe' });
    const said = execFileSync('promtool', ['test', 'rules', join(ROOT, 'test', 'deploy', 'alerts.promtool.yaml')], { stdio: 'pipe' });
    expect(said.toString()).toContain('SUCCESS');
  });

  it("has a row in promtool's tests in which each alert fires, and one beside a cluster that is well", () => {
    const tests = text('test', 'deploy', 'alerts.promtool.yaml');
    for (const { alert } of RULES) {
      expect(tests).toMatch(new RegExp(`alertname: ${alert}\\n\\s+exp_alerts:\\n\\s+- exp_labels`));
      expect(tests).toContain(`alertname="${alert}",cluster="north"`);
    }
    for (const { record } of RECORDING_RULES) expect(tests).toContain(`'${record}{cluster="north"`);
  });
});

describe('the runbooks', async () => {
  const known = new Set((await catalogue()).map(({ name }) => name));
  const files = readdirSync(join(ROOT, 'docs', 'runbooks'));

  it('exist for exactly the alerts', () => {
    expect(files.toSorted()).toEqual(RULES.map(({ alert }) => runbookOf(alert)).toSorted());
  });

  it.each(files)('%s states its meaning and what helps, and its links exist', (file) => {
    const book = text('docs', 'runbooks', file);
    expect(book).toMatch(/^# AksAutoscaler\w+\n\nTo end this alert, .+\n\n\*\*Meaning\.\*\*/);
    expect(runbookOf(/^# (\w+)/.exec(book)?.[1] ?? '')).toBe(file);
    for (const word of ['**Look.**', 'helps']) expect(book).toContain(word);
    for (const [, link = ''] of book.matchAll(/\]\((?!https:)([^)#]+)/g))
      expect(existsSync(join(ROOT, 'docs', 'runbooks', link)), link).toBe(true);
    for (const { metric } of seriesIn(book)) expect(known.has(metric) || known.has(familyOf(metric)), metric).toBe(true);
  });

  it('have a row for every reason of failure', () => {
    const book = text('docs', 'runbooks', 'aks-autoscaler-scale-ups-fail.md');
    expect(FAILURE_REASONS.filter((reason) => !book.includes(`\`${reason}\``))).toEqual([]);
  });
});
