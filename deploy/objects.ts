/**
 * The daemon's objects in a cluster, except its pods (pod.ts) and its monitoring (monitoring.ts). Each is defined once, in a
 * notation that is read twice: with plain values for `kubectl apply -k`, and as Helm's expressions for the chart.
 * Must not know files.
 */
import { AUTOSCALERS_RULE, CLUSTER_RULES, LEASE_NAME, NAMESPACE_RULES, NOMINATIONS_RULE, type Rule } from '../src/tools/doctor/required-access.ts';
import { STATUS_NAME } from '../src/planning/explain/scale-up-events.ts';
import { LEASE_NAMES, NAMES_AFTER_LEASE, STATUS_MAP_NAME } from './extra-args.ts';
import type { Condition, Json, JsonMap, Lines, Notation } from './notation.ts';

const LABEL = 'app.kubernetes.io/name';
/** The port of metrics and documents. */
export const PORT = 8085;
/** The port of the kubelet's probes. No Service has it. */
export const PROBE_PORT = 8086;

export { CLUSTER_RULES, NAMESPACE_RULES, type Rule };

/** The name that the priority expander reads, here and in the Cluster Autoscaler. */
const PRIORITIES = 'cluster-autoscaler-priority-expander';

/** Only where the setting is on. The user's configuration may lack the section. */
function grantedFor(section: string, setting: string, rule: Rule): Lines {
  return {
    helm: [
      `{{- if get (get (.Values.config | default dict) "${section}" | default dict) "${setting}" }}`,
      `- ${JSON.stringify(rule)}`,
      '{{- end }}',
    ],
    plain: ({ config }) => (JSON.stringify(config).includes(`"${setting}":true`) ? [rule] : []),
  };
}

const NOMINATIONS = grantedFor('scaleUp', 'nominateNodes', NOMINATIONS_RULE);
const AUTOSCALERS = grantedFor('cluster', 'verticalPodAutoscalers', AUTOSCALERS_RULE);

export function rbac(n: Notation): readonly Json[] {
  const subject = { kind: 'ServiceAccount', name: n.serviceAccount, namespace: n.namespace };
  const group = 'rbac.authorization.k8s.io';
  const api = `${group}/v1`;
  const cluster = { name: n.name, labels: labels(n), annotations: annotations(n, 'rbac.annotations') };
  const space = own(n, 'rbac.annotations');
  const roles: readonly Json[] = [
    {
      apiVersion: api,
      kind: 'ClusterRole',
      metadata: cluster,
      rules: [...CLUSTER_RULES, ...n.lines(NOMINATIONS), ...n.lines(AUTOSCALERS), ...n.more('rbac.additionalRules')],
    },
    {
      apiVersion: api,
      kind: 'ClusterRoleBinding',
      metadata: cluster,
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: n.name },
      subjects: [subject],
    },
    { apiVersion: api, kind: 'Role', metadata: space, rules: NAMESPACE_RULES.map((rule) => withNames(rule, n)) },
    {
      apiVersion: api,
      kind: 'RoleBinding',
      metadata: space,
      roleRef: { apiGroup: group, kind: 'Role', name: n.name },
      subjects: [subject],
    },
  ];
  return [n.when('rbac.serviceAccount.create', account(n)), ...roles.map((role) => n.when('rbac.create', role))];
}

/** The values set the names of the status ConfigMap and of the lease, and so of the other ConfigMaps. */
function withNames(rule: Rule, n: Notation): Json {
  const { resourceNames } = rule;
  if (resourceNames === undefined) return rule;
  return { ...rule, resourceNames: resourceNames.flatMap((name) => (name in SET_BY_VALUES ? n.lines(namesOf(name)) : [name])) };
}

const SET_BY_VALUES: Readonly<Record<string, Lines>> = { [STATUS_NAME]: STATUS_MAP_NAME, [LEASE_NAME]: LEASE_NAMES, ...NAMES_AFTER_LEASE };

function namesOf(name: string): Lines {
  const lines = SET_BY_VALUES[name];
  if (lines === undefined) throw new Error(`no value sets the name ${name}`);
  return lines;
}

function account(n: Notation): Json {
  const more = ['additionalAnnotations', 'rbac.serviceAccount.annotations'];
  const annotated = n.when({ any: [...more, CLIENT_KNOWN] }, { ...workloadIdentityClient(n), ...n.entries(...more) });
  const metadata = { name: n.serviceAccount, namespace: n.namespace, labels: labels(n), annotations: annotated };
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
}

const OTHER_IDENTITY: Condition = { any: ['azureUseManagedIdentityExtension', 'azureClientSecret', 'secretKeyRefNameOverride'] };
/** A client id without any other identity means workload identity. */
const CLIENT_KNOWN: Condition = { all: ['azureClientID', { any: ['azureUseWorkloadIdentityExtension', { not: OTHER_IDENTITY }] }] };

