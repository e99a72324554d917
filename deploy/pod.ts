/** The Deployment: how the daemon's pods run, and which values become their arguments and environment variables. */
import { ARGS, mapOf, textOf } from './extra-args.ts';
import { plainly, type Condition, type Json, type JsonMap, type Lines, type Notation } from './notation.ts';
import { labels, own, PORT, PROBE_PORT, selector } from './objects.ts';

const CONFIG_DIR = '/etc/aks-autoscaler';
/** Where a volume for the history is mounted. */
const HISTORY_DIR = '/history';

export function deployment(n: Notation): readonly Json[] {
  const spec = {
    replicas: n.value('replicaCount'),
    revisionHistoryLimit: n.value('revisionHistoryLimit'),
    selector: { matchLabels: selector(n) },
    strategy: n.block('updateStrategy'),
    template: {
      metadata: {
        labels: { ...labels(n, 'podLabels'), ...workloadIdentity(n) },
        annotations: { 'checksum/config': n.checksum, ...n.entries('additionalAnnotations', 'podAnnotations') },
      },
      spec: podSpec(n),
    },
  };
  return [{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: own(n, 'deployment.annotations'), spec }];
}

/** Lets the webhook of Azure workload identity give the pod its token; a token would win over a secret. */
function workloadIdentity(n: Notation): JsonMap {
  const other: Condition = { any: ['azureUseManagedIdentityExtension', 'azureClientSecret', 'secretKeyRefNameOverride'] };
  return { 'azure.workload.identity/use': n.when({ any: ['azureUseWorkloadIdentityExtension', { not: other }] }, 'true') };
}

function podSpec(n: Notation): Json {
  const ownSpread = [spread(n, 'topology.kubernetes.io/zone'), spread(n, 'kubernetes.io/hostname')];
  return {
    serviceAccountName: n.serviceAccount,
    priorityClassName: n.when('priorityClassName', n.value('priorityClassName')),
    // Longer than loop.shutdownTimeout: a drain in progress is undone before the process ends.
    terminationGracePeriodSeconds: n.value('terminationGracePeriodSeconds'),
    hostNetwork: n.when('hostNetwork', true),
    dnsPolicy: n.when('dnsPolicy', n.value('dnsPolicy')),
    dnsConfig: n.block('dnsConfig'),
    imagePullSecrets: n.when('image.pullSecrets', n.lines(PULL_SECRETS)),
    securityContext: n.block('securityContext'),
    initContainers: n.block('initContainers'),
    containers: [container(n)],
    volumes: [
      { name: 'config', configMap: { name: n.name } },
      { name: 'tmp', emptyDir: {} },
      n.when('historyVolume', { name: 'history', ...n.entries('historyVolume') }),
      ...n.lines(SECRET_VOLUMES),
      ...n.more('extraVolumes'),
    ],
    nodeSelector: n.blockOr('nodeSelector', { 'kubernetes.azure.com/mode': 'system' }),
    tolerations: n.block('tolerations'),
    affinity: n.block('affinity'),
    topologySpreadConstraints: [
      ...n.more('topologySpreadConstraints'),
      ...ownSpread.map((one) => n.when({ not: 'topologySpreadConstraints' }, one)),
    ],
  };
}

function spread(n: Notation, topologyKey: string): Json {
  return { maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: selector(n) } };
}

