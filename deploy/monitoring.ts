/** Objects that let the Prometheus operator and Grafana monitor the daemon. */
import { alertGroups } from './alerts.ts';
import { dashboard } from './dashboard.ts';
import { annotations, labels, selector } from './objects.ts';
import type { Json, JsonMap, Notation } from './notation.ts';

const API = 'monitoring.coreos.com/v1';

export function serviceMonitor(n: Notation): readonly Json[] {
  const port = n.value('service.portName');
  const object = {
    apiVersion: API,
    kind: 'ServiceMonitor',
    metadata: placed(n, 'serviceMonitor'),
    spec: { ...found(n), endpoints: [endpoint(n, 'serviceMonitor', port)] },
  };
  return [n.when('serviceMonitor.enabled', object)];
}

/** For installations without a Service. */
export function podMonitor(n: Notation): readonly Json[] {
  const spec = { ...found(n), podMetricsEndpoints: [endpoint(n, 'podMonitor', 'http')] };
  return [n.when('podMonitor.enabled', { apiVersion: API, kind: 'PodMonitor', metadata: placed(n, 'podMonitor'), spec })];
}

/** The alerts of alerts.ts and the user's own. */
export function prometheusRule(n: Notation): readonly Json[] {
  const runbooks = n.inline('prometheusRule.runbooks');
  const groups = alertGroups(RUNBOOKS).map(({ name, rules }) => ({
    name,
    interval: n.when('prometheusRule.interval', n.value('prometheusRule.interval')),
    rules: [...rules.map((rule) => replaced(n.literal({ ...rule }), runbooks)), ...n.more('prometheusRule.rules')],
  }));
  const metadata = {
    name: n.name,
    namespace: n.orNamespace('prometheusRule.namespace'),
    labels: labels(n, 'prometheusRule.additionalLabels'),
    annotations: annotations(n),
  };
  return [n.when('prometheusRule.enabled', { apiVersion: API, kind: 'PrometheusRule', metadata, spec: { groups } })];
}

/** For a Grafana whose sidecar collects dashboards from ConfigMaps with a given label. */
export function grafanaDashboard(n: Notation): readonly Json[] {
  const metadata = {
    name: `${n.name}-dashboard`,
    namespace: n.orNamespace('grafanaDashboard.namespace'),
    labels: labels(n, 'grafanaDashboard.labels'),
    annotations: annotations(n, 'grafanaDashboard.annotations'),
  };
  const data = { 'aks-autoscaler.json': n.literal(JSON.stringify(dashboard())) };
  return [n.when('grafanaDashboard.enabled', { apiVersion: 'v1', kind: 'ConfigMap', metadata, data })];
}

/** Placeholder for the address of the runbooks until the rest of the text is escaped for Helm. */
const RUNBOOKS = '@runbooks@';

function replaced(json: Json, runbooks: string): Json {
  if (typeof json === 'string') return json.replaceAll(RUNBOOKS, runbooks);
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map((item: Json) => replaced(item, runbooks));
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, replaced(value, runbooks)]));
}

function placed(n: Notation, values: string): JsonMap {
  return {
    name: n.name,
    namespace: namespaceOf(n, values),
    labels: labels(n, `${values}.selector`),
    annotations: annotations(n, `${values}.annotations`),
  };
}

/** The namespace that the operator reads; by default the daemon's. */
function namespaceOf(n: Notation, values: string): Json {
  return n.orNamespace(`${values}.namespace`);
}

function found(n: Notation): JsonMap {
  return { namespaceSelector: { matchNames: [n.namespace] }, selector: { matchLabels: selector(n) } };
}

function endpoint(n: Notation, values: string, port: Json): Json {
  return {
    port,
    path: n.value(`${values}.path`),
    interval: n.value(`${values}.interval`),
    relabelings: n.block(`${values}.relabelings`),
    metricRelabelings: n.block(`${values}.metricRelabelings`),
  };
}