/** The webhook of Azure workload identity reads the client id from the account. */
function workloadIdentityClient(n: Notation): JsonMap {
  return { 'azure.workload.identity/client-id': n.when(CLIENT_KNOWN, n.value('azureClientID')) };
}

export function configMap(n: Notation): readonly Json[] {
  const priorities = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: PRIORITIES, namespace: n.namespace, labels: labels(n), annotations: annotations(n, 'priorityConfigMapAnnotations') },
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

/** One pod at a time, unless the values say otherwise. */
export function disruptionBudget(n: Notation): readonly Json[] {
  const [most, least] = ['podDisruptionBudget.maxUnavailable', 'podDisruptionBudget.minAvailable'];
  const spec = {
    maxUnavailable: n.when({ any: [{ set: most }, { not: { set: least } }] }, n.valueOr(most, 1)),
    minAvailable: n.when({ set: least }, n.value(least)),
    selector: { matchLabels: selector(n) },
  };
  const metadata = own(n, 'podDisruptionBudget.annotations');
  const both = { all: ['podDisruptionBudget', { set: most }, { set: least }] };
  return [
    ...n.refuse(both, 'podDisruptionBudget has maxUnavailable and minAvailable; Kubernetes accepts one of them. Remove the other.'),
    n.when('podDisruptionBudget', { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec }),
  ];
}

export function service(n: Notation): readonly Json[] {
  const metadata = { ...own(n, 'service.annotations'), labels: labels(n, 'service.labels') };
  const port = { name: n.value('service.portName'), port: n.value('service.servicePort'), targetPort: 'http' };
  const spec = { type: n.value('service.type'), selector: selector(n), ports: [port] };
  return [n.when('service.create', { apiVersion: 'v1', kind: 'Service', metadata, spec })];
}

/**
 * Allows ingress to the port of metrics only, and only from `ingressFrom`: without an entry there, no pod is admitted. The kubelet's probes need
 * no rule, because a policy never applies to traffic between a pod and its own node
 * (https://kubernetes.io/docs/concepts/services-networking/network-policies/). A rule for their port would admit every pod.
 * Allows egress to name servers, to HTTPS (Azure and the API server), to the shared store and, for a managed identity or an unknown region, to
 * the instance metadata service.
 */
export function networkPolicy(n: Notation): readonly Json[] {
  const dns = ['UDP', 'TCP'].map((protocol) => ({ protocol, port: 53 }));
  const metadataService = { ipBlock: { cidr: '169.254.169.254/32' } };
  const spec = {
    podSelector: { matchLabels: selector(n) },
    policyTypes: ['Ingress', 'Egress'],
    // guard: the chart's network policy admits no pod that is not named
    ingress: n.when('networkPolicy.ingressFrom', [
      { ports: [{ protocol: 'TCP', port: PORT }], from: n.block('networkPolicy.ingressFrom') },
    ]),
    egress: [
      { ports: dns },
      { ports: [{ protocol: 'TCP', port: 443 }] },
      n.when(
        { any: ['azureUseManagedIdentityExtension', { not: 'azureLocation' }] },
        { to: [metadataService], ports: [{ protocol: 'TCP', port: 80 }] },
      ),
      n.when('sharedStore.host', { ports: [{ protocol: 'TCP', port: n.value('sharedStore.port') }] }),
      ...n.more('networkPolicy.extraEgress'),
    ],
  };
  return [n.when('networkPolicy.enabled', { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: own(n), spec })];
}

/** The user's own objects, as they are. */
export function extraObjects(n: Notation): readonly Json[] {
  return n.documents('extraObjects');
}

/** Name, namespace, labels and annotations of one of our objects. `more`: paths of its own annotations. */
export function own(n: Notation, ...more: readonly string[]): JsonMap {
  return { name: n.name, namespace: n.namespace, labels: labels(n), annotations: annotations(n, ...more) };
}

/** The annotations of every object, and those of this one. */
export function annotations(n: Notation, ...more: readonly string[]): Json {
  const paths = ['additionalAnnotations', ...more];
  return n.when({ any: paths }, n.entries(...paths));
}

/** The labels that select our pods. Never depends on a value, because a Deployment's selector cannot change. */
export function selector(n: Notation): JsonMap {
  return { [LABEL]: 'aks-autoscaler', 'app.kubernetes.io/instance': n.name };
}

/** `more`: paths of the object's own labels. */
export function labels(n: Notation, ...more: readonly string[]): JsonMap {
  return { ...selector(n), ...n.entries('additionalLabels', ...more) };
}
