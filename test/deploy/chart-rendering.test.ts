/** Helm reads the chart as we do. Needs Helm; without it, nothing here runs. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { variants, variantValues } from '../../deploy/files.ts';
import { mergedValues, plainNotation, plainText, type JsonMap } from '../../deploy/notation.ts';
import { rbac } from '../../deploy/objects.ts';
import { findHelm } from './helm.ts';
import { OF_AN_AZURE_USER, UPSTREAM } from './upstream-values.ts';
import {
  CHART,
  configuredBy,
  deploymentIn,
  golden,
  type KubeObject,
  kindIn,
  objectsIn,
  type RoleRule,
  ROOT,
  specOf,
  statusRules,
} from './kube-objects.ts';

const helm = findHelm(process.env);
if (helm === undefined) process.stderr.write('no Helm on PATH or in the cache: `npm run helm` builds it; rendering is not tested\n');

interface Rendering {
  readonly text: string;
  readonly error: string;
}

function template(chart: string, files: readonly string[], given: string): Rendering {
  const args = ['template', 'aks-autoscaler', chart, '--namespace', 'kube-system', ...files, '--values', '-'];
  const { stdout, stderr } = spawnSync(helm ?? 'helm', args, { encoding: 'utf8', input: given });
  return { text: stdout, error: stderr };
}

function render(values: readonly string[], given = '{}'): Rendering {
  return template(
    CHART,
    values.flatMap((variant) => ['--values', join(CHART, 'ci', `${variant}-values.yaml`)]),
    given,
  );
}

/** NOTES.txt as a template of its own: Helm shows it only beside a cluster. */
let notesChart = '';

beforeAll(() => {
  notesChart = mkdtempSync(join(tmpdir(), 'chart-'));
  cpSync(CHART, notesChart, { recursive: true });
  const templates = join(notesChart, 'templates');
  const text = readFileSync(join(templates, 'NOTES.txt'), 'utf8');
  for (const file of readdirSync(templates)) if (file !== '_names.tpl') rmSync(join(templates, file));
  writeFileSync(join(templates, '_notes.tpl'), `{{- define "notes" -}}\n${text}{{- end -}}`);
  writeFileSync(join(templates, 'notes.yaml'), 'text: {{ include "notes" . | toJson }}\n');
});
afterAll(() => rmSync(notesChart, { recursive: true }));

function notes(values: object): string {
  const { text, error } = template(notesChart, [], JSON.stringify(values));
  expect(error).toBe('');
  return (parse(text) as { readonly text: string }).text;
}

