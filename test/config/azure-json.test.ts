/** The file of today's provider and its variables say the same thing, in every spelling that is taken today. */
import { describe, expect, it } from 'vitest';
import { KEYS } from '../../src/config/sources/cloud-config.ts';
import { VARIABLES } from '../../src/config/sources/environment.ts';
import type { TextKind } from '../../src/config/sources/text-values.ts';
import { configOf, errorsOf, type Given } from './support.ts';

const file = (content: object, rest: Given = {}): Given => ({
  ...rest,
  argv: ['--cloud-config=a.json'],
  files: { 'a.json': JSON.stringify(content) },
});

const SAMPLES: Readonly<Record<TextKind, string>> = {
  text: 'sample',
  secret: 'sample',
  duration: '77s',
  seconds: '77',
  integer: '7',
  number: '7',
  boolean: 'true',
  'boolean-or-auto': 'true',
  list: 'a,b',
};
/** Where a sample of the kind would not do, or would say nothing new. */
const BY_PATH: Readonly<Record<string, string>> = {
  'azure.cloud': 'AzureChinaCloud',
  'azure.vmType': 'VMSS',
  'azure.enableVmssEtag': 'false',
};
/** What a setting needs beside it to be seen. */
const BESIDE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'azure.clusterName': { ARM_CLUSTER_RESOURCE_GROUP: 'rg' },
  'azure.clusterResourceGroup': { CLUSTER_NAME: 'c' },
  'azure.credential.clientSecret': { ARM_CLIENT_SECRET: '', AZURE_CLIENT_SECRET: '' },
  'azure.credential.certificatePath': { ARM_CLIENT_SECRET: '' },
  'azure.credential.certificatePassword': { ARM_CLIENT_SECRET: '', ARM_CLIENT_CERT_PATH: '/p' },
  'azure.credential.userAssignedIdentityId': { ARM_USE_MANAGED_IDENTITY_EXTENSION: 'true' },
  'azure.credential.useWorkloadIdentity': { AZURE_FEDERATED_TOKEN_FILE: '/t' },
  'azure.cache.vmssVmsJitter': { AZURE_VMSS_VMS_CACHE_TTL: '100' },
};
/** The good environment would go before the file. */
const without = (path: string): Readonly<Record<string, string>> =>
  Object.fromEntries(VARIABLES.filter((variable) => variable.path === path).map(({ name }) => [name, '']));
const gate = (path: string): Readonly<Record<string, string>> => ({
  ...(path.startsWith('azure.rateLimit') ? { CLOUD_PROVIDER_RATE_LIMIT: 'true' } : {}),
  ...(path.startsWith('azure.readRetries') ? { ENABLE_BACKOFF: 'true' } : {}),
});

describe('every key and every variable', () => {
  it.each(KEYS)('$key says what its variables say', ({ key, path, kind }) => {
    const value = BY_PATH[path] ?? SAMPLES[kind];
    const env = { ...gate(path), ...without(path), ...BESIDE[path] };
    const switched = path.endsWith('.enabled') ? {} : env;
    const ofFile = configOf(file({ [key]: value }, { env: switched })).azure;
    for (const { name } of VARIABLES.filter((variable) => variable.path === path)) {
      expect(configOf({ env: { ...switched, [name]: value } }).azure, name).toEqual(ofFile);
    }
    if (path !== 'azure.vmType') expect(ofFile).not.toEqual(configOf({}).azure);
  });

  it.each([
    ['AZURE_TENANT_ID', 'ARM_TENANT_ID'],
    ['AZURE_CLIENT_ID', 'ARM_CLIENT_ID'],
    ['AZURE_VMSS_CACHE_TTL', 'AZURE_VMSS_CACHE_TTL_IN_SECONDS'],
    ['AZURE_VMSS_VMS_CACHE_TTL', 'AZURE_VMSS_VMS_CACHE_TTL_IN_SECONDS'],
    ['ARM_USE_WORKLOAD_IDENTITY_EXTENSION', 'ARM_USE_FEDERATED_WORKLOAD_IDENTITY_EXTENSION'],
  ])('%s wins over %s', (strong, weak) => {
    const names = VARIABLES.map(({ name }) => name);
    expect(names.indexOf(strong)).toBeGreaterThan(names.indexOf(weak));
    expect(VARIABLES.find(({ name }) => name === strong)?.path).toBe(VARIABLES.find(({ name }) => name === weak)?.path);
  });

  it.each([
    ['vmssCacheTTL', 'vmssCacheTTLInSeconds'],
    ['vmssVmsCacheTTL', 'vmssVirtualMachinesCacheTTLInSeconds'],
  ])('the older key %s wins over %s, in whatever order the file has them', (strong, weak) => {
    const ttls = (content: object): readonly number[] => {
      const { vmssCacheTtlMs, vmssVmsCacheTtlMs } = configOf(file(content)).azure;
      return [vmssCacheTtlMs, vmssVmsCacheTtlMs];
    };
    expect(ttls({ [strong]: 41, [weak]: 42 })).toEqual(ttls({ [weak]: 42, [strong]: 41 }));
    expect(ttls({ [strong]: 41, [weak]: 42 })).toContain(41_000);
  });
});

