/**
 * The plots of the report, in the browser: one chart after the other, drawn again when the width or the colours of the page change. Must
 * not know what the figures mean, nor how they were measured.
 */
import uPlot from 'uplot';
import type { PlotData } from '../plot-data.ts';
import { chartsOf, type Chart } from './charts.ts';
import { themeOf } from './theme.ts';

const HEIGHT = 220;

function draw(host: HTMLElement, data: PlotData): void {
  const theme = themeOf(document.documentElement);
  const pictures = chartsOf(data, theme).map((chart) => {
    const figure = document.createElement('figure');
    const title = document.createElement('figcaption');
    title.textContent = chart.title;
    figure.append(title);
    return { figure, chart };
  });
  host.replaceChildren(...pictures.map(({ figure }) => figure));
  for (const { figure, chart } of pictures) plot(figure, chart);
}

function plot(figure: HTMLElement, { title, options, values }: Chart): void {
  const drawn = new uPlot({ ...options, width: figure.clientWidth, height: HEIGHT }, values, figure);
  const canvas = drawn.root.querySelector('canvas');
  canvas?.setAttribute('role', 'img');
  canvas?.setAttribute('aria-label', title);
  new ResizeObserver(() => {
    if (figure.clientWidth > 0 && figure.clientWidth !== drawn.width) drawn.setSize({ width: figure.clientWidth, height: HEIGHT });
  }).observe(figure);
}

const host = document.getElementById('charts');
const data = document.getElementById('data');
if (host !== null && data !== null) {
  const plots = JSON.parse(data.textContent ?? '') as PlotData;
  draw(host, plots);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(host, plots));
}
