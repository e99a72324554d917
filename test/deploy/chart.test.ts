/** The chart with the values that people give it: what the daemon makes of them, and which values are refused. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { alertGroups } from '../../deploy/alerts.ts';
import { dashboard } from '../../deploy/dashboard.ts';
import { variants, variantValues } from '../../deploy/files.ts';
import { mergedValues, plainNotation, plainText } from '../../deploy/notation.ts';
import { prometheusRule } from '../../deploy/monitoring.ts';
import { RECORDING_RULES } from '../../deploy/recording-rules.ts';
import { VERSION } from '../../src/lib/version.ts';
import { CHART, configuredBy, deploymentIn, golden, kindIn, ROOT, specOf, statusRules } from './kube-objects.ts';

describe('values of users of the Cluster Autoscaler', () => {
  const objects = golden('migrated');

  it('mean the same to the daemon', () => {
    const config = configuredBy(objects, { ARM_CLIENT_SECRET: 'from-the-secret' });
    expect(config.azure).toMatchObject({
      subscriptionId: '11111111-1111-1111-1111-111111111111',
      tenantId: '22222222-2222-2222-2222-222222222222',
      nodeResourceGroup: 'MC_shop_shop_westeurope',
      location: 'westeurope',
      credential: { method: 'client-secret', clientId: '33333333-3333-3333-3333-333333333333', clientSecret: 'from-the-secret' },
      nodeGroups: [{ name: 'aks-general-12345678-vmss', min: 1, max: 10 }],
      vmssCacheTtlMs: 90_000,
    });
    expect(config.azure.discovery[0]?.selectors).toEqual([
      { key: 'cluster-autoscaler-enabled', value: 'true' },
      { key: 'cluster-autoscaler-name', value: 'shop' },
    ]);
    expect(config.policy.scaleDown.unneededForMs).toBe(300_000);
    expect(JSON.stringify(config.policy.scaleUp)).toContain('example.com/row');
  });

  it('keep the secret out of everything except a Secret, and away from the token that would win over it', () => {
    const open = objects.filter(({ kind }) => kind !== 'Secret');
    expect(JSON.stringify(open)).not.toContain('not-a-real-secret');
    expect(JSON.stringify(kindIn(objects, 'Secret'))).toContain('not-a-real-secret');
    expect(deploymentIn(objects).template.metadata.labels).not.toHaveProperty('azure.workload.identity/use');
  });
});

describe('identities', () => {
  it('a managed identity, and a pool that AKS scales', () => {
    expect(configuredBy(golden('managed-identity')).azure).toMatchObject({
      credential: { method: 'managed-identity', clientId: '44444444-4444-4444-4444-444444444444' },
      clusterName: 'shop',
      clusterResourceGroup: 'shop',
      nodeResourceGroup: 'MC_shop_shop_westeurope',
    });
  });

  it('a workload identity: its webhook finds the label and the client id, and the daemon finds the injected values', () => {
    const objects = golden('everything');
    expect(deploymentIn(objects).template.metadata.labels).toMatchObject({ 'azure.workload.identity/use': 'true' });
    expect(kindIn(objects, 'ServiceAccount')?.metadata.annotations).toMatchObject({
      'azure.workload.identity/client-id': '33333333-3333-3333-3333-333333333333',
    });
    const config = configuredBy(objects, { AZURE_FEDERATED_TOKEN_FILE: '/var/run/secrets/azure/tokens/azure-identity-token' });
    expect(config.azure.credential).toMatchObject({ method: 'workload-identity', clientId: '33333333-3333-3333-3333-333333333333' });
    expect(config.policy.scaleDown.unneededForMs).toBe(180_000);
    expect(config.loop.scanIntervalMs).toBe(20_000);
    expect(config.logLevel).toBe('debug');
    expect(config.historyDirectory).toBe('/history');
  });

  it("a Secret of the Cluster Autoscaler's chart", () => {
    const held = {
      ARM_SUBSCRIPTION_ID: 's',
      ARM_RESOURCE_GROUP: 'MC_shop_shop_westeurope',
      ARM_TENANT_ID: 't',
      ARM_CLIENT_ID: 'c',
      ARM_CLIENT_SECRET: 'hush',
    };
    const objects = golden('existing-secret');
    const [container] = deploymentIn(objects).template.spec.containers;
    expect(container?.env.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(held)));
    expect(configuredBy(objects, held).azure.credential).toMatchObject({ method: 'client-secret', clientId: 'c' });
    expect(objects.map(({ kind }) => kind).filter((kind) => /Role|ServiceAccount|Secret/.test(kind))).toEqual([]);
  });
});

interface RuleSpec {
  readonly groups: readonly { readonly rules: readonly object[] }[];
}

interface MonitorSpec {
  readonly selector: { readonly matchLabels: object };
  readonly namespaceSelector: object;
}

it.each(['everything', 'migrated', 'managed-identity'])("the Role of %s names the daemon's status ConfigMap", (variant) => {
  const { statusConfigMapName } = configuredBy(golden(variant), {
    ARM_CLIENT_SECRET: 's',
    AZURE_FEDERATED_TOKEN_FILE: '/token',
  }).kubernetes;
  expect(statusRules(golden(variant))).toMatchObject([
    { names: [statusConfigMapName, 'aks-autoscaler-templates', 'aks-autoscaler-memory'] },
    { names: [statusConfigMapName] },
  ]);
});

describe('monitoring objects', () => {
  it('the dashboard in its ConfigMap is the dashboard', () => {
    const text = golden('migrated').find(({ metadata }) => metadata.name.endsWith('-dashboard'))?.data?.['aks-autoscaler.json'];
    expect(JSON.parse(text ?? '')).toEqual(dashboard());
  });

  it('the version is that of the package and of the chart', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
    const { appVersion } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as { readonly appVersion: string };
    expect([version, appVersion]).toEqual([VERSION, VERSION]);
  });

  it('the alerts for Azure Monitor are the alerts', () => {
    const { resources } = JSON.parse(readFileSync(join(ROOT, 'deploy', 'prometheus', 'azure-rule-group.json'), 'utf8')) as {
      readonly resources: readonly { readonly properties: { readonly rules: readonly Record<string, unknown>[] } }[];
    };
    const [ours] = alertGroups();
    expect(resources[0]?.properties.rules.map(({ alert, expression, for: lasting }) => [alert, expression, lasting])).toEqual(
      ours?.rules.map(({ alert, expr, for: lasting }) => [alert, expr, `PT${lasting.toUpperCase()}`]),
    );
    expect(JSON.stringify(resources[0])).toContain("concat(parameters('runbookBaseUrl'), '/aks-autoscaler-not-looping.md')");
    expect(resources[1]?.properties.rules).toEqual(
      RECORDING_RULES.map(({ record, expr }) => ({ record, expression: expr, enabled: true })),
    );
  });

  it('alerts link to no runbook if people have no address for one', () => {
    const values = mergedValues(variantValues(ROOT, 'migrated'), { prometheusRule: { enabled: true } });
    const text = plainText(prometheusRule(plainNotation(values, { name: 'a', namespace: 'b', version: '1' })));
    expect(text).toContain('summary:');
    expect(text).not.toContain('runbook_url');
  });

  it('the alerts in their PrometheusRule are the alerts, and lead to the runbooks of the user', () => {
    const { groups } = specOf(golden('everything'), 'PrometheusRule') as RuleSpec;
    const [ours] = alertGroups('https://wiki.example/runbooks');
    expect(groups[0]?.rules.slice(0, -1)).toEqual(ours?.rules);
    expect(groups[0]?.rules.at(-1)).toMatchObject({ alert: 'AutoscalerIsThere' });
    expect(groups[1]?.rules).toEqual(RECORDING_RULES);
  });

  it('select the pods', () => {
    for (const kind of ['ServiceMonitor', 'PodMonitor']) {
      const objects = golden('everything');
      const { selector, namespaceSelector } = specOf(objects, kind) as MonitorSpec;
      expect(deploymentIn(objects).template.metadata.labels).toMatchObject(selector.matchLabels);
      expect(namespaceSelector).toEqual({ matchNames: ['kube-system'] });
    }
  });
});

describe('values.schema.json', () => {
  // The rules between values are left to Helm below: zod knows no `not`.
  const { allOf: _rules, ...readable } = JSON.parse(
    readFileSync(join(CHART, 'values.schema.json'), 'utf8'),
  ) as z.core.JSONSchema.JSONSchema;
  const schema = z.fromJSONSchema(readable);
  const given = (text: string): unknown => parse(text) as unknown;

  /** As Helm does: a value of null is a value that is not there. */
  function withoutNulls(values: unknown): unknown {
    return JSON.parse(JSON.stringify(values, (_key, value: unknown) => value ?? undefined)) as unknown;
  }

  it.each([...variants(ROOT)])('accepts the values of %s', (variant) => {
    expect(schema.safeParse(withoutNulls(variantValues(ROOT, variant))).error).toBeUndefined();
  });

  it("accepts the daemon's own sample file, and no secret in it", () => {
    const sample = given(readFileSync(join(ROOT, 'config', 'aks-autoscaler.yaml'), 'utf8'));
    expect(schema.safeParse({ config: sample }).error).toBeUndefined();
  });

  /** What users of the Cluster Autoscaler's chart set, one at a time. */
  it.each([
    'autoDiscovery: {clusterName: shop, tags: [a], labels: [{a: b}], roles: [worker], namespace: x}',
    'autoscalingGroups: [{name: a, minSize: 0, maxSize: 3}]',
    'azureClientID: a',
    'azureClientSecret: a',
    'azureSubscriptionID: a',
    'azureTenantID: a',
    'azureResourceGroup: a',
    'azureNodeResourceGroup: a',
    'azureVMType: vmss',
    'azureEnableForceDelete: true',
    '{azureSyncAgentPoolCount: true, azureClusterName: a, azureResourceGroup: b, azureNodeResourceGroup: c}',
    'azureUseManagedIdentityExtension: true',
    'azureUserAssignedIdentityID: a',
    'azureUseWorkloadIdentityExtension: true',
    'cloudProvider: azure',
    'extraArgs: {v: 4, logtostderr: true, stderrthreshold: info, expander: least-waste, balance-similar-node-groups: true, scan-interval: null}',
    'extraArgs: [--v=4]',
    'extraEnv: {A: b}',
    'extraEnvConfigMaps: {A: {name: a, key: b}}',
    'extraEnvSecrets: {A: {name: a, key: b}}',
    'envFromConfigMap: a',
    'envFromSecret: a',
    'extraVolumes: [{name: a, emptyDir: {}}]',
    'extraVolumeMounts: [{name: a, mountPath: /a}]',
    'extraVolumeSecrets: {a: {name: a, mountPath: /a, items: [{key: a, path: b}]}}',
    'historyVolume: {emptyDir: {}}',
    'expanderPriorities: {10: [".*"]}',
    'priorityConfigMapAnnotations: {a: b}',
    'podLabels: {a: b}',
    'podAnnotations: {a: b}',
    'additionalLabels: {a: b}',
    'deployment: {annotations: {a: b}}',
    'serviceMonitor: {enabled: true, interval: 10s, namespace: monitoring, path: /metrics, selector: {release: a}, annotations: {}, metricRelabelings: [], relabelings: []}',
    'prometheusRule: {enabled: true, additionalLabels: {a: b}, namespace: monitoring, interval: null, rules: []}',
    'rbac: {create: true, additionalRules: [], serviceAccount: {annotations: {a: b}, create: true, name: a}}',
    'securityContext: {runAsNonRoot: true}',
    'containerSecurityContext: {readOnlyRootFilesystem: true}',
    'secretKeyRefNameOverride: a',
    'updateStrategy: {type: Recreate}',
    'topologySpreadConstraints: [{maxSkew: 1}]',
    'nodeSelector: {a: b}',
    'tolerations: [{operator: Exists}]',
    'affinity: {nodeAffinity: {}}',
    'revisionHistoryLimit: 3',
    'replicaCount: 1',
    'image: {repository: a, tag: b, pullPolicy: Always, pullSecrets: [c]}',
    'fullnameOverride: a',
    // The defaults of that chart: a copy of its whole file has them all.
    'autoDiscovery: {clusterName: a, namespace: null, tags: [k8s.io/cluster-autoscaler/enabled], roles: [worker], labels: []}',
    'awsAccessKeyID: ""',
    'awsRegion: us-east-1',
    'civoApiUrl: https://api.civo.com',
    'clusterAPIMode: incluster-incluster',
    'clusterAPICloudConfigPath: /etc/kubernetes/mgmt-kubeconfig',
    'magnumCABundlePath: /etc/kubernetes/ca-bundle.crt',
    'kwokConfigMapName: kwok-provider-config',
    'envFromConfigMapOptional: true',
    'rbac: {clusterScoped: true, pspEnabled: false, annotations: {}, serviceAccount: {automountServiceAccountToken: true}}',
    'service: {clusterIP: "", externalIPs: [], loadBalancerIP: "", loadBalancerSourceRanges: []}',
    'serviceMonitor: {relabelings: {}, metricRelabelings: {}}',
    'nameOverride: autoscaler',
    'azureEnableVMSSEtag: false',
    'deployment: {annotations: {}, selector: {}}',
    'service: {selector: {}}',
    'podDisruptionBudget: {annotations: {}, maxUnavailable: 1, selector: {}}',
    'dnsConfig: {nameservers: [10.0.0.10]}',
    'extraObjects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]',
    'initContainers: [{name: a, image: b}]',
    'nodeSelector: {}',
    'kubeTargetVersionOverride: "1.33"',
    'vpa: {enabled: false, updateMode: Auto, containerPolicy: {}}',
    'podDisruptionBudget: {maxUnavailable: 1}',
    'priorityClassName: system-cluster-critical',
    'service: {create: true, annotations: {}, labels: {}, servicePort: 8085, portName: http, type: ClusterIP}',
    'dnsPolicy: ClusterFirst',
    'hostNetwork: true',
    'resources: {limits: {memory: 1Gi}}',
    'initContainers: []',
    'extraObjects: []',
    'customArgs: []',
  ])('takes %s', (text) => {
    expect(schema.safeParse(withoutNulls(given(text))).error).toBeUndefined();
  });

  it.each([
    ['labels of pods that another selector would find', 'deployment: {selector: {a: b}}'],
    ['a digest without its algorithm', 'image: {digest: 0123}'],
    ['an autoscaler of this autoscaler', 'vpa: {enabled: true}'],
    ['arguments instead of all others', 'customArgs: [--v=4]'],
    ['a misspelt setting', 'config: {scaleDown: {unneededtime: 3m}}'],
    ['no duration', 'config: {scaleDown: {unneededTime: soon}}'],
    ['a share above one', 'config: {scaleDown: {utilizationThreshold: 50}}'],
    ['a secret in the ConfigMap', 'config: {azure: {credential: {clientSecret: hush}}}'],
    ['a value of another cloud', 'awsRegion: eu-west-1'],
    ['an address of the service', 'service: {loadBalancerIP: 10.0.0.1}'],
    ['rights in one namespace alone', 'rbac: {clusterScoped: false}'],
    ['another cloud', 'cloudProvider: aws'],
    ['availability sets', 'azureVMType: standard'],
    ['a group without a maximum', 'autoscalingGroups: [{name: a, minSize: 0}]'],
    ['replicas as a text', 'replicaCount: two'],
  ])('refuses %s', (_what, text) => {
    expect(schema.safeParse(given(text)).success).toBe(false);
  });
});
