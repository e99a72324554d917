/** Objects that let the Prometheus operator and Grafana monitor the daemon. */
import { alertGroups, runbookOf, type AlertRule } from './alerts.ts';
import { dashboard, fleetDashboard } from './dashboard.ts';
import { annotations, labels, selector } from './objects.ts';
import type { Json, JsonMap, Notation } from './notation.ts';
import { RECORDING_GROUP, RECORDING_RULES } from './recording-rules.ts';

/** The Prometheus operator's. Azure's managed Prometheus reads monitors of its own group, so that both can run in one cluster. */
const OPERATOR = 'monitoring.coreos.com/v1';

export function serviceMonitor(n: Notation): readonly Json[] {
  const port = n.value('service.portName');
  const object = {
    apiVersion: `${n.inline('serviceMonitor.apiGroup')}/v1`,
    kind: 'ServiceMonitor',
    metadata: placed(n, 'serviceMonitor'),
    spec: { ...found(n), endpoints: [endpoint(n, 'serviceMonitor', port)] },
  };
  return [n.when('serviceMonitor.enabled', object)];
}

/** For installations without a Service. */
export function podMonitor(n: Notation): readonly Json[] {
  const spec = { ...found(n), podMetricsEndpoints: [endpoint(n, 'podMonitor', 'http')] };
  const apiVersion = `${n.inline('podMonitor.apiGroup')}/v1`;
  return [n.when('podMonitor.enabled', { apiVersion, kind: 'PodMonitor', metadata: placed(n, 'podMonitor'), spec })];
}

/** The alerts of alerts.ts and the user's own, and what is recorded. Without an address of the runbooks, no alert links to one. */
export function prometheusRule(n: Notation): readonly Json[] {
  const interval = n.when('prometheusRule.interval', n.value('prometheusRule.interval'));
  const alerts = alertGroups().map(({ name, rules }) => ({
    name,
    interval,
    rules: [...rules.map((rule) => withRunbook(rule, n)), ...n.more('prometheusRule.rules')],
  }));
  const recorded = { name: RECORDING_GROUP, interval, rules: RECORDING_RULES.map((rule) => n.literal({ ...rule })) };
  const groups = [...alerts, recorded];
  const metadata = {
    name: n.name,
    namespace: n.orNamespace('prometheusRule.namespace'),
    labels: labels(n, 'prometheusRule.additionalLabels'),
    annotations: annotations(n),
  };
  const object = { apiVersion: OPERATOR, kind: 'PrometheusRule', metadata, spec: { groups } };
  return [n.when('prometheusRule.enabled', object)];
}

const BASE_URL = 'prometheusRule.runbookBaseUrl';

function withRunbook({ annotations: { runbook_url: _url, ...said }, ...rule }: AlertRule, n: Notation): Json {
  const link = n.when(BASE_URL, `${n.inline(BASE_URL)}/${runbookOf(rule.alert)}`);
  const literal = n.literal({ ...rule, annotations: said }) as JsonMap;
  return { ...literal, annotations: { ...(literal['annotations'] as JsonMap), runbook_url: link } };
}

/** For a Grafana whose sidecar collects dashboards from ConfigMaps with a given label. */
export function grafanaDashboard(n: Notation): readonly Json[] {
  const metadata = {
    name: `${n.name}-dashboard`,
    namespace: n.orNamespace('grafanaDashboard.namespace'),
    labels: labels(n, 'grafanaDashboard.labels'),
    annotations: annotations(n, 'grafanaDashboard.annotations'),
  };
  const data = {
    'aks-autoscaler.json': n.literal(JSON.stringify(dashboard())),
    'aks-autoscaler-fleet.json': n.literal(JSON.stringify(fleetDashboard())),
  };
  return [n.when('grafanaDashboard.enabled', { apiVersion: 'v1', kind: 'ConfigMap', metadata, data })];
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