describe('spellings of azure.json', () => {
  const bare = (name: string): Given => ({ env: { [name]: '' } });

  it.each([
    ['tenantID', 'ARM_TENANT_ID', 'tenantId'],
    ['TENANTID', 'ARM_TENANT_ID', 'tenantId'],
    ['subscriptionID', 'ARM_SUBSCRIPTION_ID', 'subscriptionId'],
    ['ResourceGroup', 'ARM_RESOURCE_GROUP', 'nodeResourceGroup'],
  ] as const)('%s is taken in any letter case', (key, variable, field) => {
    expect(configOf(file({ [key]: 'x' }, bare(variable))).azure[field]).toBe('x');
  });

  it('the right letter case wins over another, and an error quotes the original spelling', () => {
    expect(configOf(file({ tenantId: 'right', TenantID: 'other' }, bare('ARM_TENANT_ID'))).azure.tenantId).toBe('right');
    expect(errorsOf(file({ VMSSCacheTTL: 'soon' }))[0]).toContain('key VMSSCacheTTL of a.json is "soon"');
    expect(errorsOf(file({ hostedresourcegroup: 'x' }))[0]).toContain('key hostedresourcegroup of a.json is not supported');
  });

  it.each([
    [
      'texts for numbers and booleans',
      { vmssCacheTTL: '70', enableForceDelete: 'true' },
      { vmssCacheTtlMs: 70_000, enableForceDelete: true },
    ],
    ['booleans as Go writes them', { enableForceDelete: 'T' }, { enableForceDelete: true }],
    ['nulls', { vmssCacheTTL: null, cloud: null, vmType: null }, { vmssCacheTtlMs: 60_000 }],
    ['empty texts', { cloud: '', vmType: '', location: '' }, { location: 'westeurope' }],
    [
      'zeros for times',
      { vmssCacheTTLInSeconds: 0, vmssVirtualMachinesCacheTTLInSeconds: 0 },
      { vmssCacheTtlMs: 60_000, vmssVmsCacheTtlMs: 300_000 },
    ],
    ['zeros in quotes', { vmssCacheTTLInSeconds: '0', vmssVirtualMachinesCacheTTLInSeconds: ' 0 ' }, { vmssCacheTtlMs: 60_000 }],
    ['a method in any letter case', { authMethod: 'Principal' }, {}],
    ['blank texts', { authMethod: ' ', tenantId: '  ', location: ' ' }, { tenantId: 'tenant', location: 'westeurope' }],
    ['zeros for older times', { vmssCacheTTL: 0, vmssVmsCacheTTL: 0 }, { vmssCacheTtlMs: 60_000, vmssVmsCacheTtlMs: 300_000 }],
    [
      'what is for others',
      { vnetName: 'v', useInstanceMetadata: true, loadBalancerSku: 'Standard', maximumLoadBalancerRuleCount: 250 },
      {},
    ],
  ])('%s are taken', (_what, content, azure) => {
    expect(configOf(file(content)).azure).toMatchObject(azure);
    expect(configOf(file(content)).warnings).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['a secret without quotes', '{"cloud": "AzurePublicCloud",\n "aadClientSecret": hush1234567890}', 'Unexpected token, line 2'],
    ['a secret that is all there is', 'hush', 'Unexpected token, line 1'],
    ['a secret over two lines', '{"aadClientSecret": "hu\nsh"}', 'Bad control character in string literal, line 1'],
    ['a comma at the end', '{"cloud": "AzurePublicCloud",\n}', 'Expected double-quoted property name, line 2'],
    ['nothing', ' ', 'Unexpected end of JSON input'],
    ['YAML', 'aadClientSecret: hush\ncloud: AzurePublicCloud\n', 'Unexpected token, line 1'],
  ])('%s is refused by its line, and none of it is shown', (_what, text, reason) => {
    const errors = errorsOf({ argv: ['--cloud-config=a.json'], files: { 'a.json': text } });
    expect(errors).toEqual([`The file of --cloud-config, a.json, is not valid JSON (${reason}).`]);
  });

  it('a file with a byte order mark is a file', () => {
    expect(configOf({ argv: ['--cloud-config=a.json'], files: { 'a.json': '\uFEFF{"vmssCacheTTL": 70}' } }).azure.vmssCacheTtlMs).toBe(
      70_000,
    );
  });

  it.each<[string, Given, readonly string[]]>([
    ['a time below zero', file({ vmssCacheTTL: -1 }), ['vmssCacheTTL', '"-1"', 'whole number of seconds']],
    ['a time of centuries', file({ vmssCacheTTL: 4_294_967_296 }), ['vmssCacheTTL', '"4294967296"', '4294967295']],
    ['the same in the environment', { env: { AZURE_VMSS_CACHE_TTL: '4294967296' } }, ['AZURE_VMSS_CACHE_TTL', '4294967295']],
    ['a list for a text', file({ location: ['westeurope'] }, { env: { LOCATION: '' } }), ['location', '["westeurope"]', 'the region']],
    ['a map for a boolean', file({ enableForceDelete: {} }), ['enableForceDelete', '{}', 'true or false']],
    [
      'retries that are none',
      file({ cloudProviderBackoff: true, cloudProviderBackoffRetries: 0 }),
      ['cloudProviderBackoffRetries', 'from 1 to 20'],
    ],
    ['the same in the environment', { env: { ENABLE_BACKOFF: 'true', BACKOFF_RETRIES: '0' } }, ['BACKOFF_RETRIES', '"0"', 'from 1 to 20']],
  ])('%s is reported', (_what, given, words) => {
    const errors = errorsOf(given);
    expect(errors).toHaveLength(1);
    for (const word of words) expect(errors[0]).toContain(word);
  });

  it('no retries are no mistake while retries are off', () => {
    expect(errorsOf(file({ cloudProviderBackoff: false, cloudProviderBackoffRetries: 0 }))).toEqual([]);
  });
});
