/** Every key and variable of today's provider: understood, or refused with what to use instead. None is lost in silence. */
import { describe, expect, it } from 'vitest';
import { ENDPOINTS_VARIABLE, KEYS } from '../../src/config/sources/cloud-config.ts';
import { VARIABLES } from '../../src/config/sources/environment.ts';
import { RETIRED } from '../../src/config/sources/retired-settings.ts';
import { configOf, errorsOf } from './support.ts';

/** As its documentation lists them: key of azure.json, variables. */
const TODAY: readonly (readonly [key: string | undefined, ...variables: readonly string[]])[] = [
  ['cloud', 'ARM_CLOUD'],
  ['tenantId', 'ARM_TENANT_ID', 'AZURE_TENANT_ID'],
  ['subscriptionId', 'ARM_SUBSCRIPTION_ID'],
  ['resourceGroup', 'ARM_RESOURCE_GROUP'],
  ['location', 'LOCATION'],
  ['vmType', 'ARM_VM_TYPE'],
  ['clusterName', 'CLUSTER_NAME'],
  ['clusterResourceGroup', 'ARM_CLUSTER_RESOURCE_GROUP'],
  ['armBaseURLForAPClient', 'ARM_BASE_URL_FOR_AP_CLIENT'],
  ['hostedSubscriptionID', 'HOSTED_SUBSCRIPTION_ID'],
  ['hostedResourceGroup', 'HOSTED_RESOURCE_GROUP'],
  ['hostedResourceProxyURL', 'HOSTED_RESOURCE_PROXY_URL'],
  ['authMethod'],
  ['aadClientId', 'ARM_CLIENT_ID', 'AZURE_CLIENT_ID'],
  ['aadClientSecret', 'ARM_CLIENT_SECRET', 'AZURE_CLIENT_SECRET'],
  ['aadClientCertPath', 'ARM_CLIENT_CERT_PATH'],
  ['aadClientCertPassword', 'ARM_CLIENT_CERT_PASSWORD'],
  ['useManagedIdentityExtension', 'ARM_USE_MANAGED_IDENTITY_EXTENSION'],
  ['userAssignedIdentityID', 'ARM_USER_ASSIGNED_IDENTITY_ID'],
  ['useFederatedWorkloadIdentityExtension', 'ARM_USE_FEDERATED_WORKLOAD_IDENTITY_EXTENSION'],
  ['useWorkloadIdentityExtension', 'ARM_USE_WORKLOAD_IDENTITY_EXTENSION'],
  ['aadFederatedTokenFile', 'AZURE_FEDERATED_TOKEN_FILE'],
  ['deployment', 'ARM_DEPLOYMENT'],
  ['deploymentParameters'],
  ['maxDeploymentsCount', 'AZURE_MAX_DEPLOYMENT_COUNT'],
  ['vmssCacheTTLInSeconds', 'AZURE_VMSS_CACHE_TTL_IN_SECONDS'],
  ['vmssCacheTTL', 'AZURE_VMSS_CACHE_TTL'],
  ['vmssVirtualMachinesCacheTTLInSeconds', 'AZURE_VMSS_VMS_CACHE_TTL_IN_SECONDS'],
  ['vmssVmsCacheTTL', 'AZURE_VMSS_VMS_CACHE_TTL'],
  ['vmssVmsCacheJitter', 'AZURE_VMSS_VMS_CACHE_JITTER'],
  ['getVmssSizeRefreshPeriod', 'AZURE_GET_VMSS_SIZE_REFRESH_PERIOD'],
  ['enableForceDelete', 'AZURE_ENABLE_FORCE_DELETE'],
  ['strictCacheUpdates', 'AZURE_STRICT_CACHE_UPDATES'],
  ['enableVMsAgentPool', 'AZURE_ENABLE_VMS_AGENT_POOLS'],
  ['enableVmssFlexNodes', 'AZURE_ENABLE_VMSS_FLEX_NODES'],
  ['enableVmssFlex', 'AZURE_ENABLE_VMSS_FLEX'],
  ['enableVMSSEtag', 'AZURE_ENABLE_VMSS_ETAG'],
  ['enableDynamicInstanceList', 'AZURE_ENABLE_DYNAMIC_INSTANCE_LIST'],
  ['enableDetailedCSEMessage', 'AZURE_ENABLE_DETAILED_CSE_MESSAGE'],
  ['enableFastDeleteOnFailedProvisioning', 'AZURE_ENABLE_FAST_DELETE_ON_FAILED_PROVISIONING'],
  ['enableLabelPredictionsOnTemplate', 'AZURE_ENABLE_LABEL_PREDICTIONS_ON_TEMPLATE'],
  ['cloudProviderBackoff', 'ENABLE_BACKOFF'],
  ['cloudProviderBackoffRetries', 'BACKOFF_RETRIES'],
  ['cloudProviderBackoffExponent', 'BACKOFF_EXPONENT'],
  ['cloudProviderBackoffDuration', 'BACKOFF_DURATION'],
  ['cloudProviderBackoffJitter', 'BACKOFF_JITTER'],
  ['cloudProviderRateLimit', 'CLOUD_PROVIDER_RATE_LIMIT'],
  ['cloudProviderRateLimitQPS', 'RATE_LIMIT_READ_QPS'],
  ['cloudProviderRateLimitBucket', 'RATE_LIMIT_READ_BUCKETS'],
  ['cloudProviderRateLimitQPSWrite', 'RATE_LIMIT_WRITE_QPS'],
  ['cloudProviderRateLimitBucketWrite', 'RATE_LIMIT_WRITE_BUCKETS'],
  ['disableAzureStackCloud'],
  [undefined, 'AZURE_CLUSTER_AUTOSCALER_USER_AGENT_SUFFIX'],
  [undefined, 'AZURE_ENVIRONMENT_FILEPATH'],
];

