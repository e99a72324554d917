/**
 * The schema of the chart's values: `config` is the daemon's own schema, the rest is defined here. Unknown keys are refused,
 * so that a misspelt or foreign value is reported instead of ignored.
 */
import * as z from 'zod';
import { SCHEMA } from '../src/config/schema/schema.ts';
import type { Json, JsonMap } from './notation.ts';

const text: JsonMap = { type: 'string' };
const flag: JsonMap = { type: 'boolean' };
/** Values given by `--set` lose their type. */
const loose: JsonMap = { type: ['string', 'number', 'boolean'] };
const map: JsonMap = { type: 'object' };
const texts: JsonMap = { type: 'object', additionalProperties: text };
const maps: JsonMap = { type: 'array', items: map };
const names: JsonMap = { type: 'array', items: text };
const count = (least: number): JsonMap => ({ type: 'integer', minimum: least });
/** At most a week, which Helm also writes without an exponent. */
const seconds = (least: number): JsonMap => ({ type: ['integer', 'null'], minimum: least, maximum: 604_800 });
const oneOf = (...values: readonly string[]): JsonMap => ({ type: 'string', enum: values });
const only = (properties: JsonMap, rest: JsonMap = {}): JsonMap => ({ type: 'object', additionalProperties: false, properties, ...rest });
const mapOf = (additionalProperties: JsonMap): JsonMap => ({ type: 'object', additionalProperties });

const empty = (type: 'string' | 'array' | 'object'): JsonMap =>
  ({ string: { type, maxLength: 0 }, array: { type, items: {}, maxItems: 0 }, object: { type, maxProperties: 0 } })[type];

/** A number of pods or a percentage. */
const share: JsonMap = { anyOf: [{ type: 'null' }, count(0), { type: 'string', pattern: '^[0-9]+%$' }] };
const keyIn = only({ name: text, key: text }, { required: ['name', 'key'] });
const group = only({ name: text, minSize: count(0), maxSize: count(0) }, { required: ['name', 'minSize', 'maxSize'] });
const volumeSecret = only({ name: text, mountPath: text, items: maps }, { required: ['mountPath'] });
const monitor = only({
  enabled: flag,
  apiGroup: oneOf('monitoring.coreos.com', 'azmonitoring.coreos.com'),
  namespace: text,
  interval: { type: 'string', pattern: '^[0-9]+(ms|s|m|h)$' },
  path: text,
  selector: texts,
  annotations: texts,
  // An empty value may be a list or a map.
  relabelings: { anyOf: [maps, { type: 'object', maxProperties: 0 }] },
  metricRelabelings: { anyOf: [maps, { type: 'object', maxProperties: 0 }] },
});

const AZURE: JsonMap = {
  azureSubscriptionID: text,
  azureResourceGroup: text,
  azureNodeResourceGroup: text,
  azureLocation: text,
  azureClusterName: text,
  azureVMType: oneOf('', 'vmss'),
  azureEnableForceDelete: flag,
  azureEnableVMSSEtag: { type: ['boolean', 'null'] },
  azureVMSSCacheTTL: seconds(1),
  azureVMSSVMsCacheTTL: seconds(1),
  azureVMSSVMsCacheJitter: seconds(0),
  azureSyncAgentPoolCount: flag,
  azureReadOnChange: flag,
  azureActivityLog: flag,
  azureTenantID: text,
  azureClientID: text,
  azureUseWorkloadIdentityExtension: flag,
  azureUseManagedIdentityExtension: flag,
  azureUserAssignedIdentityID: text,
  azureClientSecret: text,
  secretKeyRefNameOverride: text,
};

const POD: JsonMap = {
  resources: map,
  nodeSelector: { type: ['object', 'null'], additionalProperties: text },
  tolerations: maps,
  affinity: map,
  topologySpreadConstraints: maps,
  priorityClassName: text,
  podDisruptionBudget: only({ maxUnavailable: share, minAvailable: share, annotations: texts, selector: empty('object') }),
  terminationGracePeriodSeconds: count(1),
  hostNetwork: flag,
  dnsPolicy: oneOf('', 'ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'),
  podLabels: texts,
  podAnnotations: texts,
  dnsConfig: map,
  initContainers: maps,
  livenessProbe: map,
  readinessProbe: map,
  securityContext: map,
  containerSecurityContext: map,
};

