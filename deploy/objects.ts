/**
 * The daemon's objects in a cluster, except its pods (pod.ts) and its monitoring (monitoring.ts). Each is defined once, in a
 * notation that is read twice: with plain values for `kubectl apply -k`, and as Helm's expressions for the chart.
 * Must not know files.
 */
import { CLUSTER_RULES, NAMESPACE_RULES, type Rule } from '../src/cli/doctor/required-access.ts';
import { STATUS_NAME } from '../src/planning/explain/scale-up-events.ts';
import { STATUS_MAP_NAME } from './extra-args.ts';
import type { Condition, Json, JsonMap, Notation } from './notation.ts';

const LABEL = 'app.kubernetes.io/name';
/** The port of metrics and health. */
export const PORT = 8085;

export { CLUSTER_RULES, NAMESPACE_RULES, type Rule };

/** The name that the priority expander reads, here and in the Cluster Autoscaler. */
const PRIORITIES = 'cluster-autoscaler-priority-expander';

export function rbac(n: Notation): readonly Json[] {
  const subject = { kind: 'ServiceAccount', name: n.serviceAccount, namespace: n.namespace };
  const group = 'rbac.authorization.k8s.io';
  const api = `${group}/v1`;
  const cluster = { name: n.name, labels: labels(n) };
  const roles: readonly Json[] = [
    { apiVersion: api, kind: 'ClusterRole', metadata: cluster, rules: [...CLUSTER_RULES, ...n.more('rbac.additionalRules')] },
    {
      apiVersion: api,
      kind: 'ClusterRoleBinding',
      metadata: cluster,
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: n.name },
      subjects: [subject],
    },
    { apiVersion: api, kind: 'Role', metadata: own(n), rules: NAMESPACE_RULES.map((rule) => withStatusName(rule, n)) },
    {
      apiVersion: api,
      kind: 'RoleBinding',
      metadata: own(n),
      roleRef: { apiGroup: group, kind: 'Role', name: n.name },
      subjects: [subject],
    },
  ];
  return [n.when('rbac.serviceAccount.create', account(n)), ...roles.map((role) => n.when('rbac.create', role))];
}

/** The values set the name of the status ConfigMap. */
function withStatusName(rule: Rule, n: Notation): Json {
  if (rule.resourceNames?.includes(STATUS_NAME) !== true) return rule;
  const resourceNames = rule.resourceNames.flatMap((name) => (name === STATUS_NAME ? n.lines(STATUS_MAP_NAME) : [name]));
  return { ...rule, resourceNames };
}

function account(n: Notation): Json {
  const annotations = { ...workloadIdentityClient(n), ...n.entries('rbac.serviceAccount.annotations') };
  const annotated: Condition = { any: ['rbac.serviceAccount.annotations', CLIENT_KNOWN] };
  const metadata = { name: n.serviceAccount, namespace: n.namespace, labels: labels(n), annotations: n.when(annotated, annotations) };
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
}

const CLIENT_KNOWN: Condition = { all: ['azureUseWorkloadIdentityExtension', 'azureClientID'] };

/** The webhook of Azure workload identity reads the client id from the account. */
function workloadIdentityClient(n: Notation): JsonMap {
  return { 'azure.workload.identity/client-id': n.when(CLIENT_KNOWN, n.value('azureClientID')) };
}

export function configMap(n: Notation): readonly Json[] {
  const priorities = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: PRIORITIES, namespace: n.namespace, labels: labels(n), annotations: n.block('priorityConfigMapAnnotations') },
    data: { priorities: n.text('expanderPriorities') },
  };
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: own(n), data: { 'config.yaml': n.text('config') } },
    n.when('expanderPriorities', priorities),
  ];
}

/** The client secret must not be in a ConfigMap. */
export function secret(n: Notation): readonly Json[] {
  const object = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: own(n),
    type: 'Opaque',
    stringData: { ClientSecret: n.value('azureClientSecret') },
  };
  return [n.when({ all: ['azureClientSecret', { not: 'secretKeyRefNameOverride' }] }, object)];
}

export function disruptionBudget(n: Notation): readonly Json[] {
  const spec = { ...n.entries('podDisruptionBudget'), selector: { matchLabels: selector(n) } };
  return [n.when('podDisruptionBudget', { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: own(n), spec })];
}

export function service(n: Notation): readonly Json[] {
  const metadata = {
    name: n.name,
    namespace: n.namespace,
    labels: { ...labels(n), ...n.entries('service.labels') },
    annotations: n.block('service.annotations'),
  };
  const port = { name: n.value('service.portName'), port: n.value('service.servicePort'), targetPort: 'http' };
  const spec = { type: n.value('service.type'), selector: selector(n), ports: [port] };
  return [n.when('service.create', { apiVersion: 'v1', kind: 'Service', metadata, spec })];
}

/**
 * Allows ingress to the one port only. Allows egress to name servers, to HTTPS (Azure and the API server) and, for a
 * managed identity, to the instance metadata service.
 */
export function networkPolicy(n: Notation): readonly Json[] {
  const dns = ['UDP', 'TCP'].map((protocol) => ({ protocol, port: 53 }));
  const metadataService = { ipBlock: { cidr: '169.254.169.254/32' } };
  const spec = {
    podSelector: { matchLabels: selector(n) },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ ports: [{ protocol: 'TCP', port: PORT }], from: n.block('networkPolicy.ingressFrom') }],
    egress: [
      { ports: dns },
      { ports: [{ protocol: 'TCP', port: 443 }] },
      n.when('azureUseManagedIdentityExtension', { to: [metadataService], ports: [{ protocol: 'TCP', port: 80 }] }),
      ...n.more('networkPolicy.extraEgress'),
    ],
  };
  return [n.when('networkPolicy.enabled', { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: own(n), spec })];
}

/** Name, namespace and labels of one of our objects. */
function own(n: Notation): JsonMap {
  return { name: n.name, namespace: n.namespace, labels: labels(n) };
}

/** The labels that select our pods. Never depends on a value, because a Deployment's selector cannot change. */
export function selector(n: Notation): JsonMap {
  return { [LABEL]: 'aks-autoscaler', 'app.kubernetes.io/instance': n.name };
}

export function labels(n: Notation): JsonMap {
  return { ...selector(n), ...n.entries('additionalLabels') };
}