const file = (content: object) => ({ argv: ['--cloud-config=f'], files: { f: JSON.stringify(content) } });

describe('keys of today', () => {
  it.each(TODAY)('%s %s: has its place', (key, ...variables) => {
    const understood = new Set([...KEYS.map((entry) => entry.key), 'authMethod', ...VARIABLES.map(({ name }) => name), ENDPOINTS_VARIABLE]);
    const retired = new Set(RETIRED.flatMap((entry) => [entry.key ?? '', entry.variable ?? '']));
    for (const name of [key, ...variables]) {
      if (name !== undefined)
        expect(
          [understood.has(name), retired.has(name)].filter((is) => is),
          name,
        ).toHaveLength(1);
    }
  });

  it.each(RETIRED)('$key $variable: $verdict, with what to use instead', ({ key, variable, verdict, builtIn, instead }) => {
    const value = builtIn?.includes('true') === true ? 'false' : 'true';
    for (const [given, label] of [
      ...(key === undefined ? [] : [[file({ [key]: value }), `key ${key} of f`] as const]),
      ...(variable === undefined ? [] : [[{ env: { [variable]: value } }, `environment variable ${variable}`] as const]),
    ]) {
      const said = verdict === 'refused' ? errorsOf(given) : configOf(given).warnings;
      expect(said).toEqual([`${label} ${verdict === 'refused' ? 'is not supported' : 'has no effect'}: ${instead}.`]);
      for (const done of builtIn ?? []) {
        expect(configOf(key === undefined ? given : file({ [key]: done })).warnings).toEqual([]);
      }
    }
  });

  it('blank values count as absent', () => {
    expect(errorsOf({ env: { HOSTED_RESOURCE_GROUP: ' ' } })).toEqual([]);
    expect(errorsOf(file({ hostedResourceGroup: '', deploymentParameters: null }))).toEqual([]);
  });
});

describe('rate limit', () => {
  it('is off', () => {
    expect(configOf({}).azure.rateLimit).toBeUndefined();
    expect(configOf({ env: { RATE_LIMIT_READ_QPS: '3' } }).azure.rateLimit).toBeUndefined();
  });

  it.each([
    ['environment', { env: { CLOUD_PROVIDER_RATE_LIMIT: 'true' } }],
    ['file', file({ cloudProviderRateLimit: true })],
    ['file with zeros', file({ cloudProviderRateLimit: true, cloudProviderRateLimitQPS: 0, cloudProviderRateLimitBucket: 0 })],
  ])('on without numbers in the %s, the documented ones apply', (_, given) => {
    const rate = { perSecond: 1, burst: 5 };
    expect(configOf(given).azure.rateLimit).toEqual({ read: rate, write: rate });
  });

  it('takes the numbers of both sources', () => {
    const env = { CLOUD_PROVIDER_RATE_LIMIT: 'true', RATE_LIMIT_READ_QPS: '2.5', RATE_LIMIT_WRITE_BUCKETS: '9' };
    expect(configOf({ ...file({ cloudProviderRateLimitBucket: 7 }), env }).azure.rateLimit).toEqual({
      read: { perSecond: 2.5, burst: 7 },
      write: { perSecond: 2.5, burst: 9 },
    });
  });

  it('for writes is that for reads unless it is given', () => {
    const reads = { CLOUD_PROVIDER_RATE_LIMIT: 'true', RATE_LIMIT_READ_QPS: '3', RATE_LIMIT_READ_BUCKETS: '10' };
    const read = { perSecond: 3, burst: 10 };
    expect(configOf({ env: reads }).azure.rateLimit).toEqual({ read, write: read });
    const both = { ...reads, RATE_LIMIT_WRITE_QPS: '6', RATE_LIMIT_WRITE_BUCKETS: '20' };
    expect(configOf({ env: both }).azure.rateLimit).toEqual({ read, write: { perSecond: 6, burst: 20 } });
    expect(configOf({ env: { ...both, RATE_LIMIT_READ_QPS: '0', RATE_LIMIT_WRITE_QPS: '0' } }).azure.rateLimit).toEqual({
      read: { perSecond: 1, burst: 10 },
      write: { perSecond: 1, burst: 20 },
    });
  });

  it.each(['-1', 'many'])('a rate of %s is refused', (rate) => {
    expect(errorsOf({ env: { RATE_LIMIT_READ_QPS: rate } })[0]).toMatch(
      /^environment variable RATE_LIMIT_READ_QPS is .*; it must be a number of at least/,
    );
  });
});