const EXTRA: JsonMap = {
  extraArgs: { anyOf: [{ type: 'null' }, names, mapOf({ anyOf: [loose, { type: 'null' }, { type: 'array', items: loose }] })] },
  extraEnv: { anyOf: [{ type: 'null' }, maps, mapOf(loose)] },
  extraEnvSecrets: mapOf(keyIn),
  extraEnvConfigMaps: mapOf(keyIn),
  envFromSecret: text,
  envFromConfigMap: text,
  envFromConfigMapOptional: flag,
  historyVolume: map,
  extraVolumes: maps,
  extraVolumeMounts: maps,
  extraVolumeSecrets: mapOf(volumeSecret),
};

/** Values of the Cluster Autoscaler's chart that are not supported here: accepted with that chart's default, refused otherwise. */
const AS_THERE: JsonMap = {
  // In that chart it selects API versions; these objects suit every supported version.
  kubeTargetVersionOverride: text,
  cloudConfigPath: empty('string'),
  autoscalingGroupsnamePrefix: empty('array'),
  customArgs: empty('array'),
  vpa: { type: 'object', properties: { enabled: { const: false } } },
  // Values of other clouds; a copy of that chart's whole file has them all.
  awsAccessKeyID: empty('string'),
  awsSecretAccessKey: empty('string'),
  awsRegion: oneOf('', 'us-east-1'),
  civoApiUrl: oneOf('', 'https://api.civo.com'),
  civoApiKey: empty('string'),
  civoClusterID: empty('string'),
  civoRegion: empty('string'),
  clusterAPIMode: oneOf('', 'incluster-incluster'),
  clusterAPIKubeconfigSecret: empty('string'),
  clusterAPIWorkloadKubeconfigPath: oneOf('', '/etc/kubernetes/value'),
  clusterAPICloudConfigPath: oneOf('', '/etc/kubernetes/mgmt-kubeconfig'),
  clusterAPIConfigMapsNamespace: empty('string'),
  kwokConfigMapName: oneOf('', 'kwok-provider-config'),
  magnumClusterName: empty('string'),
  magnumCABundlePath: oneOf('', '/etc/kubernetes/ca-bundle.crt'),
};

const ACCOUNT_AS_THERE: JsonMap = { automountServiceAccountToken: { const: true } };
const RBAC_AS_THERE: JsonMap = { pspEnabled: { const: false }, clusterScoped: { const: true } };
const SERVICE_AS_THERE: JsonMap = {
  selector: empty('object'),
  clusterIP: empty('string'),
  externalIPs: empty('array'),
  loadBalancerIP: empty('string'),
  loadBalancerSourceRanges: empty('array'),
};

