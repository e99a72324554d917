/**
 * Helpers that define the rows of the Grafana dashboard. Every query selects one daemon (`$cluster` and `$job`). Queries about pools can
 * be narrowed to some pools (`$node_group`). A test compares each name and label with the metric catalogue.
 */
export interface Query {
  readonly expr: string;
  /** The text beside the line; labels are in double braces. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** Explains the panel to a first-time reader. */
  readonly help: string;
  readonly kind: 'timeseries' | 'stat' | 'table';
  readonly unit: 'short' | 's' | 'bytes' | 'percentunit' | 'ops' | 'dateTimeAsIso';
  readonly stacked?: true;
  /** Columns, of 24 in a row. */
  readonly width: 6 | 8 | 12 | 24;
  /** In rows of Grafana's grid. If absent, that of its kind. */
  readonly height?: number;
  readonly queries: readonly Query[];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** A window that follows the zoom, for frequent events. */
export const RATE = '[$__rate_interval]';
/** Scale-ups are rare: with the usual window their panels would mostly be empty. */
export const HOUR = '[1h]';

/** One of our metrics with the dashboard's filters and further matchers. */
export function of(metric: string, ...matchers: readonly string[]): string {
  return `aks_autoscaler_${metric}{${['cluster=~"$cluster"', 'job="$job"', ...matchers].join(',')}}`;
}

/** Matcher for metrics with a pool label. */
export const POOLS = 'node_group=~"$node_group"';

interface Spread {
  readonly window: string;
  /** A label: one line for each of its values. If absent, one line. */
  readonly by?: string;
  readonly matchers?: readonly string[];
}

/** The `part` quantile of a histogram, 0 to 1. */
export function quantile(part: number, metric: string, { window, by, matchers = [] }: Spread): string {
  const labels = by === undefined ? 'le' : `le, ${by}`;
  return `histogram_quantile(${part}, sum by (${labels}) (increase(${of(`${metric}_bucket`, ...matchers)}${window})))`;
}

/** Lines over time. A third of the dashboard wide, unless `rest` sets another width. */
export function series(title: string, help: string, queries: readonly Query[], rest: Partial<Panel> = {}): Panel {
  return { title, help, kind: 'timeseries', unit: 'short', width: 8, queries, ...rest };
}

/** One number. */
export function stat(title: string, help: string, expr: string, unit: Panel['unit'] = 'short'): Panel {
  return { title, help, kind: 'stat', unit, width: 6, queries: [{ expr, legend: '' }] };
}

/** A row for each combination of labels, a column for each query; `legend` is its heading. */
export function table(title: string, help: string, queries: readonly Query[], height = 12): Panel {
  return { title, help, kind: 'table', unit: 'short', width: 24, height, queries };
}
