/**
 * The words in which the Grafana dashboard's rows are written. Every query is of one daemon (`$job`), and those of pools can
 * be narrowed to some (`$node_group`). A test holds each name and label against the catalogue.
 */
export interface Query {
  readonly expr: string;
  /** What Grafana writes beside the line; labels stand in double braces. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** What to see in it, for who has never looked. */
  readonly help: string;
  readonly kind: 'timeseries' | 'stat';
  readonly unit: 'short' | 's' | 'bytes' | 'percentunit' | 'ops' | 'dateTimeAsIso';
  readonly stacked?: true;
  /** Of 24 columns. */
  readonly width: 6 | 8 | 12;
  readonly queries: readonly Query[];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** A window that follows the zoom: for what happens all the time. */
export const RATE = '[$__rate_interval]';
/** Scale-ups are rare: over the usual window their panels would be empty most of the time. */
export const HOUR = '[1h]';

/** A metric of ours with the dashboard's filters, and further matchers. */
export function of(metric: string, ...matchers: readonly string[]): string {
  return `aks_autoscaler_${metric}{${['job="$job"', ...matchers].join(',')}}`;
}

/** Matcher for metrics that have a pool's label. */
export const POOLS = 'node_group=~"$node_group"';

interface Spread {
  readonly window: string;
  /** A label: a line for each of its values. Absent: one line. */
  readonly by?: string;
  readonly matchers?: readonly string[];
}

/** What `part` of the things that a histogram counted, 0 to 1, stayed below. */
export function quantile(part: number, metric: string, { window, by, matchers = [] }: Spread): string {
  const labels = by === undefined ? 'le' : `le, ${by}`;
  return `histogram_quantile(${part}, sum by (${labels}) (increase(${of(`${metric}_bucket`, ...matchers)}${window})))`;
}

/** Lines over time, a third of the dashboard wide unless `rest` says otherwise. */
export function series(title: string, help: string, queries: readonly Query[], rest: Partial<Panel> = {}): Panel {
  return { title, help, kind: 'timeseries', unit: 'short', width: 8, queries, ...rest };
}

/** One number. */
export function stat(title: string, help: string, expr: string, unit: Panel['unit'] = 'short'): Panel {
  return { title, help, kind: 'stat', unit, width: 6, queries: [{ expr, legend: '' }] };
}
