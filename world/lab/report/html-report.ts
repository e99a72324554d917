/**
 * The report as one HTML file that needs nothing else: no network, no other file. Its content security policy admits only the script and
 * the style inside it. The verdict and the table need no script; the plots do. Pure.
 */
import { createHash } from 'node:crypto';
import { figureRow, type FigureRow } from './figure-text.ts';
import type { LabReport } from './lab-report.ts';
import { capitalized, HOW_TO_READ } from './markdown-report.ts';
import { plotData } from './plot-data.ts';
import { seedPlots } from './seed-plots.ts';
import { extentText, strengths, verdicts } from './verdict.ts';

/** The bundled script and style of the plots. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

export function htmlReport(report: LabReport, { script, style }: PageAssets): string {
  const { scenario, comparison } = report;
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(`${scenario.name}: ${comparison.policies.join(', ')}`)}</title>
<style>${style}</style>
</head>
<body>
<main>
<header>
<p class="kind">Lab report</p>
<h1>${escaped(scenario.name)}</h1>
${verdicts(report)
  .map((sentence) => `<p class="verdict">${escaped(sentence)}</p>`)
  .join('\n')}
<p class="extent">${escaped(capitalized(scenario.what))}. ${escaped(extentText(report))}.</p>
</header>
${strengthSection(report)}
<section aria-labelledby="figures"><h2 id="figures">Figures</h2>
<div class="scroll">${figureTable(report)}</div></section>
${seedPlots(report)}
<section aria-labelledby="plots"><h2 id="plots">Over time</h2>
<p class="hint">Times are UTC. Lines are means over the seeds, bands reach from the lowest to the highest seed. Drag to zoom, double-click to zoom out.</p>
<noscript><p>The plots need JavaScript, which is part of this file.</p></noscript>
<div id="charts"></div></section>
${listSection('notes', 'Notes', report.notes)}
${listSection('reading', 'How to read it', HOW_TO_READ)}
</main>
<script type="application/json" id="data">${jsonInScript(plotData(report))}</script>
<script>${script}</script>
</body>
</html>
`;
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** No end tag can stand in it. */
function jsonInScript(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function strengthSection(report: LabReport): string {
  const lists = strengths(report).map(
    ({ policy, better, worse, unsure }) => `<div class="strength"><h3>${escaped(policy)}</h3><dl>
<dt class="better">Better</dt><dd>${itemsText(better)}</dd>
<dt class="worse">Worse</dt><dd>${itemsText(worse)}</dd>
<dt>No sure difference</dt><dd>${itemsText(unsure)}</dd></dl></div>`,
  );
  const base = report.comparison.policies[0] ?? '';
  return lists.length === 0
    ? ''
    : `<section aria-labelledby="strengths"><h2 id="strengths">Compared with ${escaped(base)}</h2>${lists.join('\n')}</section>`;
}

function itemsText(items: readonly string[]): string {
  return items.length === 0 ? 'nothing' : items.map(escaped).join('<br>');
}

function figureTable({ comparison, scenario }: LabReport): string {
  const { policies } = comparison;
  const others = policies.slice(1);
  const heads = policies.length === 2 ? ['difference', 'sure'] : others.flatMap((policy) => [`${policy}: difference`, 'sure']);
  const head = ['', ...policies, ...heads].map((text) => `<th scope="col">${escaped(text)}</th>`).join('');
  const rows = comparison.figures.map((figure) => tableRow(figureRow(figure, scenario.currency)));
  return `<table><thead><tr>${head}</tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table>`;
}

function tableRow({ label, values, differences }: FigureRow): string {
  const cells = [
    `<th scope="row">${escaped(label)}</th>`,
    ...values.map((value) => `<td class="number">${value}</td>`),
    ...differences.map(
      ({ difference, sure, better }) =>
        `<td class="number ${better ?? ''}">${difference}</td><td>${sure}${better === undefined ? '' : ` <span class="${better}">${better}</span>`}</td>`,
    ),
  ];
  return `<tr>${cells.join('')}</tr>`;
}

function listSection(id: string, title: string, sentences: readonly string[]): string {
  if (sentences.length === 0) return '';
  const items = sentences.map((sentence) => `<li>${escaped(sentence)}</li>`).join('\n');
  return `<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2><ul>${items}</ul></section>`;
}
