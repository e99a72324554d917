/** Turns metrics described as data into typed prom-client metrics. Must not know any single metric. */
import { Counter, Gauge, Histogram, Summary, type Registry } from 'prom-client';
import type { DeferredGauges } from './deferred-gauges.ts';
import { Means } from './derived-counter.ts';

interface CommonSpec {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

type MetricSpec =
  | (CommonSpec & { readonly type: 'counter' | 'gauge' })
  | (CommonSpec & { readonly type: 'histogram'; readonly buckets: readonly number[] })
  | (CommonSpec & { readonly type: 'means'; readonly labels: readonly string[] })
  /** Quantiles over the last hour. */
  | (CommonSpec & { readonly type: 'quantiles'; readonly quantiles: readonly number[] });

export type MetricGroup = Readonly<Record<string, MetricSpec>>;
export type MetricGroups = Readonly<Record<string, MetricGroup>>;

/** Without labels any are accepted, as in prom-client. */
type LabelsOf<Spec> = Spec extends { readonly labels: readonly (infer Label extends string)[] } ? Label : string;

interface MetricTypes<Label extends string> {
  readonly counter: Counter<Label>;
  readonly gauge: Gauge<Label>;
  readonly histogram: Histogram<Label>;
  readonly means: Means<Label>;
  readonly quantiles: Summary<Label>;
}

type MetricOf<Spec extends MetricSpec> = MetricTypes<LabelsOf<Spec>>[Spec['type']];

/** The metrics of a group, under the same keys as their descriptions. */
export type MetricsOf<Group extends MetricGroup> = { readonly [Key in keyof Group]: MetricOf<Group[Key]> };

const HOUR_SECONDS = 3600;

interface MetricGroupPlace {
  readonly registry: Registry;
  readonly prefix: string;
  /** What is published before a gauge is read. */
  readonly deferred: DeferredGauges;
}

/** Registers every metric of the group. */
export function createMetricGroup<const Group extends MetricGroup>(group: Group, place: MetricGroupPlace): MetricsOf<Group> {
  const metrics: { [key: string]: unknown } = {};
  for (const [key, spec] of Object.entries(group)) metrics[key] = createMetric(spec, place);
  return metrics as MetricsOf<Group>;
}

function createMetric(spec: MetricSpec, { registry, prefix, deferred }: MetricGroupPlace): MetricTypes<string>[MetricSpec['type']] {
  const common = { name: `${prefix}${spec.name}`, help: spec.help, labelNames: [...(spec.labels ?? [])], registers: [registry] };
  switch (spec.type) {
    case 'counter':
      return new Counter(common);
    case 'gauge':
      return new Gauge({ ...common, collect: () => deferred.publish() });
    case 'histogram':
      return new Histogram({ ...common, buckets: [...spec.buckets] });
    case 'means':
      return new Means(common, registry);
    case 'quantiles':
      return new Summary({ ...common, percentiles: [...spec.quantiles], maxAgeSeconds: HOUR_SECONDS, ageBuckets: 5 });
  }
}