/** KUBERNETES_SERVICE_HOST and _PORT, the address of the API server, come from the kubelet (on AKS with its own name). */
function container(n: Notation): Json {
  // guard: the chart's probes use the listener that serves nothing else
  const probe = (path: string, settings: string): Json => ({ httpGet: { path, port: 'probes' }, ...n.entries(settings) });
  const envFrom = [
    n.when('envFromSecret', { secretRef: { name: n.value('envFromSecret') } }),
    n.when('envFromConfigMap', { configMapRef: { name: n.value('envFromConfigMap'), optional: n.when('envFromConfigMapOptional', true) } }),
  ];
  return {
    name: 'aks-autoscaler',
    image: n.image,
    imagePullPolicy: n.value('image.pullPolicy'),
    args: [
      'run',
      `--config=${CONFIG_DIR}/config.yaml`,
      `--namespace=${n.namespace}`,
      `--address=:${PORT}`,
      `--probe-address=:${PROBE_PORT}`,
      n.when('historyVolume', `--history-directory=${HISTORY_DIR}`),
      ...n.lines(GROUPS),
      ...n.lines(ARGS),
    ],
    env: environment(n),
    envFrom: n.when({ any: ['envFromSecret', 'envFromConfigMap'] }, envFrom),
    ports: [
      { name: 'http', containerPort: PORT },
      { name: 'probes', containerPort: PROBE_PORT },
    ],
    livenessProbe: probe('/healthz', 'livenessProbe'),
    readinessProbe: probe('/readyz', 'readinessProbe'),
    resources: n.block('resources'),
    securityContext: n.block('containerSecurityContext'),
    volumeMounts: [
      { name: 'config', mountPath: CONFIG_DIR, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
      n.when('historyVolume', { name: 'history', mountPath: HISTORY_DIR }),
      ...n.lines(SECRET_MOUNTS),
      ...n.more('extraVolumeMounts'),
    ],
  };
}

/** Without the name of the cluster, the one resource group is that of the nodes. With it, the nodes' own is read from their metadata. */
const NODES_GROUP_ALONE: Condition = {
  all: [{ not: 'secretKeyRefNameOverride' }, { not: 'azureNodeResourceGroup' }, { not: 'azureClusterName' }, 'azureResourceGroup'],
};

function environment(n: Notation): readonly Json[] {
  const own = 'secretKeyRefNameOverride';
  // The keys of the Secret of the Cluster Autoscaler's chart, so that its Secret can be used.
  const given = (name: string, key: string, ...paths: readonly string[]): readonly Json[] => [
    n.when(own, { name, valueFrom: { secretKeyRef: { name: n.value(own), key, optional: true } } }),
    n.when({ all: [{ not: own }, { any: paths }] }, { name, value: n.asText(...paths) }),
  ];
  const plain = (name: string, path: string, condition: Condition = path): Json => n.when(condition, { name, value: n.asText(path) });
  const secret = { name: 'ARM_CLIENT_SECRET', valueFrom: { secretKeyRef: { name: n.name, key: 'ClientSecret' } } };
  return [
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ...given('ARM_SUBSCRIPTION_ID', 'SubscriptionID', 'azureSubscriptionID'),
    ...given('ARM_RESOURCE_GROUP', 'ResourceGroup', 'azureNodeResourceGroup'),
    n.when(NODES_GROUP_ALONE, { name: 'ARM_RESOURCE_GROUP', value: n.asText('azureResourceGroup') }),
    ...given('ARM_TENANT_ID', 'TenantID', 'azureTenantID'),
    ...given('ARM_CLIENT_ID', 'ClientID', 'azureClientID'),
    n.when(own, { name: 'ARM_CLIENT_SECRET', valueFrom: { secretKeyRef: { name: n.value(own), key: 'ClientSecret', optional: true } } }),
    n.when({ all: [{ not: own }, 'azureClientSecret'] }, secret),
    plain('LOCATION', 'azureLocation'),
    plain('CLUSTER_NAME', 'azureClusterName'),
    plain('ARM_CLUSTER_RESOURCE_GROUP', 'azureResourceGroup', { all: ['azureClusterName', 'azureResourceGroup'] }),
    plain('ARM_VM_TYPE', 'azureVMType'),
    plain('ARM_USE_WORKLOAD_IDENTITY_EXTENSION', 'azureUseWorkloadIdentityExtension'),
    plain('ARM_USE_MANAGED_IDENTITY_EXTENSION', 'azureUseManagedIdentityExtension'),
    plain('ARM_USER_ASSIGNED_IDENTITY_ID', 'azureUserAssignedIdentityID'),
    plain('AZURE_ENABLE_FORCE_DELETE', 'azureEnableForceDelete'),
    plain('AZURE_ENABLE_VMSS_ETAG', 'azureEnableVMSSEtag', { set: 'azureEnableVMSSEtag' }),
    // guard: each of the chart's values reaches what it renders
    plain('AZURE_VMSS_CACHE_TTL', 'azureVMSSCacheTTL'),
    plain('AZURE_VMSS_VMS_CACHE_TTL', 'azureVMSSVMsCacheTTL'),
    plain('AZURE_VMSS_VMS_CACHE_JITTER', 'azureVMSSVMsCacheJitter', { set: 'azureVMSSVMsCacheJitter' }),
    plain('AZURE_SYNC_AGENT_POOL_COUNT', 'azureSyncAgentPoolCount'),
    plain('AZURE_CACHE_READ_ON_CHANGE', 'azureReadOnChange'),
    ...sharedStore(n),
    plain('AZURE_ACTIVITY_LOG', 'azureActivityLog'),
    ...n.lines(ENV),
  ];
}

/** The server that clusters of a subscription share. Its password is only in a Secret. */
function sharedStore(n: Notation): readonly Json[] {
  const used: Condition = 'sharedStore.host';
  const withPassword: Condition = { all: [used, 'sharedStore.passwordSecret.name'] };
  const address = `${n.inline('sharedStore.host')}:${n.inline('sharedStore.port')}`;
  const from = { secretKeyRef: { name: n.value('sharedStore.passwordSecret.name'), key: n.value('sharedStore.passwordSecret.key') } };
  return [
    n.when({ all: [used, 'sharedStore.tls'] }, { name: 'AZURE_CACHE_REDIS_URL', value: `rediss://${address}` }),
    n.when({ all: [used, { not: 'sharedStore.tls' }] }, { name: 'AZURE_CACHE_REDIS_URL', value: `redis://${address}` }),
    n.when({ all: [used, 'sharedStore.username'] }, { name: 'AZURE_CACHE_REDIS_USERNAME', value: n.asText('sharedStore.username') }),
    n.when({ all: [used, 'sharedStore.keyPrefix'] }, { name: 'AZURE_CACHE_REDIS_KEY_PREFIX', value: n.asText('sharedStore.keyPrefix') }),
    n.when(withPassword, { name: 'AZURE_CACHE_REDIS_PASSWORD', valueFrom: from }),
  ];
}

const listOf = (value: Json | undefined): readonly JsonMap[] => (value ?? []) as readonly JsonMap[];

/** Node groups by name, and by the tags that the Cluster Autoscaler documents for its discovery on Azure. */
const GROUPS: Lines = {
  helm: [
    '{{- range .Values.autoscalingGroups }}',
    '- {{ printf "--nodes=%s:%s:%s" (toJson .minSize) (toJson .maxSize) .name | toJson }}',
    '{{- end }}',
    '{{- with .Values.autoDiscovery.clusterName }}',
    '- {{ printf "--node-group-auto-discovery=label:cluster-autoscaler-enabled=true,cluster-autoscaler-name=%s" . | toJson }}',
    '{{- end }}',
  ],
  plain: (values) => {
    const { clusterName } = values['autoDiscovery'] as JsonMap;
    const tags = `cluster-autoscaler-enabled=true,cluster-autoscaler-name=${plainly(clusterName ?? null)}`;
    return [
      ...listOf(values['autoscalingGroups']).map(
        ({ minSize, maxSize, name }) => `--nodes=${plainly(minSize ?? null)}:${plainly(maxSize ?? null)}:${plainly(name ?? null)}`,
      ),
      ...(clusterName ? [`--node-group-auto-discovery=label:${tags}`] : []),
    ];
  },
};

const keyOf = (kind: string, path: string): readonly string[] => [
  `{{- range $name, $from := .Values.${path} }}`,
  '- name: {{ toJson $name }}',
  '  valueFrom:',
  `    ${kind}:`,
  '      name: {{ toJson $from.name }}',
  '      key: {{ toJson $from.key }}',
  '{{- end }}',
];

/** A list of variables in Kubernetes' form, or a map of names to values; then the variables from Secrets and ConfigMaps. */
const ENV: Lines = {
  helm: [
    '{{- if kindIs "map" .Values.extraEnv }}',
    '{{- range $name, $value := .Values.extraEnv }}',
    '- name: {{ toJson $name }}',
    `  value: {{ ${textOf('$value')} | toJson }}`,
    '{{- end }}',
    '{{- else }}',
    '{{- range .Values.extraEnv }}',
    '- {{ toJson . }}',
    '{{- end }}',
    '{{- end }}',
    ...keyOf('secretKeyRef', 'extraEnvSecrets'),
    ...keyOf('configMapKeyRef', 'extraEnvConfigMaps'),
  ],
  plain: ({ extraEnv, extraEnvSecrets, extraEnvConfigMaps }) => {
    const from = (kind: string, map: Json | undefined): readonly Json[] =>
      mapOf(map).map(([name, at]) => ({
        name,
        valueFrom: { [kind]: { name: (at as JsonMap)['name'] ?? null, key: (at as JsonMap)['key'] ?? null } },
      }));
    const variables = Array.isArray(extraEnv)
      ? (extraEnv as readonly Json[])
      : mapOf(extraEnv).map(([name, value]) => ({ name, value: plainly(value ?? null) }));
    return [...variables, ...from('secretKeyRef', extraEnvSecrets), ...from('configMapKeyRef', extraEnvConfigMaps)];
  },
};

const PULL_SECRETS: Lines = {
  helm: ['{{- range .Values.image.pullSecrets }}', '- name: {{ toJson . }}', '{{- end }}'],
  plain: ({ image }) => ((image as JsonMap)['pullSecrets'] as readonly Json[]).map((name) => ({ name })),
};

/** `extraVolumeSecrets`: volume name -> { name of the Secret (if absent, the volume's), mountPath, items }. */
const SECRET_VOLUMES: Lines = {
  helm: [
    '{{- range $volume, $secret := .Values.extraVolumeSecrets }}',
    '- name: {{ toJson $volume }}',
    '  secret:',
    '    secretName: {{ $secret.name | default $volume | toJson }}',
    '    {{- with $secret.items }}',
    '    items: {{ toJson . }}',
    '    {{- end }}',
    '{{- end }}',
  ],
  plain: ({ extraVolumeSecrets }) =>
    mapOf(extraVolumeSecrets).map(([name, given]) => {
      const { name: secretName = name, items } = given as JsonMap;
      return { name, secret: items === undefined ? { secretName } : { secretName, items } };
    }),
};

const SECRET_MOUNTS: Lines = {
  helm: [
    '{{- range $volume, $secret := .Values.extraVolumeSecrets }}',
    '- name: {{ toJson $volume }}',
    '  mountPath: {{ toJson $secret.mountPath }}',
    '  readOnly: true',
    '{{- end }}',
  ],
  plain: ({ extraVolumeSecrets }) =>
    mapOf(extraVolumeSecrets).map(([name, given]) => ({ name, mountPath: (given as JsonMap)['mountPath'] ?? null, readOnly: true })),
};
