/** The endpoints of an Azure Stack, from the file that today's provider reads. */
import { describe, expect, it } from 'vitest';
import { configOf, errorsOf, type Given } from './support.ts';

const ENDPOINTS = {
  name: 'AzureStackCloud',
  resourceManagerEndpoint: 'https://management.local.azurestack.external/',
  activeDirectoryEndpoint: 'https://login.stack.example/',
  tokenAudience: 'https://management.stack.example/1234',
};

const stack = (content: unknown, env: Readonly<Record<string, string>> = {}): Given => ({
  env: { ARM_CLOUD: 'AzureStackCloud', AZURE_ENVIRONMENT_FILEPATH: '/etc/stack.json', ...env },
  files: { '/etc/stack.json': typeof content === 'string' ? content : JSON.stringify(content) },
});

describe('the endpoints file', () => {
  it('says where the cloud is and for whom its tokens are', () => {
    expect(configOf(stack(ENDPOINTS)).azure).toMatchObject({
      armEndpoint: 'https://management.local.azurestack.external',
      authorityHost: 'https://login.stack.example',
      scopes: ['https://management.stack.example/1234/.default'],
    });
  });

  it('is read in any letter case of its keys', () => {
    const shouted = Object.fromEntries(Object.entries(ENDPOINTS).map(([key, value]) => [key.toUpperCase(), value]));
    expect(configOf(stack(shouted)).azure).toEqual(configOf(stack(ENDPOINTS)).azure);
  });

  it('goes behind endpoints that are named', () => {
    const { azure } = configOf(stack(ENDPOINTS, { AZURE_AUTHORITY_HOST: 'https://other' }));
    expect([azure.armEndpoint, azure.authorityHost]).toEqual(['https://management.local.azurestack.external', 'https://other']);
  });

  it('without an audience, tokens are for the endpoint itself', () => {
    const { tokenAudience: _audience, ...rest } = ENDPOINTS;
    expect(configOf(stack(rest)).azure.scopes).toEqual([]);
  });

  it.each<[string, unknown, readonly string[]]>([
    ['that is no JSON', 'endpoints', ['AZURE_ENVIRONMENT_FILEPATH', '/etc/stack.json', 'JSON object']],
    ['that is a list', [], ['JSON object']],
    ['without addresses', {}, ['ARM_CLOUD', 'AZURE_ENVIRONMENT_FILEPATH']],
    [
      'with an address that is none',
      { ...ENDPOINTS, resourceManagerEndpoint: 'stack' },
      ['resourceManagerEndpoint of /etc/stack.json', '"stack"', 'URL'],
    ],
    ['with a number for an address', { ...ENDPOINTS, activeDirectoryEndpoint: 1 }, ['activeDirectoryEndpoint of /etc/stack.json', 'URL']],
  ])('%s is reported', (_what, content, words) => {
    const errors = errorsOf(stack(content));
    for (const word of words) expect(errors.join()).toContain(word);
  });

  it('is reported if it is missing', () => {
    const errors = errorsOf({ env: { ARM_CLOUD: 'azurestackcloud', AZURE_ENVIRONMENT_FILEPATH: '/nowhere' } });
    expect(errors.join()).toContain('AZURE_ENVIRONMENT_FILEPATH is "/nowhere": the file does not exist');
  });

  it('is not looked at for another cloud', () => {
    const config = configOf({ env: { AZURE_ENVIRONMENT_FILEPATH: '/nowhere' } });
    expect(config.azure.armEndpoint).toBe('https://management.azure.com');
    expect(config.warnings).toEqual(['environment variable AZURE_ENVIRONMENT_FILEPATH has no effect: it applies to AzureStackCloud only.']);
  });

  it('may be there for other programs where the endpoint is given', () => {
    const env = { AZURE_ENVIRONMENT_FILEPATH: '/nowhere', AZURE_RESOURCE_MANAGER_ENDPOINT: 'https://127.0.0.1:1' };
    expect(configOf({ env }).warnings).toEqual([]);
  });
});
