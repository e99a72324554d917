import { rootCertificates } from 'node:tls';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isConfigErrors } from '../../src/config/types/config.ts';
import { parseDuration } from '../../src/config/schema/value-types.ts';
import { loadConfig } from '../../src/config/load.ts';
import { redact } from '../../src/config/redact.ts';
import { configOf, errorsOf, GOOD_ENV } from './support.ts';

describe('durations', () => {
  it.each([
    ['10s', 10_000],
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['1.5h', 5_400_000],
    ['0', 0],
    ['1d', 86_400_000],
    ['10m0s', 600_000],
    ['.5h', 1_800_000],
    ['1.m', 60_000],
    ['+5m', 300_000],
    ['1.1s', 1_100],
    ['1500us', 2],
    ['1ns', 1],
    ['+0', 0],
    ['0h', 0],
    ['.s', undefined],
    ['5M', undefined],
    ['+', undefined],
    ['10', undefined],
    ['-1s', undefined],
    ['1s 2m', undefined],
    ['', undefined],
  ])('%s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});

describe('sources', () => {
  const cloud = (content: object) => ({ argv: ['--cloud-config=a.json'], files: { 'a.json': JSON.stringify(content) } });

  it('later sources win, unset ones keep what was there', () => {
    const files = { 'a.json': '{"vmssCacheTTLInSeconds": 11, "location": "northeurope"}', 'c.yaml': 'azure: {cache: {vmssTtl: 22s}}' };
    const argv = ['--cloud-config=a.json'];
    const ttl = (given: Parameters<typeof configOf>[0]): number => configOf({ files, ...given }).azure.vmssCacheTtlMs;
    expect(ttl({})).toBe(60_000);
    expect(ttl({ argv })).toBe(11_000);
    expect(ttl({ argv: [...argv, '--config=c.yaml'] })).toBe(22_000);
    expect(ttl({ argv: [...argv, '--config=c.yaml'], env: { AZURE_VMSS_CACHE_TTL: '33' } })).toBe(33_000);
    expect(ttl({ argv, env: { AZURE_VMSS_CACHE_TTL: '  ' } })).toBe(11_000);
  });

  it('a time of zero in a variable is that of nothing, as in the file', () => {
    const env = { AZURE_VMSS_CACHE_TTL: '0', AZURE_VMSS_VMS_CACHE_TTL_IN_SECONDS: '0', BACKOFF_DURATION: '0', ENABLE_BACKOFF: 'true' };
    const { azure } = configOf({ ...cloud({ vmssVmsCacheTTL: 90 }), env });
    expect([azure.vmssCacheTtlMs, azure.vmssVmsCacheTtlMs, azure.readRetries?.firstMs]).toEqual([60_000, 90_000, 5_000]);
  });

  it.each<[string, Parameters<typeof configOf>[0], number]>([
    ['without any setting', {}, 30_000],
    ['of a TTL in a variable', { env: { AZURE_VMSS_VMS_CACHE_TTL: '1800' } }, 180_000],
    ['of a TTL in the file', { argv: ['--config=c.yaml'], files: { 'c.yaml': 'azure: {cache: {vmssVmsTtl: 1s}}' } }, 100],
    ['of a TTL in azure.json', cloud({ vmssVmsCacheTTL: 600 }), 60_000],
    ['that is given', { env: { AZURE_VMSS_VMS_CACHE_TTL: '1800', AZURE_VMSS_VMS_CACHE_JITTER: '120' } }, 120_000],
    ['that is given as zero', { env: { AZURE_VMSS_VMS_CACHE_JITTER: '0' } }, 0],
    ['that is given as zero in azure.json', cloud({ vmssVmsCacheJitter: 0 }), 0],
  ])('lists of instances are spread over a tenth of their TTL, unless a jitter is given: %s', (_what, given, jitterMs) => {
    expect(configOf(given).azure.vmssVmsCacheJitterMs).toBe(jitterMs);
  });

  it('the region is taken as the portal writes it', () => {
    expect(configOf({ env: { LOCATION: 'West Europe' } }).azure.location).toBe('westeurope');
  });

  it('parts of a file may be said once and meant twice', () => {
    const text =
      'scaleDown: {unneededTime: 2m, unreadyTime: 3m}\nnodeGroupOptions:\n- {name: a, scaleDownUnneededTime: &t 7m}\n- {name: b, scaleDownUnneededTime: *t}\n';
    const { nodeGroupOptions } = configOf({ argv: ['--config=c.yaml'], files: { 'c.yaml': text } }).azure;
    expect(nodeGroupOptions.map(({ options }) => options)).toEqual([{ unneededForMs: 420_000 }, { unneededForMs: 420_000 }]);
    const merged = 'nodeGroupOptions:\n- &a {name: a, scaleDownUnneededTime: 7m}\n- {<<: *a, name: b}\n';
    expect(configOf({ argv: ['--config=c.yaml'], files: { 'c.yaml': merged } }).azure.nodeGroupOptions).toHaveLength(2);
  });

  it('a flag wins over the file, and a list is replaced whole', () => {
    const files = { 'c.yaml': 'loop: {scanInterval: 20s}\nnodeGroups: [{name: a, min: 1, max: 2}, {name: b, min: 1, max: 2}]' };
    const config = configOf({ files, argv: ['--config=c.yaml', '--scan-interval=30s'] });
    expect(config.loop.scanIntervalMs).toBe(30_000);
    expect(config.azure.nodeGroups).toEqual([{ name: 'pool', min: 0, max: 3 }]);
  });

  it('what holds for one group is read with the names that tags have', () => {
    const options = '{name: gpu, scaleDownUnneededTime: 1h, scaleDownUtilizationThreshold: 0.2, zeroOrMaxNodeScaling: true}';
    const config = configOf({ files: { 'c.yaml': `nodeGroupOptions: [${options}]` }, argv: ['--config=c.yaml'] });
    expect(config.azure.nodeGroupOptions).toEqual([
      { name: 'gpu', options: { unneededForMs: 3_600_000, utilizationThreshold: 0.2, zeroOrMax: true } },
    ]);
    const more =
      '{name: gpu, scaleDownDelayAfterAdd: 20m, initialBackoff: 1m, maxBackoff: 1h, maxParallelRemovals: 2, expanderPriority: 9}';
    expect(
      configOf({ files: { 'c.yaml': `nodeGroupOptions: [${more}]` }, argv: ['--config=c.yaml'] }).azure.nodeGroupOptions[0]?.options,
    ).toEqual({
      delayAfterAddMs: 1_200_000,
      backoffInitialMs: 60_000,
      backoffMaxMs: 3_600_000,
      maxParallelRemovals: 2,
      expanderPriority: 9,
    });
    const drain =
      '{name: gpu, maxGracefulTermination: 1h, evictionTimeout: 5m, evictionRetry: 30s, skipNodesWithSystemPods: false, ' +
      'skipNodesWithLocalStorage: true, skipNodesWithCustomControllerPods: false}';
    expect(
      configOf({ files: { 'c.yaml': `nodeGroupOptions: [${drain}]` }, argv: ['--config=c.yaml'] }).azure.nodeGroupOptions[0]?.options,
    ).toEqual({
      maxGracefulTerminationMs: 3_600_000,
      evictionTimeoutMs: 300_000,
      evictionRetryMs: 30_000,
      skipNodesWithSystemPods: false,
      skipNodesWithLocalStorage: true,
      skipNodesWithCustomControllerPods: false,
    });
    const wrong = (text: string) => errorsOf({ files: { 'c.yaml': `nodeGroupOptions: [${text}]` }, argv: ['--config=c.yaml'] });
    expect(wrong('{name: a, scaleDownUnneededTime: soon}').join()).toContain('a duration such as');
    expect(wrong('{name: a, maxParallelRemovals: 0}').join()).toContain('a whole number of at least 1');
    expect(wrong('{name: a, initialBackoff: 2m, maxBackoff: 1m}').join()).toContain('a first backoff that is not longer than maxBackoff');
    expect(wrong('{name: a}, {name: A}').join()).toContain('a name that no other entry has');
  });

  it('the old keys of azure.json are understood, and win', () => {
    const config = configOf(
      cloud({ vmssCacheTTLInSeconds: 1, vmssCacheTTL: 70, vmssVmsCacheTTL: 400, vmssVmsCacheJitter: 7, vnetName: 'ignored' }),
    );
    expect(config.azure).toMatchObject({ vmssCacheTtlMs: 70_000, vmssVmsCacheTtlMs: 400_000, vmssVmsCacheJitterMs: 7000 });
    const identity = { useWorkloadIdentityExtension: true, aadFederatedTokenFile: '/token' };
    expect(configOf(cloud(identity)).azure.credential).toEqual({ method: 'workload-identity', clientId: 'client', tokenFile: '/token' });
  });

  it('the switch of old for Flexible sets changes nothing: they are always served', () => {
    for (const key of ['enableVmssFlexNodes', 'enableVmssFlex']) {
      const given = configOf({ argv: ['--cloud-config=a.json'], files: { 'a.json': JSON.stringify({ [key]: false }) } });
      expect(given.azure).toEqual(configOf({}).azure);
    }
  });

  it.each<[readonly string[], boolean, readonly string[]]>([
    [[], true, ['cluster-autoscaler-enabled=true', 'cluster-autoscaler-name=shop', 'by default']],
    [['--dry-run'], true, ['cluster-autoscaler-enabled=true', 'cluster-autoscaler-name=shop', 'by default']],
    [['--node-group-auto-discovery=label:a=b'], true, ['a=b']],
    [['--nodes=0:3:p'], true, []],
    [[], false, []],
  ])('%j, with the name of the cluster: %s: the tags %j select pools', (argv, isNamed, expected) => {
    const env = { ...GOOD_ENV, ...(isNamed ? { CLUSTER_NAME: 'shop', ARM_CLUSTER_RESOURCE_GROUP: 'rg-shop' } : {}) };
    const config = loadConfig({ argv, env, readFile: () => '' });
    if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
    const rules = config.azure.discovery.flatMap(({ selectors, byDefault }) => [
      ...selectors.map(({ key, value }) => `${key}=${value}`),
      ...(byDefault === true ? ['by default'] : []),
    ]);
    expect(rules).toEqual(expected);
    const isNothingChosen = expected.length === 0 && argv.length === 0;
    expect(config.warnings.some((text) => text.startsWith('No node group is configured'))).toBe(isNothingChosen);
  });

  it('the etag is on unless turned off, in each source', () => {
    expect(configOf({}).azure.enableVmssEtag).toBe(true);
    expect(configOf({ env: { AZURE_ENABLE_VMSS_ETAG: 'false' } }).azure.enableVmssEtag).toBe(false);
    expect(configOf(cloud({ enableVMSSEtag: false })).azure.enableVmssEtag).toBe(false);
  });

  it('of two variables for one key the documented one wins', () => {
    const env = { AZURE_VMSS_CACHE_TTL_IN_SECONDS: '5', AZURE_VMSS_CACHE_TTL: '6', AZURE_CLIENT_ID: 'newer' };
    const { azure } = configOf({ env });
    expect(azure.vmssCacheTtlMs).toBe(6000);
    expect(azure.credential).toMatchObject({ clientId: 'newer' });
  });

  it.each([
    [['--leader-elect=false'], false],
    [['--leader-elect'], true],
    [['-leader-elect=F'], false],
  ])('booleans as Go writes them: %j', (argv, leaderElect) => {
    expect(configOf({ argv }).kubernetes.leaderElect).toBe(leaderElect);
  });

  it('flags of the Cluster Autoscaler land where they belong', () => {
    const { policy, http, warnings } = configOf({
      argv: [
        '--scale-down-unneeded-time',
        '2m',
        '--expander=most-pods,random',
        '--max-nodes-total=7',
        '--cores-total=4:64',
        '--address=:9000',
        '--probe-address=[::1]:9001',
        '--v=4',
      ],
    });
    expect(policy.scaleDown.unneededForMs).toBe(120_000);
    expect(policy.scaleUp).toMatchObject({ expanders: ['most-pods', 'random'], maxNodesTotal: 7, maxCoresTotal: 64 });
    expect(http).toEqual({
      address: ':9000',
      host: undefined,
      port: 9000,
      probes: { address: '[::1]:9001', host: '::1', port: 9001 },
    });
    expect(policy.scaleDown.minCoresTotal).toBe(4);
    expect(warnings.join()).toContain('--v=4');
  });

  it('bands of a drain are read as the Cluster Autoscaler writes them, and sorted', () => {
    const { drain } = configOf({ argv: ['--drain-priority-config=1000:60,-5:0', '--daemonset-eviction-for-empty-nodes'] }).policy;
    expect(drain).toMatchObject({
      bands: [
        { priority: -5, graceMs: 0 },
        { priority: 1000, graceMs: 60_000 },
      ],
      evictDaemonPods: { fromOccupied: true, fromEmpty: true },
    });
    expect(() => configOf({ argv: ['--drain-priority-config=high:60'] })).toThrow(/PRIORITY:SECONDS/);
  });

  it('no limit of nodes is a number to reckon with', () => {
    expect(configOf({ argv: ['--max-nodes-total=0'] }).policy.scaleUp.maxNodesTotal).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('sizes leave the selector; one alone is enough', () => {
    const argv = ['label:a=b,c=d,min=1,max=2', 'label:a=b,min=3'].map((spec) => `--node-group-auto-discovery=${spec}`);
    expect(configOf({ argv }).azure.discovery).toEqual([
      {
        selectors: [
          { key: 'a', value: 'b' },
          { key: 'c', value: 'd' },
        ],
        min: 1,
        max: 2,
      },
      { selectors: [{ key: 'a', value: 'b' }], min: 3, max: undefined },
    ]);
  });

  it('both rules reach the adapter with their own sizes', () => {
    const argv = ['label:a=b,min=2,max=5', 'label:c=d,min=1,max=4'].map((spec) => `--node-group-auto-discovery=${spec}`);
    expect(configOf({ argv }).azure.discovery.map(({ min, max }) => [min, max])).toEqual([
      [2, 5],
      [1, 4],
    ]);
  });

  it('a name may hold colons', () => {
    expect(configOf({ argv: ['--nodes=1:2:a:b'] }).azure.nodeGroups.map((group) => group.name)).toEqual(['pool', 'a:b']);
  });
});

describe('credential', () => {
  const credential = (env: Record<string, string>) => {
    const { ARM_CLIENT_ID: _id, ARM_CLIENT_SECRET: _secret, ...rest } = GOOD_ENV;
    return configOf({ env: { ...rest, ...env }, bare: true }).azure.credential;
  };

  it.each([
    [
      { ARM_CLIENT_ID: 'c', ARM_CLIENT_SECRET: 's' },
      { method: 'client-secret', clientId: 'c', clientSecret: 's' },
    ],
    [
      { ARM_CLIENT_ID: 'c', AZURE_FEDERATED_TOKEN_FILE: '/t', ARM_CLIENT_SECRET: 's' },
      { method: 'workload-identity', clientId: 'c', tokenFile: '/t' },
    ],
    [
      { ARM_USE_MANAGED_IDENTITY_EXTENSION: 'true', AZURE_FEDERATED_TOKEN_FILE: '/t' },
      { method: 'managed-identity', clientId: undefined },
    ],
    [
      { ARM_USE_MANAGED_IDENTITY_EXTENSION: 'true', ARM_USER_ASSIGNED_IDENTITY_ID: 'u', ARM_CLIENT_ID: 'msi' },
      { method: 'managed-identity', clientId: 'u' },
    ],
    [
      { ARM_CLIENT_ID: 'c', ARM_CLIENT_CERT_PATH: '/p' },
      { method: 'client-certificate', clientId: 'c', certificatePath: '/p', certificatePassword: undefined },
    ],
  ])('%j', (env, expected) => {
    expect(credential(env as unknown as Record<string, string>)).toEqual(expected);
  });
});

describe('the whole', () => {
  it('is frozen to the bottom', () => {
    const config = configOf({});
    expect(Object.isFrozen(config.azure.nodeGroups[0])).toBe(true);
    expect(Object.isFrozen(config.policy.scaleDown)).toBe(true);
  });

  it('shows no secret when redacted, and all the rest', () => {
    const config = configOf({ env: { AZURE_CA_FILE: 'ca' }, files: { ca: rootCertificates[0] ?? '' } });
    const text = JSON.stringify(redact(config));
    expect(text).not.toContain('hush');
    expect(text).not.toContain('BEGIN');
    expect(text).toContain('"subscriptionId":"sub"');
    expect(text).toContain('[redacted]');
  });

  it('an emptyDir does not keep a node by default', () => {
    expect(configOf({}).policy.scaleDown.skipNodesWithLocalStorage).toBe(false);
  });

  it('minimum sizes are enforced, and an old view of the cluster has its limits, by default', () => {
    const { scaleUp, scaleDown } = configOf({}).policy;
    expect(scaleUp.enforceMinSize).toBe(true);
    expect([scaleDown.maxClusterStalenessMs, scaleUp.maxClusterStalenessMs]).toEqual([180_000, 600_000]);
  });

  it('taints that pass may be named one flag at a time, by either name of the flag', () => {
    const argv = ['--startup-taint=a', '--ignore-taint=b', '--startup-taint=c,d', '--startup-taint-prefix=x/', '--status-taint=s'];
    expect(configOf({ argv }).policy.cluster?.taints).toEqual({
      startup: ['a', 'b', 'c', 'd'],
      startupPrefixes: ['x/'],
      status: ['s'],
    });
  });

  it('the limits of an unhealthy cluster are the flags of the Cluster Autoscaler', () => {
    const argv = ['--ok-total-unready-count=5', '--max-total-unready-percentage=60', '--scale-up-from-zero=false'];
    expect(configOf({ argv }).policy.cluster).toMatchObject({ okUnreadyNodes: 5, maxUnreadyShare: 0.6, scaleUpFromZero: false });
  });

  it('the sample file is accepted, and what it shows as defaults are the defaults', () => {
    const sample = readFileSync(join(import.meta.dirname, '../../config/aks-autoscaler.yaml'), 'utf8');
    const shown = loadConfig({ argv: ['--config=s'], env: {}, readFile: () => sample });
    if (isConfigErrors(shown)) throw new Error(shown.errors.join('\n'));
    const plain = configOf({});
    const { policy, loop, http, health, logLevel, kubernetes } = plain;
    expect(shown).toMatchObject({ policy, loop, http, health, logLevel, kubernetes });
    const { nodeGroups: _groups, nodeGroupOptions: _options, discovery: _rules, credential: _credential, ...azure } = shown.azure;
    const identity = ['subscriptionId', 'tenantId', 'nodeResourceGroup', 'location', 'clusterName', 'clusterResourceGroup'];
    for (const [key, value] of Object.entries(azure)) {
      if (!identity.includes(key)) expect(value, key).toEqual(plain.azure[key as keyof typeof azure]);
    }
    expect(shown.azure.nodeGroups).toHaveLength(1);
    expect(shown.azure.discovery).toHaveLength(1);
  });

  it('the chain of expanders follows what there is to go by, unless it is given', () => {
    const expanders = (scaleUp: string) =>
      configOf({ argv: ['--config=c.yaml'], files: { 'c.yaml': `scaleUp: ${scaleUp}` } }).policy.scaleUp.expanders;
    expect(expanders('{}')).toEqual(['least-waste']);
    expect(expanders('{priorities: {1: [a]}, prices: {Standard_D4s_v5: 0.2}}')).toEqual(['priority', 'price', 'least-waste']);
    expect(expanders('{prices: {Standard_D4s_v5: 0.2}}')).toEqual(['price', 'least-waste']);
    expect(expanders('{retailPrices: {enabled: true}}')).toEqual(['price', 'least-waste']);
    expect(expanders('{retailPrices: {enabled: false}}')).toEqual(['least-waste']);
    expect(expanders('{prices: {Standard_D4s_v5: 0.2}, expanders: [least-nodes]}')).toEqual(['least-nodes']);
  });

  describe('the public price list', () => {
    const LIST = { endpoint: 'https://prices.azure.com/api/retail/prices', currency: 'USD', file: undefined, refreshMs: 86_400_000 };
    const listOf = (scaleUp: string, env: Readonly<Record<string, string>> = {}) =>
      configOf({ argv: ['--config=c.yaml'], env, files: { 'c.yaml': `scaleUp: ${scaleUp}` } }).azure.retailPrices;

    it.each<[string, string, Readonly<Record<string, string>>, object | undefined]>([
      ['is shown by default in the public cloud', '{}', {}, { ...LIST, byDefault: true }],
      ['decides if it is enabled', '{retailPrices: {enabled: true}}', {}, LIST],
      ['decides if the chain names price', '{expanders: [price]}', {}, LIST],
      ['can be turned off', '{retailPrices: {enabled: false}}', {}, undefined],
      ['is not read by default beside configured prices', '{prices: {Standard_D4s_v5: 1}}', {}, undefined],
      ['is not read by default beside configured prices that decide', '{prices: {a: 1}, expanders: [price]}', {}, undefined],
      ['is not read by default of another cloud', '{}', { ARM_CLOUD: 'AzureChinaCloud' }, undefined],
      ['is not read by default of an imitation', '{}', { AZURE_RESOURCE_MANAGER_ENDPOINT: 'https://127.0.0.1:1' }, undefined],
      [
        'is read by default where its endpoint is configured',
        '{retailPrices: {endpoint: "https://127.0.0.1:1/p"}}',
        { AZURE_RESOURCE_MANAGER_ENDPOINT: 'https://127.0.0.1:1' },
        { ...LIST, endpoint: 'https://127.0.0.1:1/p', byDefault: true },
      ],
    ])('%s', (_, scaleUp, env, expected) => {
      expect(listOf(scaleUp, env)).toEqual(expected);
    });

    it('that is read by default adds no expander', () => {
      expect(configOf({}).policy.scaleUp.expanders).toEqual(['least-waste']);
      expect(configOf({}).policy.scaleUp).not.toHaveProperty('retailPrices');
    });

    it('has an address, a currency, a file and an interval', () => {
      const text = '{retailPrices: {enabled: true, currency: EUR, file: /kept, refresh: 1h, endpoint: "https://p.example/"}}';
      expect(listOf(text)).toEqual({ endpoint: 'https://p.example', currency: 'EUR', file: '/kept', refreshMs: 3_600_000 });
    });
  });

  it('priorities and prices are read as the planner wants them', () => {
    const text = 'scaleUp: {priorities: {50: ["(?i)spot"], -1: [b]}, prices: {Standard_D4s_v5/Spot: 0.05}}';
    const { scaleUp } = configOf({ argv: ['--config=c.yaml'], files: { 'c.yaml': text } }).policy;
    expect(scaleUp.prices).toEqual({ 'standard_d4s_v5/spot': 0.05 });
    expect(scaleUp.priorities).toEqual([
      { priority: 50, patterns: ['(?i)spot'] },
      { priority: -1, patterns: ['b'] },
    ]);
  });
});
