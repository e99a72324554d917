/** Results of `query_range` of Prometheus, as its API returns them. Must not know what the metrics mean. */
import { configError } from '../../../src/lib/errors.ts';

/** Changes of one series: a sample equal to the one before is left out. */
export interface MetricSeries {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Of the first and of the last sample, milliseconds since the epoch. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly changes: readonly { readonly atMs: number; readonly value: number }[];
  /** The smallest time between two samples, milliseconds. Infinite with one sample. */
  readonly stepMs: number;
}

/** Whether the text may be such a result. It begins with its status. */
export function isPrometheusResult(head: string): boolean {
  return /^\s*\{\s*"status"\s*:/.test(head) && !/"kind"\s*:/.test(head.slice(0, 200));
}

/** @throws AutoscalerError `config` with one sentence if it is a failure or not a range. */
export function readPrometheusResult(file: string, text: string): readonly MetricSeries[] {
  const { status, error, data } = parse(file, text);
  if (status !== 'success')
    throw configError(`${file} is a failed query of Prometheus${error === undefined ? '' : ` (${error})`}; query again.`);
  if (data?.resultType !== 'matrix' || !Array.isArray(data.result))
    throw configError(`${file} is a result of type ${String(data?.resultType)}; it must be the matrix that query_range returns.`);
  return data.result.flatMap((each: unknown, index) => seriesOf(file, each, index));
}

interface ResultJson {
  readonly status?: string;
  readonly error?: string;
  readonly data?: { readonly resultType?: unknown; readonly result?: unknown };
}

function parse(file: string, text: string): ResultJson {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch (cause) {
    throw configError(`${file} is not valid JSON: ${cause instanceof Error ? cause.message : String(cause)}.`, { cause });
  }
  throw configError(`${file} is not a result of Prometheus.`);
}

interface SeriesJson {
  readonly metric?: Readonly<Record<string, string>>;
  readonly values?: readonly (readonly [number, string])[];
}

function seriesOf(file: string, json: unknown, index: number): readonly MetricSeries[] {
  const { metric, values } = (typeof json === 'object' && json !== null ? json : {}) as SeriesJson;
  const { __name__: name, ...labels } = metric ?? {};
  if (name === undefined || !Array.isArray(values))
    throw configError(
      `${file}: series ${index} has no ${name === undefined ? 'name: query the metric itself, without a function' : 'values'}.`,
    );
  const samples = values.map(([seconds, value]) => ({ atMs: Math.round(seconds * 1_000), value: Number(value) }));
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return [];
  const changes = samples.filter(({ value }, at) => value !== samples[at - 1]?.value);
  const stepMs = samples.reduce((least, { atMs }, at) => Math.min(least, atMs - (samples[at - 1]?.atMs ?? -Infinity)), Infinity);
  return [{ stepMs, metric: name, labels, firstMs: first.atMs, lastMs: last.atMs, changes }];
}
