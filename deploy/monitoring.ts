/** What others need to watch the daemon: objects for the Prometheus operator. */
import { labels, selector } from './objects.ts';
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

/** For those who run without a Service. */
export function podMonitor(n: Notation): readonly Json[] {
  const spec = { ...found(n), podMetricsEndpoints: [endpoint(n, 'podMonitor', 'http')] };
  return [n.when('podMonitor.enabled', { apiVersion: API, kind: 'PodMonitor', metadata: placed(n, 'podMonitor'), spec })];
}

function placed(n: Notation, values: string): JsonMap {
  return {
    name: n.name,
    namespace: namespaceOf(n, values),
    labels: { ...labels(n), ...n.entries(`${values}.selector`) },
    annotations: n.block(`${values}.annotations`),
  };
}

/** Where the operator looks; next to the daemon when nothing is said. */
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
