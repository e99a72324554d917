/**
 * Draws a dashboard from its JSON and from a Prometheus' answers, for a picture of it where there is no Grafana: the same panels, places,
 * units and legends, in plain style. Must not know which dashboard it is.
 */
import type { Series } from './prometheus.ts';

export interface PanelModel {
  readonly type: 'row' | 'stat' | 'timeseries' | 'table';
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: {
    readonly defaults: { readonly unit: string; readonly custom?: { readonly stacking: { readonly mode: string } } };
  };
  readonly transformations?: readonly {
    readonly id: string;
    readonly options: { readonly renameByName?: Readonly<Record<string, string>> };
  }[];
}

/** A panel with what its queries returned, in their order. */
export interface AnsweredPanel {
  readonly panel: PanelModel;
  readonly answers: readonly (readonly Series[])[];
}

const COLUMN = 58;
const ROW = 34;
const COLOURS = [
  '#73bf69',
  '#f2cc0c',
  '#5794f2',
  '#ff9830',
  '#f2495c',
  '#b877d9',
  '#8ab8ff',
  '#96d98d',
  '#ffb357',
  '#fade2a',
  '#c0d8ff',
  '#ff7383',
];
const STYLE = `body{margin:0;background:#111217;color:#ccccdc;font:12px Inter,Helvetica,Arial,sans-serif}
h1{font-size:18px;margin:12px 12px 4px;font-weight:500}p{margin:0 12px 8px;color:#9d9da8}
#all{position:relative}.p{position:absolute;background:#181b1f;border:1px solid #2c2f36;border-radius:2px;overflow:hidden;box-sizing:border-box}
.p h2{font-size:12px;font-weight:500;margin:6px 8px 2px}.row{position:absolute;font-size:15px;font-weight:500;padding:8px 4px}
.stat{font-size:34px;text-align:center;color:#73bf69;padding-top:14px}.none{text-align:center;color:#6e6e78;padding-top:30px}
.legend{padding:0 8px;height:34px;overflow:hidden;line-height:16px}.legend span{margin-right:10px;white-space:nowrap}.legend i{display:inline-block;width:12px;height:3px;margin-right:4px;vertical-align:middle}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:5px 8px;border-bottom:1px solid #2c2f36;font-weight:400}th{color:#6e9fff}svg text{fill:#9d9da8;font-size:10px}`;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** The whole page. `note`: said below the title. */
export function dashboardPage(title: string, note: string, panels: readonly AnsweredPanel[]): string {
  const bottom = Math.max(...panels.map(({ panel: { gridPos } }) => gridPos.y + gridPos.h));
  const body = panels.map(panelHtml).join('\n');
  return `<!doctype html><meta charset="utf-8"><title>${escaped(title)}</title><style>${STYLE}</style>
<h1>${escaped(title)}</h1><p>${escaped(note)}</p><div id="all" style="width:${24 * COLUMN}px;height:${bottom * ROW + 8}px">${body}</div>`;
}

function panelHtml(answered: AnsweredPanel): string {
  const { type, title, gridPos } = answered.panel;
  const place = `left:${gridPos.x * COLUMN + 4}px;top:${gridPos.y * ROW}px;width:${gridPos.w * COLUMN - 8}px;height:${gridPos.h * ROW - 6}px`;
  if (type === 'row') return `<div class="row" style="${place}">${escaped(title)}</div>`;
  return `<div class="p" style="${place}"><h2>${escaped(title)}</h2>${insideOf(answered)}</div>`;
}

function insideOf(answered: AnsweredPanel): string {
  if (answered.answers.every((series) => series.length === 0)) return '<div class="none">No data</div>';
  switch (answered.panel.type) {
    case 'stat':
      return `<div class="stat">${inUnit(answered.answers[0]?.[0]?.values.at(-1)?.[1] ?? Number.NaN, unitOf(answered))}</div>`;
    case 'table':
      return tableHtml(answered);
    default:
      return chartHtml(answered);
  }
}

const unitOf = ({ panel }: AnsweredPanel): string => panel.fieldConfig?.defaults.unit ?? 'short';

function inUnit(value: number, unit: string): string {
  if (!Number.isFinite(value)) return '-';
  const short = (number: number): string => `${Number(number.toPrecision(3))}`;
  switch (unit) {
    case 's':
      return value >= 3_600 ? `${short(value / 3_600)} h` : value >= 120 ? `${short(value / 60)} min` : `${short(value)} s`;
    case 'bytes':
      return value >= 2 ** 30 ? `${short(value / 2 ** 30)} GiB` : `${short(value / 2 ** 20)} MiB`;
    case 'percentunit':
      return `${short(value * 100)}%`;
    case 'ops':
      return `${short(value)}/s`;
    default:
      return short(value);
  }
}

interface Line {
  readonly name: string;
  readonly values: Series['values'];
}

