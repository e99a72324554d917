/** Which charts the report has, as options and values of the plotting library. */
import type uPlot from 'uplot';
import type { Band, PlotData, PolicyPlots } from '../plot-data.ts';
import type { Theme } from './theme.ts';

export interface Chart {
  readonly title: string;
  readonly options: Omit<uPlot.Options, 'width' | 'height'>;
  readonly values: uPlot.AlignedData;
}

/** The second policy and so on also differ by their dashes: colour alone shows nothing to some people. */
const DASHES: readonly number[][] = [[], [6, 4], [2, 3], [8, 3, 2, 3]];
const AXIS_FONT = '12px system-ui, sans-serif';
const LINE_WIDTH = 1.6;

export function chartsOf(data: PlotData, theme: Theme): readonly Chart[] {
  const over = (title: string, of: (policy: PolicyPlots) => Band): Chart => bandChart(data, theme, { title, of });
  return [
    over(`Cost, ${data.currency} per hour`, ({ cost }) => cost),
    over('Nodes', ({ nodes }) => nodes),
    vcpuChart(data, theme),
    over('Pending pods', ({ pending }) => pending),
    waitChart(data, theme),
    ...data.policies.map((policy) => poolChart(data, theme, policy)),
  ];
}

function frame(theme: Theme): Pick<uPlot.Options, 'axes' | 'cursor' | 'legend'> {
  const axis = { stroke: theme.text, font: AXIS_FONT, grid: { stroke: theme.grid, width: 1 }, ticks: { stroke: theme.grid, width: 1 } };
  const times = { ...axis, values: (_plot: uPlot, splits: number[]) => splits.map(timeLabel) };
  return { axes: [times, { ...axis, size: 56 }], cursor: { points: { size: 6 } }, legend: { live: true } };
}

const DAY_SECONDS = 86_400;
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** The axis of time counts in UTC, as the scenario does, and marks whole hours and days. */
const utc: NonNullable<uPlot.Options['tzDate']> = (seconds) => {
  const date = new Date(seconds * 1_000);
  return new Date(date.getTime() + date.getTimezoneOffset() * 60_000);
};

/** `Mon 5` at midnight, else `08:30`. */
function timeLabel(seconds: number): string {
  const date = new Date(seconds * 1_000);
  return seconds % DAY_SECONDS === 0 ? dayLabel(date) : date.toISOString().slice(11, 16);
}

function dayLabel(date: Date): string {
  return `${DAYS[date.getUTCDay()] ?? ''} ${date.getUTCDate()}`;
}

const time: uPlot.Series = {
  label: 'UTC',
  value: (_plot, seconds) =>
    seconds === null ? '' : `${dayLabel(new Date(seconds * 1_000))}, ${new Date(seconds * 1_000).toISOString().slice(11, 16)}`,
};

interface LineInput {
  readonly label: string;
  readonly at: number;
}

function line(theme: Theme, { label, at }: LineInput): uPlot.Series {
  return {
    label,
    stroke: theme.line(at),
    width: LINE_WIDTH,
    dash: DASHES[at % DASHES.length] ?? [],
    points: { show: false },
    value: shown,
  };
}

function shown(_plot: uPlot, value: number | null): string {
  return value === null ? '' : String(Math.round(value * 100) / 100);
}

/** Invisible edges of a band, which the legend leaves out by the style sheet. */
const edge: uPlot.Series = { show: true, stroke: 'transparent', width: 0, points: { show: false }, class: 'edge' };

function bandChart(
  { times, policies }: PlotData,
  theme: Theme,
  { title, of }: { readonly title: string; readonly of: (policy: PolicyPlots) => Band },
): Chart {
  const bands = policies.map((_, at): uPlot.Band => ({ series: [at * 3 + 3, at * 3 + 2], fill: theme.band(at) }));
  return {
    title,
    options: {
      ...frame(theme),
      tzDate: utc,
      scales: { y: { range: fromZero } },
      series: [time, ...policies.flatMap(({ name }, at) => [line(theme, { label: name, at }), edge, edge])],
      bands,
    },
    values: [[...times], ...policies.map(of).flatMap(({ mean, low, high }) => [[...mean], [...low], [...high]])],
  };
}

/** From 0 to a little above the highest value. */
function fromZero(_plot: uPlot, _low: number | null, high: number | null): uPlot.Range.MinMax {
  return [0, Math.max(1, (high ?? 0) * 1.08)];
}

function vcpuChart({ times, policies }: PlotData, theme: Theme): Chart {
  const [first] = policies;
  const requested = {
    label: 'requested by pods',
    stroke: theme.quiet,
    width: LINE_WIDTH,
    points: { show: false },
    fill: `${theme.quiet}33`,
    value: shown,
  };
  return {
    title: 'vCPU bought and requested',
    options: {
      ...frame(theme),
      tzDate: utc,
      scales: { y: { range: fromZero } },
      series: [time, requested, ...policies.map(({ name }, at) => line(theme, { label: name, at }))],
    },
    values: [[...times], [...(first?.requested.mean ?? [])], ...policies.map(({ vcpus }) => [...vcpus.mean])],
  };
}

/** The slower half of the pods: the faster one waits for nothing in most clusters. */
const FIRST_PERCENT = 50;

function waitChart({ policies }: PlotData, theme: Theme): Chart {
  const percents = Array.from({ length: 101 - FIRST_PERCENT }, (_, at) => FIRST_PERCENT + at);
  const base = frame(theme);
  const [bottom = {}, left = {}] = base.axes ?? [];
  return {
    title: 'Seconds that so many percent of the pods waited at most',
    options: {
      ...base,
      scales: { x: { time: false }, y: { range: fromZero } },
      axes: [{ ...bottom, values: (_plot, splits) => splits.map((split) => `${split} %`) }, left],
      series: [{ label: 'percent' }, ...policies.map(({ name }, at) => line(theme, { label: name, at }))],
    },
    values: [percents, ...policies.map(({ waits }) => percents.map((percent) => waits[percent] ?? 0))],
  };
}

function poolChart({ times, policies }: PlotData, theme: Theme, { name, pools }: PolicyPlots): Chart {
  const highest = Math.max(1, ...policies.flatMap((policy) => Object.values(policy.pools).flatMap((counts) => Math.max(...counts))));
  return {
    title: `Nodes by pool: ${name}`,
    options: {
      ...frame(theme),
      tzDate: utc,
      // All policies have the same scale.
      scales: { y: { range: () => [0, highest * 1.08] } },
      series: [time, ...Object.keys(pools).map((pool, at) => line(theme, { label: pool, at }))],
    },
    values: [[...times], ...Object.values(pools).map((counts) => [...counts])],
  };
}
