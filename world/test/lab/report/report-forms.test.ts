import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { compareRuns } from '../../../lab/judge/comparison.ts';
import { buildCharts } from '../../../lab/report/build-charts.ts';
import { figureRow } from '../../../lab/report/figure-text.ts';
import { htmlReport, type PageAssets } from '../../../lab/report/html-report.ts';
import { jsonReport } from '../../../lab/report/lab-report.ts';
import { markdownReport } from '../../../lab/report/markdown-report.ts';
import { plotData } from '../../../lab/report/plot-data.ts';
import { aRun } from '../judge/builders.ts';
import { aReport } from './builders.ts';

const COSTS = [89, 88.9, 89.1].map((costPerDay) => ({ costPerDay }));
/** Scripts and markup in a file's name, in a note, and in the scenario's name. */
const HOSTILE = '</script><img src=x onerror=alert(1)>"|`';

function hostileReport() {
  const report = aReport(COSTS);
  const runs = report.runs.map((run) => ({ ...run, policy: run.policy === 'proposed' ? HOSTILE : run.policy }));
  return {
    ...report,
    scenario: { ...report.scenario, name: HOSTILE },
    runs,
    comparison: compareRuns(['current', HOSTILE], runs),
    notes: [HOSTILE],
  };
}

describe('the Markdown report', () => {
  it('begins with the verdict and has every figure', () => {
    const lines = markdownReport(aReport(COSTS)).split('\n');
    expect(lines.slice(0, 8)).toEqual([
      '# office-week: current and proposed',
      '',
      '**proposed compared with current: 11.0 % less cost (sure, 3 of 3 seeds); the same waiting.**',
      '',
      'Services that follow office hours. 7 virtual days, 3 seeds, 0 unsafe writes in both.',
      '',
      '| Figure | current | proposed | Difference | Sure |',
      '| --- | ---: | ---: | ---: | --- |',
    ]);
    // Unsafe writes and interrupted jobs are first.
    expect(lines[10]).toBe('| Cost, USD/day | 100.0 | 89.0 | -11.0 % | yes, 3 of 3 |');
    expect(lines).toContain('- Better: Cost, USD/day (-11.0 %)');
    expect(lines.filter((line) => line.startsWith('| '))).toHaveLength(2 + 15);
  });

  it('escapes names', () => {
    expect(markdownReport(hostileReport())).not.toMatch(/[^\\]<img/);
  });
});

describe('the HTML report', () => {
  let assets: PageAssets;
  beforeAll(async () => {
    assets = await buildCharts();
  });

  it('needs no network, and admits only its own script and style', () => {
    const html = htmlReport(aReport(COSTS), assets);
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1] ?? '';
    const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    const script = /<script>([\s\S]*?)<\/script>/.exec(html)?.[1] ?? '';
    const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? '';
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src ${hashOf(script)}`,
      `style-src ${hashOf(style)}`,
      "base-uri 'none'",
      "form-action 'none'",
    ]);
    const markup = html.replace(script, '').replace(style, '');
    expect(markup).not.toMatch(/\b(?:src|href)=|url\(|@import|style="|\bon[a-z]+="/);
    expect(style).not.toMatch(/url\(|@import/);
    expect(html.length).toBeLessThan(200_000);
  });

  it('shows the verdict before any figure, without a script', () => {
    const html = htmlReport(aReport(COSTS), assets);
    expect(
      html.indexOf('<p class="verdict">proposed compared with current: 11.0 % less cost (sure, 3 of 3 seeds); the same waiting.</p>'),
    ).toBeLessThan(html.indexOf('<table'));
    expect(html).toContain('<td class="number better">-11.0 %</td><td>yes, 3 of 3 <span class="better">better</span></td>');
    expect(html.match(/<circle /g)).toHaveLength(3);
  });

  it('escapes names everywhere', () => {
    const html = htmlReport(hostileReport(), { script: '', style: '' });
    expect(html).not.toContain('<img');
    expect(html.match(/<script/g)).toHaveLength(2);
    const data = /id="data">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? '';
    expect((JSON.parse(data) as ReturnType<typeof plotData>).policies[1]?.name).toBe(HOSTILE);
  });
});

describe('the JSON report', () => {
  it('is the same for the same runs, and has a format and a version', () => {
    const text = jsonReport(aReport(COSTS));
    expect(jsonReport(aReport(COSTS))).toBe(text);
    expect(JSON.parse(text)).toMatchObject({ format: 'aks-autoscaler-lab', version: 1, comparison: { seeds: [1, 2, 3] } });
  });
});

describe('the data of the plots', () => {
  it('has the mean, the lowest and the highest seed', () => {
    const report = aReport([{}, {}]);
    const runs = report.runs.map((run) => ({
      ...run,
      samples: run.samples.map((sample) => ({ ...sample, pending: run.seed, nodes: { general: run.seed * 2, system: 1 } })),
    }));
    const { times, policies } = plotData({ ...report, runs });
    expect(times.slice(0, 2)).toEqual([Date.UTC(2026, 0, 5) / 1000, Date.UTC(2026, 0, 5, 6) / 1000]);
    expect(policies[0]).toMatchObject({ name: 'current', pending: { mean: [1.5, 1.5, 1.5, 1.5], low: [1, 1, 1, 1], high: [2, 2, 2, 2] } });
    expect(policies[0]?.pools).toEqual({ general: [3, 3, 3, 3], system: [1, 1, 1, 1] });
    expect(policies[0]?.nodes.high).toEqual([5, 5, 5, 5]);
    expect(policies[0]?.waits).toHaveLength(101);
  });

  it('survives runs of other lengths', () => {
    const short = { ...aRun('proposed', 1, {}), samples: [] };
    const report = aReport([{}]);
    expect(plotData({ ...report, runs: [report.runs[0]!, short] }).policies[1]?.nodes.mean).toEqual([0, 0, 0, 0]);
  });
});

it('shows small counts with a decimal, so that their difference is what the values show', () => {
  const others = [0.6, 0.6, 0.6].map((interrupted) => ({ hours: 24, jobs: { finished: 50, interrupted } }));
  const [row] = aReport(others)
    .comparison.figures.filter(({ key }) => key === 'interruptedPerDay')
    .map((figure) => figureRow(figure, 'USD'));
  expect([row?.values, row?.differences[0]?.difference]).toEqual([['2.0', '0.6'], '-1.4']);
});
