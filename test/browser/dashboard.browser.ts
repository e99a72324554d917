/** Both dashboards, with a real Prometheus that has scraped two simulated clusters: which panels have data, of which cluster; and their pictures. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dashboard, fleetDashboard } from '../../deploy/dashboard.ts';
import { RECORDING_RULES } from '../../deploy/recording-rules.ts';
import { launchChromium, screenshot } from './chromium.ts';
import { dashboardPage, type AnsweredPanel, type PanelModel } from './dashboard/draw.ts';
import { hasPrometheus, Prometheus } from './dashboard/prometheus.ts';
import { JOB, scrapedClusters } from './dashboard/scraped-clusters.ts';

const NOTE = 'Simulated clusters, an hour in virtual time. Drawn by a test from the JSON of the dashboard and the answers of Prometheus.';
const SHOWN_MS = 65 * 60_000;

let browser: Browser;
let prometheus: Prometheus;
let endMs: number;

describe.skipIf(!hasPrometheus())('the dashboards, with Prometheus', () => {
  beforeAll(async () => {
    const scraped = await scrapedClusters();
    ({ endMs } = scraped);
    prometheus = await Prometheus.start(scraped.scrapes);
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await prometheus?.stop();
  });

  /** As Grafana fills its variables in. Recorded series are computed: nothing has recorded the past. */
  function filled(expr: string, cluster: string): string {
    const computed = RECORDING_RULES.reduce((text, rule) => (text.startsWith(`${rule.record}{`) ? rule.expr : text), expr);
    const values = { $cluster: cluster, $job: JOB, $node_group: '.*', $__rate_interval: '2m' };
    return Object.entries(values).reduce((text, [name, value]) => text.replaceAll(name, value), computed);
  }

  async function answered(model: object, cluster: string): Promise<readonly AnsweredPanel[]> {
    const { panels } = JSON.parse(JSON.stringify(model)) as { readonly panels: readonly PanelModel[] };
    return Promise.all(
      panels.map(async (panel) => {
        const ask = (query: string) =>
          panel.type === 'timeseries' ? prometheus.overTime(query, endMs - SHOWN_MS, endMs) : prometheus.now(query, endMs);
        return { panel, answers: await Promise.all((panel.targets ?? []).map(({ expr }) => ask(filled(expr, cluster)))) };
      }),
    );
  }

  async function draw(title: string, panels: readonly AnsweredPanel[], name: string): Promise<void> {
    const page = await browser.newPage({ viewport: { width: 1400, height: 1660 } });
    await page.setContent(dashboardPage(title, NOTE, panels));
    await screenshot(page, name, false);
    await page.close();
  }

  const withoutData = (panels: readonly AnsweredPanel[]): readonly string[] =>
    panels.flatMap(({ panel, answers }) => (panel.type !== 'row' && answers.every((series) => series.length === 0) ? [panel.title] : []));
  const clustersIn = ({ answers }: AnsweredPanel): readonly string[] =>
    [...new Set(answers.flat().map(({ metric }) => metric['cluster'] ?? ''))].sort();

  it('each panel about one cluster is answered, and only what did not happen has no data', async () => {
    const panels = await answered(dashboard(), 'east');
    await draw('AKS autoscaler', panels, 'dashboard');
    expect(withoutData(panels)).toEqual(['Refused and failed calls']);
  });

  it('the panels about all clusters tell them apart', async () => {
    const panels = await answered(fleetDashboard(), '.*');
    await draw('AKS autoscaler: clusters', panels, 'dashboard-fleet');
    expect(withoutData(panels)).toEqual([]);
    const shown = panels.filter(({ panel: { type } }) => type !== 'row').map((panel) => [panel.panel.title, ...clustersIn(panel)]);
    expect(shown).toEqual(shown.map(([title]) => [title, 'east', 'west']));
  });
});
