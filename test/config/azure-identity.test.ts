/** Which identity is meant by what is given, and one sentence for each way in which a part of it is missing. */
import { describe, expect, it } from 'vitest';
import { configOf, errorsOf, GOOD_ENV, type Given } from './support.ts';

const { ARM_CLIENT_ID: _id, ARM_CLIENT_SECRET: _secret, ARM_TENANT_ID: _tenant, ...REST } = GOOD_ENV;
const TENANT = { ARM_TENANT_ID: 't' };

const env = (given: Readonly<Record<string, string>>): Given => ({ env: { ...REST, ...given }, bare: true });
const yaml = (credential: string, given: Readonly<Record<string, string>> = TENANT): Given => ({
  ...env(given),
  argv: ['--config=c.yaml'],
  files: { 'c.yaml': `azure: {credential: ${credential}}` },
});
const file = (content: object, given: Readonly<Record<string, string>> = TENANT): Given => ({
  ...env(given),
  argv: ['--cloud-config=a.json'],
  files: { 'a.json': JSON.stringify(content) },
});

describe('the identity that is meant', () => {
  it.each<[string, Given, object]>([
    [
      'a secret',
      env({ ...TENANT, ARM_CLIENT_ID: 'c', ARM_CLIENT_SECRET: 's' }),
      { method: 'client-secret', clientId: 'c', clientSecret: 's' },
    ],
    [
      'a secret before a certificate',
      env({ ...TENANT, ARM_CLIENT_ID: 'c', ARM_CLIENT_SECRET: 's', ARM_CLIENT_CERT_PATH: '/p' }),
      { method: 'client-secret' },
    ],
    [
      'a certificate with its password',
      file({ aadClientId: 'c', aadClientCertPath: '/p', aadClientCertPassword: 'w' }),
      { method: 'client-certificate', clientId: 'c', certificatePath: '/p', certificatePassword: 'w' },
    ],
    [
      'a workload identity as its webhook says it in a pod',
      env({ AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c', AZURE_FEDERATED_TOKEN_FILE: '/t' }),
      { method: 'workload-identity', clientId: 'c', tokenFile: '/t' },
    ],
    [
      'the identity of the machine',
      env({ ARM_USE_MANAGED_IDENTITY_EXTENSION: 'true' }),
      { method: 'managed-identity', clientId: undefined },
    ],
    [
      'the identity of the machine, as azure.json of AKS says it',
      file({ useManagedIdentityExtension: true, userAssignedIdentityID: '', aadClientId: 'msi', aadClientSecret: 'msi' }, {}),
      { method: 'managed-identity', clientId: undefined },
    ],
    [
      'a user-assigned identity by client id, as azure.json of AKS says it',
      file({ useManagedIdentityExtension: true, userAssignedIdentityID: 'u', aadClientId: 'msi', aadClientSecret: 'msi' }, {}),
      { method: 'managed-identity', clientId: 'u' },
    ],
    [
      'a user-assigned identity by ARM id',
      env({ ARM_USE_MANAGED_IDENTITY_EXTENSION: 'true', ARM_USER_ASSIGNED_IDENTITY_ID: '/subscriptions/s/x' }),
      { method: 'managed-identity', clientId: '/subscriptions/s/x' },
    ],
    [
      'a managed identity, whatever token file the environment has',
      file({ useManagedIdentityExtension: true }, { AZURE_FEDERATED_TOKEN_FILE: '/t', AZURE_CLIENT_ID: 'c' }),
      { method: 'managed-identity', clientId: undefined },
    ],
    [
      'a managed identity by name of the method',
      yaml('{method: managed-identity, clientId: u}', {}),
      { method: 'managed-identity', clientId: 'u' },
    ],
    ['the Azure CLI', yaml('{method: azure-cli}', {}), { method: 'azure-cli' }],
    ['the Azure CLI, as azure.json says it', file({ authMethod: 'cli' }, {}), { method: 'azure-cli' }],
    ['whatever is given, for no method', file({ authMethod: null, aadClientId: 'c', aadClientSecret: 's' }), { method: 'client-secret' }],
  ])('%s', (_what, given, credential) => {
    expect(configOf(given).azure.credential).toMatchObject(credential);
  });
});

describe('an identity with a part missing', () => {
  it.each<[string, Given, readonly string[]]>([
    ['nothing at all', env({}), ['azure.credential.method is missing', 'ARM_CLIENT_ID with ARM_CLIENT_SECRET', 'azure-cli']],
    ['an id alone', env({ ...TENANT, ARM_CLIENT_ID: 'c' }), ['azure.credential.method is missing', 'a client certificate']],
    ['a secret without an id', env({ ...TENANT, ARM_CLIENT_SECRET: 'hush' }), ['azure.credential.clientId is missing', 'AZURE_CLIENT_ID']],
    ['a secret without a tenant', env({ ARM_CLIENT_ID: 'c', ARM_CLIENT_SECRET: 'hush' }), ['azure.tenantId is missing', 'AZURE_TENANT_ID']],
    ['a certificate without an id', env({ ...TENANT, ARM_CLIENT_CERT_PATH: '/p' }), ['azure.credential.clientId is missing']],
    ['a certificate without a tenant', env({ ARM_CLIENT_ID: 'c', ARM_CLIENT_CERT_PATH: '/p' }), ['azure.tenantId is missing']],
    ['a token file without an id', env({ ...TENANT, AZURE_FEDERATED_TOKEN_FILE: '/t' }), ['azure.credential.clientId is missing']],
    ['a token file without a tenant', env({ AZURE_CLIENT_ID: 'c', AZURE_FEDERATED_TOKEN_FILE: '/t' }), ['azure.tenantId is missing']],
    [
      'a workload identity without a token file',
      env({ ...TENANT, ARM_CLIENT_ID: 'c', ARM_USE_WORKLOAD_IDENTITY_EXTENSION: 'true' }),
      ['azure.credential.tokenFile is missing', 'AZURE_FEDERATED_TOKEN_FILE'],
    ],
    [
      'a method without its secret',
      yaml('{method: client-secret, clientId: c}'),
      ['azure.credential.clientSecret is missing', 'ARM_CLIENT_SECRET'],
    ],
    [
      'a method without its certificate',
      yaml('{method: client-certificate, clientId: c}'),
      ['azure.credential.certificatePath is missing', 'ARM_CLIENT_CERT_PATH'],
    ],
    ['a method that is none', yaml('{method: kerberos}'), ['azure.credential.method', '"kerberos"', 'client-secret, workload-identity']],
    ['a method of azure.json that is none', file({ authMethod: 'oauth', aadClientId: 'c' }), ['authMethod', '"oauth"', 'principal or cli']],
    [
      'a managed and a workload identity',
      env({ ARM_USE_MANAGED_IDENTITY_EXTENSION: 'true', ARM_USE_FEDERATED_WORKLOAD_IDENTITY_EXTENSION: 'true' }),
      ['ARM_USE_FEDERATED_WORKLOAD_IDENTITY_EXTENSION', 'only one of'],
    ],
  ])('%s', (_what, given, words) => {
    const errors = errorsOf(given);
    expect(errors).toHaveLength(1);
    for (const word of words) expect(errors[0]).toContain(word);
    expect(errors[0]).not.toContain('hush');
  });
});