describe('retries of reads', () => {
  it('are off, and have the documented numbers when they are on', () => {
    expect(configOf({ env: { BACKOFF_RETRIES: '3' } }).azure.readRetries).toBeUndefined();
    const defaults = { retries: 6, exponent: 1.5, firstMs: 5_000, jitter: 1 };
    expect(configOf({ env: { ENABLE_BACKOFF: 'true' } }).azure.readRetries).toEqual(defaults);
    const env = { BACKOFF_RETRIES: '2', BACKOFF_EXPONENT: '3', BACKOFF_DURATION: '7', BACKOFF_JITTER: '0.5' };
    expect(configOf({ ...file({ cloudProviderBackoff: true }), env }).azure.readRetries).toEqual({
      retries: 2,
      exponent: 3,
      firstMs: 7_000,
      jitter: 0.5,
    });
  });
});

describe('clouds', () => {
  it.each([
    ['AzurePublicCloud', 'https://management.azure.com', 'https://login.microsoftonline.com'],
    ['azurecloud', 'https://management.azure.com', 'https://login.microsoftonline.com'],
    ['AzureUSGovernment', 'https://management.usgovcloudapi.net', 'https://login.microsoftonline.us'],
    ['AzureUSGovernmentCloud', 'https://management.usgovcloudapi.net', 'https://login.microsoftonline.us'],
    ['AZURECHINACLOUD', 'https://management.chinacloudapi.cn', 'https://login.chinacloudapi.cn'],
  ])('%s', (ARM_CLOUD, armEndpoint, authorityHost) => {
    expect(configOf({ env: { ARM_CLOUD } }).azure).toMatchObject({ armEndpoint, authorityHost });
  });

  it('an Azure Stack has the endpoints that it is given, and none without', () => {
    const endpoints = { AZURE_RESOURCE_MANAGER_ENDPOINT: 'https://arm.stack', AZURE_AUTHORITY_HOST: 'https://login.stack' };
    expect(configOf({ env: { ARM_CLOUD: 'AzureStackCloud', ...endpoints } }).azure).toMatchObject({
      armEndpoint: 'https://arm.stack',
      authorityHost: 'https://login.stack',
    });
    expect(errorsOf({ env: { ARM_CLOUD: 'AzureStackCloud' } })).toEqual([
      'environment variable ARM_CLOUD is "AzureStackCloud"; it must be a cloud whose endpoints are known; for AzureStackCloud set azure.armEndpoint and azure.authorityHost too, or AZURE_ENVIRONMENT_FILEPATH.',
    ]);
  });

  it('an absent subscription is read from the metadata of the machine', () => {
    const bare = { ARM_SUBSCRIPTION_ID: '' };
    expect(configOf({ env: bare }).azure).toMatchObject({ subscriptionId: undefined, metadataEndpoint: 'http://169.254.169.254' });
    const elsewhere = { ...bare, AZURE_POD_IDENTITY_AUTHORITY_HOST: 'http://127.0.0.1:40342/' };
    expect(configOf({ env: elsewhere }).azure.metadataEndpoint).toBe('http://127.0.0.1:40342');
  });

  it('a cloud that is gone is named with those there are', () => {
    expect(errorsOf({ env: { ARM_CLOUD: 'AzureGermanCloud' } })[0]).toContain('it must be one of AzurePublicCloud, AzureChinaCloud');
  });
});