function linesOf({ panel: { targets = [] }, answers }: AnsweredPanel): readonly Line[] {
  return answers.flatMap((series, index) =>
    series.map(({ metric, values }) => {
      const legend = targets[index]?.legendFormat ?? '';
      return { name: legend.replaceAll(/\{\{(\w+)\}\}/g, (_whole, label: string) => metric[label] ?? ''), values };
    }),
  );
}

/** Values of the same second are added where lines are stacked. */
function stackedOn(lines: readonly Line[], isStacked: boolean): readonly Line[] {
  const sums = new Map<number, number>();
  return lines.map(({ name, values }) => ({
    name,
    values: values.map(([at, value]) => {
      const sum = value + (sums.get(at) ?? 0);
      if (isStacked) sums.set(at, sum);
      return [at, sum] as const;
    }),
  }));
}

/** A round number, of which four reach the highest value. */
function tickOf(highest: number): number {
  const least = highest > 0 ? highest / 4 : 0.25;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 2.5, 5].find((round) => round * power >= least) ?? 10) * power;
}

function chartHtml(answered: AnsweredPanel): string {
  const { gridPos, fieldConfig } = answered.panel;
  const isStacked = fieldConfig?.defaults.custom?.stacking.mode === 'normal';
  const lines = stackedOn(linesOf(answered), isStacked);
  const points = lines.flatMap(({ values }) => values).filter(([, value]) => Number.isFinite(value));
  const [from, to] = [Math.min(...points.map(([at]) => at)), Math.max(...points.map(([at]) => at))];
  const tick = tickOf(Math.max(...points.map(([, value]) => value)));
  const highest = tick * 4;
  const [width, height] = [gridPos.w * COLUMN - 70, gridPos.h * ROW - 90];
  const x = (at: number): number => 50 + ((at - from) / Math.max(1, to - from)) * width;
  const y = (value: number): number => 4 + height - (Math.max(0, value) / highest) * height;
  const grid = [0, 1, 2, 3].map((count) => {
    const value = tick * count;
    return `<path d="M50 ${y(value)}H${50 + width}" stroke="#2c2f36"/><text x="46" y="${y(value) + 3}" text-anchor="end">${inUnit(value, unitOf(answered))}</text>`;
  });
  const times = [0, 0.5, 1].map((part) => {
    const at = from + (to - from) * part;
    const anchor = part === 0 ? 'start' : part === 1 ? 'end' : 'middle';
    return `<text x="${x(at)}" y="${height + 18}" text-anchor="${anchor}">${new Date(at * 1000).toISOString().slice(11, 16)}</text>`;
  });
  const paths = lines.map(({ values }, index) => {
    const seen = values.filter(([, value]) => Number.isFinite(value));
    const path = seen.map(([at, value], place) => `${place === 0 ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join('');
    const colour = COLOURS[index % COLOURS.length] ?? '';
    const [first, last] = [seen[0], seen.at(-1)];
    const area =
      isStacked && first !== undefined && last !== undefined
        ? `<path d="${path}L${x(last[0])} ${y(0)}L${x(first[0])} ${y(0)}Z" fill="${colour}" opacity=".25"/>`
        : '';
    return `${area}<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
  });
  const legend = lines.map(
    ({ name }, index) => `<span><i style="background:${COLOURS[index % COLOURS.length]}"></i>${escaped(name)}</span>`,
  );
  // The first lie below, so that the later sums do not hide them.
  return `<svg width="${gridPos.w * COLUMN - 12}" height="${height + 24}">${grid.join('')}${times.join('')}${paths.toReversed().join('')}</svg><div class="legend">${legend.join('')}</div>`;
}

/** One row for each combination of labels, a column for each query, as the transformations ask. */
function tableHtml({ panel: { targets = [], transformations = [] }, answers }: AnsweredPanel): string {
  const names = transformations.find(({ id }) => id === 'organize')?.options.renameByName ?? {};
  const rows = new Map<string, { readonly metric: Series['metric']; readonly cells: string[] }>();
  answers.forEach((series, index) => {
    for (const { metric, values } of series) {
      const key = JSON.stringify(Object.entries(metric).toSorted(([left], [right]) => left.localeCompare(right)));
      const row = rows.get(key) ?? { metric, cells: targets.map(() => '') };
      row.cells[index] = inUnit(values.at(-1)?.[1] ?? Number.NaN, 'short');
      rows.set(key, row);
    }
  });
  const labels = [...new Set([...rows.values()].flatMap(({ metric }) => Object.keys(metric)))];
  const heads = [...labels, ...targets.map(({ refId }) => names[`Value #${refId}`] ?? refId)];
  const body = [...rows.values()].map(({ metric, cells }) => [...labels.map((label) => metric[label] ?? ''), ...cells]);
  const line = (tag: string, cells: readonly string[]): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join('')}</tr>`;
  return `<table>${line('th', heads)}${body.map((cells) => line('td', cells)).join('')}</table>`;
}