/** Helm and we spell the configuration differently, so its digests differ. */
function comparable(objects: readonly KubeObject[]): unknown {
  const text = JSON.stringify(objects, (key, value: unknown) => {
    if (key === 'checksum/config') return 'a digest';
    return key === 'config.yaml' || key === 'priorities' ? (parse(String(value)) as unknown) : value;
  });
  const plain = JSON.parse(text) as readonly KubeObject[];
  return Object.fromEntries(plain.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

describe.skipIf(helm === undefined)('the chart, rendered by Helm', () => {
  it('with the values of the example is the plain manifests', () => {
    const { resources } = parse(readFileSync(join(ROOT, 'deploy', 'kustomization.yaml'), 'utf8')) as {
      readonly resources: readonly string[];
    };
    const plain = resources.flatMap((file) => objectsIn(readFileSync(join(ROOT, 'deploy', file), 'utf8')));
    expect(comparable(objectsIn(render(['example']).text))).toEqual(comparable(plain));
  });

  it.each(variants(ROOT).filter((variant) => variant !== 'example'))('with the values of %s is the golden file', (variant) => {
    const { text, error } = render([variant]);
    expect(error).toBe('');
    expect(comparable(objectsIn(text))).toEqual(comparable(golden(variant)));
  });

  it('writes large numbers in full', () => {
    const values = { extraArgs: { 'memory-total': '0:6400000', 'max-nodes-total': 1_000_000 }, extraEnv: { A: 1_000_000 } };
    const { text } = render([], JSON.stringify(values));
    expect(text).toContain('--max-nodes-total=1000000"');
    expect(text).toContain('value: "1000000"');
  });

  it.each<readonly [string, object]>([
    ['cluster-autoscaler-status', {}],
    ['cluster-autoscaler-status', { extraArgs: ['--v=4'], config: { kubernetes: { leaderElect: true } } }],
    ['a', { config: { kubernetes: { statusConfigMapName: 'a' } } }],
    ['b', { config: { kubernetes: { statusConfigMapName: 'a' } }, extraArgs: ['--v=4', '--status-config-map-name=b'] }],
    ['c', { extraArgs: ['--status-config-map-name=b', '-status_config_map_name', 'c', '--v=4'] }],
    ['d', { extraArgs: { 'status-config-map-name_2': 'd', 'status-config-map-name': 'b', v: null } }],
    ['e', { extraArgs: { 'status-config-map-name': ['d', 'e'] } }],
    ['7', { extraArgs: { 'status-config-map-name': 7 } }],
  ])('lets the daemon write its status as %s: %j', (name, values) => {
    const { text, error } = render(['example'], JSON.stringify(values));
    expect(error).toBe('');
    const objects = objectsIn(text);
    expect(configuredBy(objects).kubernetes.statusConfigMapName).toBe(name);
    expect(statusRules(objects)).toEqual([
      { names: [name, 'aks-autoscaler-templates', 'aks-autoscaler-memory'], verbs: ['get', 'update'] },
      { names: [name], verbs: ['delete'] },
    ]);
    const release = { name: 'aks-autoscaler', namespace: 'kube-system', version: '1' };
    const plain = plainText(rbac(plainNotation(mergedValues(variantValues(ROOT, 'example'), values as JsonMap), release)));
    expect(statusRules(objectsIn(plain))).toEqual(statusRules(objects));
  });

  it.each([
    [{}, 0],
    [{ config: { scaleUp: { nominateNodes: false } } }, 0],
    [{ config: { scaleUp: { nominateNodes: true } } }, 1],
    [{ config: { cluster: { verticalPodAutoscalers: true } } }, 1],
  ])('grants rights that a setting needs only where that is on: %j', (values, rules) => {
    const { text, error } = render(['example'], JSON.stringify(values));
    expect([error, text.split(/pods\/status|"verticalpodautoscalers"/).length - 1]).toEqual(['', rules]);
  });

  it('replaces the pods for a setting that needs a restart, and not for one that applies to a running daemon', () => {
    const digest = (config: object): unknown => {
      const { text, error } = render(['example'], JSON.stringify({ config }));
      expect(error).toBe('');
      return deploymentIn(objectsIn(text)).template.metadata.annotations?.['checksum/config'];
    };
    const plain = digest({});
    for (const config of [
      { scaleDown: { unneededTime: '3m' }, logLevel: 'debug', health: { maxInactivity: '5m' } },
      { scaleUp: { maxNodesTotal: 7 }, cluster: { okTotalUnreadyCount: 9 }, nodeGroups: [{ name: 'a', min: 0, max: 1 }] },
    ])
      expect(digest(config)).toBe(plain);
    for (const config of [{ scaleUp: { proactive: true } }, { cluster: { startupTaints: ['a'] } }, { http: { address: ':9000' } }])
      expect(digest(config)).not.toBe(plain);
  });

  it.each(['{}', '', '{scaleDown: , azure: , cluster: , scaleUp: }'])('accepts an empty configuration: config: %s', (config) => {
    const { text, error } = render([], `config: ${config}`);
    expect(error).toBe('');
    const file = objectsIn(text).find(({ kind }) => kind === 'ConfigMap') as unknown as { readonly data: Record<string, string> };
    expect(Object.values((parse(file.data['config.yaml'] ?? '') as object | null) ?? {}).filter((section) => section !== null)).toEqual([]);
  });

  const rendered = (values: object): readonly KubeObject[] => {
    const { text, error } = render([], JSON.stringify(values));
    expect(error).toBe('');
    return objectsIn(text);
  };

  const SYSTEM = { 'kubernetes.azure.com/mode': 'system' };
  it.each<{ values: object; budget: object; nodeSelector: object | undefined; leases: readonly [string, string] }>([
    { values: {}, budget: { maxUnavailable: 1 }, nodeSelector: SYSTEM, leases: ['aks-autoscaler', 'aks-autoscaler-dry-run'] },
    {
      values: { podDisruptionBudget: { maxUnavailable: 0 }, nodeSelector: {}, config: { kubernetes: { leaseName: 'a' } } },
      budget: { maxUnavailable: 0 },
      nodeSelector: undefined,
      leases: ['a', 'a-dry-run'],
    },
    {
      values: {
        podDisruptionBudget: { minAvailable: 1 },
        nodeSelector: { agentpool: 'ops' },
        extraArgs: ['--leader-elect-resource-name=b'],
      },
      budget: { minAvailable: 1 },
      nodeSelector: { agentpool: 'ops' },
      leases: ['b', 'b-dry-run'],
    },
    {
      values: { podDisruptionBudget: { minAvailable: '50%' } },
      budget: { minAvailable: '50%' },
      nodeSelector: SYSTEM,
      leases: ['aks-autoscaler', 'aks-autoscaler-dry-run'],
    },
  ])('merges no value of ours into $values, and lets the daemon change only its own leases and ConfigMaps', (row) => {
    const objects = rendered(row.values);
    const { selector: _selector, ...budget } = specOf(objects, 'PodDisruptionBudget') as Record<string, unknown>;
    expect(budget).toEqual(row.budget);
    expect((deploymentIn(objects).template.spec as { readonly nodeSelector?: object }).nodeSelector).toEqual(row.nodeSelector);
    const role: object = kindIn(objects, 'Role') ?? {};
    const { rules } = role as { readonly rules: readonly (RoleRule & { readonly resources: readonly string[] })[] };
    const leases = rules.filter(({ resources }) => resources.includes('leases'));
    expect(leases.map(({ resourceNames, verbs }) => [resourceNames, verbs])).toEqual([
      [undefined, ['create']],
      [row.leases, ['get', 'list', 'watch', 'update', 'patch']],
    ]);
    // The ConfigMaps of two daemons in one namespace are two, as their leases are.
    const stored = ['cluster-autoscaler-status', `${row.leases[0]}-templates`, `${row.leases[0]}-memory`];
    expect(rules.map(({ resourceNames }) => resourceNames)).toContainEqual(stored);
  });

  it('refuses a disruption budget with both numbers in one sentence', () => {
    const { error } = render([], JSON.stringify({ podDisruptionBudget: { maxUnavailable: 1, minAvailable: 1 } }));
    expect(error).toMatch(/podDisruptionBudget has maxUnavailable and minAvailable; Kubernetes accepts one of them/);
  });

  it('empties every map of ours with null', () => {
    const maps = ['resources', 'securityContext', 'containerSecurityContext', 'livenessProbe', 'readinessProbe'];
    const objects = rendered({ ...Object.fromEntries(maps.map((name) => [name, null])), podDisruptionBudget: null });
    const { spec } = deploymentIn(objects).template;
    const [container] = spec.containers;
    expect(Object.keys({ ...spec, ...container }).filter((key) => key === 'resources' || key === 'securityContext')).toEqual([]);
    expect(container?.livenessProbe).toEqual({ httpGet: { path: '/healthz', port: 'probes' } });
    expect(kindIn(objects, 'PodDisruptionBudget')).toBeUndefined();
  });

  it.each<{ values: object; policy: object; metadata: boolean; admitted: object | undefined }>([
    { values: {}, policy: {}, metadata: true, admitted: undefined },
    { values: { azureLocation: 'westeurope' }, policy: { ingressFrom: [] }, metadata: false, admitted: undefined },
    {
      values: { azureLocation: 'westeurope', azureUseManagedIdentityExtension: true },
      policy: { ingressFrom: [{ podSelector: {} }] },
      metadata: true,
      admitted: [{ ports: [{ protocol: 'TCP', port: 8085 }], from: [{ podSelector: {} }] }],
    },
  ])(
    'a network policy of $policy with $values leaves the metadata service open: $metadata, and no pod gets to the port of the probes',
    ({ values, policy, metadata, admitted }) => {
      const given = { networkPolicy: { enabled: true, ...policy }, ...values };
      const spec = specOf(rendered(given), 'NetworkPolicy') as { readonly policyTypes: readonly string[]; readonly ingress?: object };
      expect([spec.policyTypes, spec.ingress]).toEqual([['Ingress', 'Egress'], admitted]);
      expect(JSON.stringify(spec).includes('169.254.169.254/32')).toBe(metadata);
      expect(notes(given).includes('networkPolicy.ingressFrom is empty')).toBe(admitted === undefined);
    },
  );

  it.each<[object, object]>([
    [{}, { enableVmssEtag: true, vmssCacheTtlMs: 60_000, vmssVmsCacheTtlMs: 300_000, vmssVmsCacheJitterMs: 30_000 }],
    [{ azureEnableVMSSEtag: false }, { enableVmssEtag: false }],
    [{ azureEnableVMSSEtag: true, config: { azure: { enableVmssEtag: false } } }, { enableVmssEtag: true }],
    [{ config: { azure: { enableVmssEtag: false } } }, { enableVmssEtag: false }],
    [{ azureVMSSCacheTTL: 90 }, { vmssCacheTtlMs: 90_000 }],
    [{ azureVMSSVMsCacheTTL: 604_800 }, { vmssVmsCacheTtlMs: 604_800_000, vmssVmsCacheJitterMs: 60_480_000 }],
    [
      { azureVMSSVMsCacheTTL: 600, azureVMSSVMsCacheJitter: 45 },
      { vmssVmsCacheTtlMs: 600_000, vmssVmsCacheJitterMs: 45_000 },
    ],
    [{ azureVMSSVMsCacheJitter: 0 }, { vmssVmsCacheJitterMs: 0 }],
    [
      { azureVMSSCacheTTL: 90, config: { azure: { cache: { vmssTtl: '2m', vmssVmsTtl: '7m' } } } },
      { vmssCacheTtlMs: 90_000, vmssVmsCacheTtlMs: 420_000 },
    ],
  ])('the daemon obeys %j', (values, expected) => {
    expect(configuredBy(rendered({ ...OF_AN_AZURE_USER, ...values })).azure).toMatchObject(expected);
  });

  it.each<[object, RegExp]>([
    [{ azureEnableVMSSEtag: false }, /WARNING: azureEnableVMSSEtag is false/],
    [{ azureEnableVMSSEtag: true }, /in kube-system\.\n\n1\. Wait/],
    [
      { autoDiscovery: { tags: ['a'] }, vpa: { enabled: false }, awsRegion: '' },
      /without effect here \(.*\): vpa, autoDiscovery\.tags\.\n/,
    ],
  ])('says after the installation which values have no effect, or a grave one: %j', (values, says) => {
    expect(
      notes({ azureClusterName: 'a', azureResourceGroup: 'b', ...values, autoscalingGroups: [{ name: 'a', minSize: 0, maxSize: 1 }] }),
    ).toMatch(says);
  });

  it("takes a copy of the upstream chart's whole values file", () => {
    const objects = rendered({ ...(parse(UPSTREAM) as object), ...OF_AN_AZURE_USER });
    // That chart's default, which the notes after the installation warn of.
    expect(configuredBy(objects).azure.enableVmssEtag).toBe(false);
    // Its empty maps are the user's: nothing of ours is merged into them.
    expect(deploymentIn(objects).template.spec).not.toHaveProperty('nodeSelector');
  });

  it('names, labels and annotates every object, and never the same key twice', () => {
    const objects = rendered({
      nameOverride: 'nodes',
      additionalLabels: { team: 'a', row: 'all' },
      additionalAnnotations: { owner: 'a', row: 'all' },
      podLabels: { team: 'b' },
      podAnnotations: { owner: 'b' },
      service: { labels: { team: 'c' }, annotations: { owner: 'c' } },
      rbac: { annotations: { owner: 'd' } },
      expanderPriorities: { 10: ['.*'] },
      networkPolicy: { enabled: true },
      serviceMonitor: { enabled: true },
      podMonitor: { enabled: true },
      prometheusRule: { enabled: true },
      grafanaDashboard: { enabled: true },
      azureClientSecret: 'not-a-real-secret',
    });
    expect(objects.length).toBeGreaterThan(13);
    for (const { kind, metadata } of objects) {
      expect([kind, metadata.labels['row'], metadata.annotations?.['row']]).toEqual([kind, 'all', 'all']);
      expect(metadata.name).toMatch(/^(?:aks-autoscaler-nodes(?:-dashboard)?|cluster-autoscaler-priority-expander)$/);
    }
    const owners = Object.fromEntries(objects.map(({ kind, metadata }) => [kind, metadata.annotations?.['owner']]));
    expect([owners['Service'], owners['ClusterRole'], owners['Deployment']]).toEqual(['c', 'd', 'a']);
    const { metadata } = deploymentIn(objects).template;
    expect([metadata.labels['team'], metadata.annotations?.['owner']]).toEqual(['b', 'b']);
    expect(kindIn(objects, 'Service')?.metadata.labels['team']).toBe('c');
  });

  it('creates further objects, and adds containers, name servers, probes and a digest', () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const objects = rendered({
      extraObjects: [
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'one' } },
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'two' } },
      ],
      initContainers: [{ name: 'first', image: 'registry.example/first' }],
      dnsConfig: { nameservers: ['10.0.0.10'] },
      livenessProbe: { timeoutSeconds: 20 },
      image: { repository: 'registry.example/a', digest },
    });
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(['one', 'two']));
    const { spec } = deploymentIn(objects).template;
    expect(spec).toMatchObject({ initContainers: [{ name: 'first' }], dnsConfig: { nameservers: ['10.0.0.10'] } });
    expect(spec.containers[0]).toMatchObject({
      image: `registry.example/a@${digest}`,
      livenessProbe: { timeoutSeconds: 20, periodSeconds: 30 },
    });
  });

  it('three values are enough on a node of the cluster: the rest comes from its metadata and from the webhook', () => {
    const objects = rendered({ azureClusterName: 'shop', azureResourceGroup: 'rg-shop', azureClientID: 'c' });
    expect(kindIn(objects, 'ServiceAccount')?.metadata.annotations).toMatchObject({ 'azure.workload.identity/client-id': 'c' });
    const { azure, dryRun, warnings } = configuredBy(objects, { AZURE_FEDERATED_TOKEN_FILE: '/t', AZURE_TENANT_ID: 't' });
    expect(azure).toMatchObject({
      clusterName: 'shop',
      clusterResourceGroup: 'rg-shop',
      nodeResourceGroup: undefined,
      subscriptionId: undefined,
      credential: { method: 'workload-identity', clientId: 'c', tokenFile: '/t' },
      discovery: [{ selectors: [{ key: 'cluster-autoscaler-enabled' }, { key: 'cluster-autoscaler-name', value: 'shop' }] }],
    });
    expect([dryRun, warnings]).toEqual([false, []]);
  });

  it('waits longer for an answer of the liveness probe than the longest plan takes', () => {
    const objects = rendered({ azureSubscriptionID: 's', azureResourceGroup: 'MC_a_b_c', autoDiscovery: { clusterName: 'shop' } });
    const { policy } = configuredBy(objects, { AZURE_FEDERATED_TOKEN_FILE: '/t', ARM_TENANT_ID: 't', ARM_CLIENT_ID: 'c' });
    const longestMs = (policy.scaleUp.maxPlanningMs ?? 0) + (policy.scaleDown.maxSimulationMs ?? 0);
    const timeoutSeconds = deploymentIn(objects).template.spec.containers[0]?.livenessProbe.timeoutSeconds ?? 0;
    expect(longestMs).toBeGreaterThan(0);
    expect(timeoutSeconds * 1000).toBeGreaterThan(longestMs);
  });

  it.each<readonly [string, object, RegExp]>([
    ['no pool is chosen', {}, /No pool is chosen, so nothing will be scaled/],
    [
      'three values',
      { azureClusterName: 'shop', azureResourceGroup: 'a' },
      /It scales the pools with the tags cluster-autoscaler-enabled=true and cluster-autoscaler-name=shop\./,
    ],
    [
      'the image of copied values',
      { image: { repository: 'registry.k8s.io/autoscaling/cluster-autoscaler' } },
      /WARNING: image\.repository is the Cluster Autoscaler's image/,
    ],
    ['a pool is chosen', { autoDiscovery: { clusterName: 'shop' } }, /installed as aks-autoscaler in kube-system\.\n\n1\. Wait/],
    ['a dry run', { config: { dryRun: true } }, /It is a dry run/],
  ])('says after the installation what to do: %s', (_what, values, says) => {
    expect(notes(values)).toMatch(says);
  });

  it("keeps a user's string a string", () => {
    const values = { podAnnotations: { a: '{{ .Release.Name }}: "yes"' }, extraEnv: { B: '${x} "y" # z' } };
    const { template } = deploymentIn(objectsIn(render([], JSON.stringify(values)).text));
    expect(template.metadata.annotations).toMatchObject(values.podAnnotations);
    expect(template.spec.containers[0]?.env).toContainEqual({ name: 'B', value: '${x} "y" # z' });
  });

  it.each([
    ['a misspelt setting', { config: { scaleDown: { unneededtime: '3m' } } }, /unneededtime/],
    ['a value of another cloud', { awsRegion: 'eu-west-1' }, /awsRegion/],
    ["AKS's count without the name of its cluster", { azureSyncAgentPoolCount: true }, /azureSyncAgentPoolCount|azureClusterName|anyOf/],
    ['two identities', { azureUseWorkloadIdentityExtension: true, azureUseManagedIdentityExtension: true }, /allOf|not/],
    ['a cluster without its resource groups', { azureClusterName: 'shop' }, /azure/],
    ['a label that selects our pods', { additionalLabels: { 'app.kubernetes.io/name': 'a' } }, /not/],
  ])('refuses %s by name', (_what, values, said) => {
    expect(render([], JSON.stringify(values)).error).toMatch(said);
  });

  it('passes the chart linter', () => {
    const linted = spawnSync(helm ?? 'helm', ['lint', '--strict', CHART, '--values', join(CHART, 'ci', 'example-values.yaml')], {
      encoding: 'utf8',
    });
    expect([linted.status, linted.stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });
});
