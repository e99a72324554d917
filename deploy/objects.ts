/**
 * Every object that the daemon needs in a cluster, once. Written in a notation: with plain values for `kubectl apply -k`,
 * with Helm's expressions for the chart (notation.ts). Knows Kubernetes, and nothing of files.
 */
import type { Json, Notation } from './notation.ts';

const LABEL = 'app.kubernetes.io/name';
const CONFIG_DIR = '/etc/aks-autoscaler';
const PORT = 8085;

export type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
};

/** What the daemon reads and writes of the whole cluster. A test compares both sets with the calls it makes. */
export const CLUSTER_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'update'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: ['aks-managed-resource-locker'], verbs: ['get'] },
  { apiGroups: ['apps'], resources: ['daemonsets', 'replicasets', 'statefulsets'], verbs: ['list', 'watch'] },
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'], verbs: ['list', 'watch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['storageclasses', 'csinodes'], verbs: ['list', 'watch'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
];

/** What it keeps in its own namespace. */
export const NAMESPACE_RULES: readonly Rule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
  {
    apiGroups: [''],
    resources: ['configmaps'],
    resourceNames: ['cluster-autoscaler-status', 'aks-autoscaler-templates'],
    verbs: ['get', 'update'],
  },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-autoscaler-priority-expander'], verbs: ['list', 'watch'] },
];

export function rbac(n: Notation): readonly Json[] {
  const subject = { kind: 'ServiceAccount', name: n.name, namespace: n.namespace };
  const group = 'rbac.authorization.k8s.io';
  const api = `${group}/v1`;
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...own(n), annotations: n.block('serviceAccount.annotations', {}) } },
    { apiVersion: api, kind: 'ClusterRole', metadata: { name: n.name, labels: labels(n) }, rules: CLUSTER_RULES },
    {
      apiVersion: api,
      kind: 'ClusterRoleBinding',
      metadata: { name: n.name, labels: labels(n) },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: n.name },
      subjects: [subject],
    },
    { apiVersion: api, kind: 'Role', metadata: own(n), rules: NAMESPACE_RULES },
    {
      apiVersion: api,
      kind: 'RoleBinding',
      metadata: own(n),
      roleRef: { apiGroup: group, kind: 'Role', name: n.name },
      subjects: [subject],
    },
  ];
}

export function configMap(n: Notation): readonly Json[] {
  return [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: own(n), data: { 'config.yaml': n.text('config') } }];
}

export function deployment(n: Notation): readonly Json[] {
  const spec = {
    replicas: n.value('replicas'),
    selector: { matchLabels: selector(n) },
    template: {
      metadata: {
        // The second lets the webhook of Azure workload identity give the pod its token.
        labels: { ...labels(n), 'azure.workload.identity/use': 'true' },
        annotations: { 'checksum/config': n.checksum },
      },
      spec: podSpec(n),
    },
  };
  return [{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: own(n), spec }];
}

function podSpec(n: Notation): Json {
  return {
    serviceAccountName: n.name,
    priorityClassName: n.value('priorityClassName'),
    // Longer than loop.shutdownTimeout: a drain that was begun is put back before the process ends.
    terminationGracePeriodSeconds: 40,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container(n)],
    volumes: [
      { name: 'config', configMap: { name: n.name } },
      { name: 'tmp', emptyDir: {} },
    ],
    nodeSelector: n.block('nodeSelector'),
    tolerations: n.block('tolerations'),
    topologySpreadConstraints: [spread(n, 'topology.kubernetes.io/zone'), spread(n, 'kubernetes.io/hostname')],
  };
}

function spread(n: Notation, topologyKey: string): Json {
  return { maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: selector(n) } };
}

/** KUBERNETES_SERVICE_HOST and _PORT, which say where the API server is, come from the kubelet (on AKS with its own name). */
function container(n: Notation): Json {
  const probe = (path: string, rest: { readonly [key: string]: Json }): Json => ({ httpGet: { path, port: 'http' }, ...rest });
  return {
    name: 'aks-autoscaler',
    image: n.image,
    imagePullPolicy: n.value('image.pullPolicy'),
    args: ['run', `--config=${CONFIG_DIR}/config.yaml`, `--namespace=${n.namespace}`, `--address=:${PORT}`, ...n.more('extraArgs')],
    env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }, ...n.more('extraEnv')],
    ports: [{ name: 'http', containerPort: PORT }],
    livenessProbe: probe('/healthz', { periodSeconds: 30, failureThreshold: 3 }),
    readinessProbe: probe('/readyz', { periodSeconds: 10 }),
    resources: n.block('resources'),
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    volumeMounts: [
      { name: 'config', mountPath: CONFIG_DIR, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

export function disruptionBudget(n: Notation): readonly Json[] {
  const spec = { maxUnavailable: 1, selector: { matchLabels: selector(n) } };
  return [{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: own(n), spec }];
}

export function service(n: Notation): readonly Json[] {
  const spec = { selector: selector(n), ports: [{ name: 'http', port: PORT, targetPort: 'http' }] };
  return [{ apiVersion: 'v1', kind: 'Service', metadata: own(n), spec }];
}

/** For the Prometheus operator. */
export function serviceMonitor(n: Notation): readonly Json[] {
  const endpoint = { port: 'http', path: '/metrics', interval: n.value('serviceMonitor.interval') };
  const spec = { selector: { matchLabels: selector(n) }, endpoints: [endpoint] };
  return [{ apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor', metadata: own(n), spec }];
}

function own(n: Notation): { readonly [key: string]: Json } {
  return { name: n.name, namespace: n.namespace, labels: labels(n) };
}

function selector(n: Notation): { readonly [key: string]: Json } {
  return { [LABEL]: 'aks-autoscaler', 'app.kubernetes.io/instance': n.name };
}

function labels(n: Notation): { readonly [key: string]: Json } {
  return selector(n);
}
