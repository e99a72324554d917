/** Creates the program's own metrics from the catalogue. Must not know who sets a metric. */
import { Registry } from 'prom-client';
import { DeferredGauges } from './deferred-gauges.ts';
import { METRIC_CATALOGUE } from './metric-catalogue.ts';
import { createMetricGroup, type MetricsOf } from './metric-specs.ts';

type Catalogue = typeof METRIC_CATALOGUE;

export type Metrics = { readonly registry: Registry; readonly deferred: DeferredGauges } & {
  readonly [Group in keyof Catalogue]: MetricsOf<Catalogue[Group]>;
};

/** Creates every metric in a registry of its own. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const deferred = new DeferredGauges();
  const place = { registry, deferred, prefix: 'aks_autoscaler_' };
  const groups: { [group: string]: unknown } = {};
  for (const [name, group] of Object.entries(METRIC_CATALOGUE)) groups[name] = createMetricGroup(group, place);
  return { registry, deferred, ...(groups as Omit<Metrics, 'registry' | 'deferred'>) };
}