/** The text of `values.schema.json`. */
export function valuesSchema(): string {
  const properties: JsonMap = {
    global: map,
    image: only({
      repository: text,
      tag: text,
      digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
      pullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
      pullSecrets: names,
    }),
    replicaCount: count(0),
    revisionHistoryLimit: count(0),
    updateStrategy: map,
    nameOverride: text,
    fullnameOverride: text,
    config: configSchema(),
    autoscalingGroups: { type: 'array', items: group },
    autoDiscovery: only({
      clusterName: { type: ['string', 'null'] },
      tags: names,
      labels: maps,
      roles: names,
      namespace: { type: ['string', 'null'] },
    }),
    cloudProvider: oneOf('azure'),
    ...AZURE,
    ...AS_THERE,
    ...EXTRA,
    expanderPriorities: { type: ['object', 'string'] },
    priorityConfigMapAnnotations: texts,
    rbac: only({
      create: flag,
      annotations: texts,
      additionalRules: maps,
      serviceAccount: only({ create: flag, name: text, annotations: texts, ...ACCOUNT_AS_THERE }),
      ...RBAC_AS_THERE,
    }),
    ...POD,
    capacityDefinitions: only({ create: flag }),
    sharedStore: only({
      host: text,
      port: { type: 'integer', minimum: 1, maximum: 65_535 },
      tls: flag,
      username: text,
      keyPrefix: text,
      passwordSecret: only({ name: text, key: text }),
    }),
    additionalLabels: texts,
    additionalAnnotations: texts,
    extraObjects: maps,
    deployment: only({ annotations: texts, selector: empty('object') }),
    service: only({
      create: flag,
      type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer'),
      servicePort: { type: 'integer', minimum: 1, maximum: 65_535 },
      portName: text,
      labels: texts,
      annotations: texts,
      ...SERVICE_AS_THERE,
    }),
    networkPolicy: only({ enabled: flag, ingressFrom: maps, extraEgress: maps }),
    serviceMonitor: monitor,
    podMonitor: monitor,
    grafanaDashboard: only({ enabled: flag, namespace: text, labels: texts, annotations: texts }),
    prometheusRule: only({
      enabled: flag,
      namespace: text,
      additionalLabels: texts,
      interval: { type: ['string', 'null'] },
      runbookBaseUrl: { type: 'string', pattern: '^(https?://.+[^/])?$' },
      rules: maps,
    }),
  };
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...only(properties), ...RULES }, undefined, 2)}\n`;
}

const given = (name: string): JsonMap => ({ properties: { [name]: { minLength: 1 } }, required: [name] });
const lacking = (name: string): JsonMap => ({ properties: { [name]: { maxLength: 0 } } });
/** A map of labels with one that selects our pods. */
const selecting = (name: string): JsonMap => ({
  required: [name],
  properties: { [name]: { anyOf: ['name', 'instance'].map((label) => ({ required: [`app.kubernetes.io/${label}`] })) } },
});
const off = (name: string): JsonMap => ({ properties: { [name]: { const: false } } });
const set = (name: string): JsonMap => ({ properties: { [name]: { const: true } }, required: [name] });

/** Rules over several values. */
const RULES: JsonMap = {
  allOf: [
    { not: { allOf: [set('azureUseWorkloadIdentityExtension'), set('azureUseManagedIdentityExtension')] } },
    { not: { anyOf: ['additionalLabels', 'podLabels'].map(selecting) } },
    { anyOf: [off('azureSyncAgentPoolCount'), given('azureClusterName')] },
    { anyOf: [lacking('azureClusterName'), given('azureResourceGroup')] },
  ],
};

/**
 * The daemon's own schema of its file, without secrets, because the file becomes a ConfigMap. Required settings are optional
 * here: variables and flags may set them, and the daemon checks the whole when it starts.
 */
function configSchema(): Json {
  const { $schema: _dialect, required: _sections, ...schema } = z.toJSONSchema(SCHEMA, DIALECT) as JsonMap;
  const sections = schema['properties'] as JsonMap;
  const { required: _keys, default: _none, ...azure } = sections['azure'] as JsonMap;
  const keys = azure['properties'] as JsonMap;
  const credential = keys['credential'] as JsonMap;
  const { clientSecret: _secret, certificatePassword: _password, ...open } = credential['properties'] as JsonMap;
  const ofSection = (section: JsonMap): JsonMap => (section['type'] === 'object' ? { ...section, type: ['object', 'null'] } : section);
  const blank = Object.fromEntries(
    Object.entries(sections as Record<string, JsonMap>).map(([name, section]) => [name, ofSection(section)]),
  );
  return {
    ...schema,
    // A section with only commented lines is null.
    properties: { ...blank, azure: ofSection({ ...azure, properties: { ...keys, credential: { ...credential, properties: open } } }) },
  };
}

const DIALECT = { io: 'input', unrepresentable: 'any', target: 'draft-7' } as const;
