import { describe, expect, it } from 'vitest';
import { identityCheck } from '../../../src/tools/doctor/azure-checks.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { configOf } from '../../config/support.ts';

const MANAGED = { ARM_CLIENT_ID: '', ARM_CLIENT_SECRET: '', ARM_USE_MANAGED_IDENTITY_EXTENSION: 'true' };
const CLI = { argv: ['--config=c.yaml'], files: { 'c.yaml': 'azure: {credential: {method: azure-cli}}' } };

describe('what doctor says of an identity that cannot sign in', () => {
  it.each([
    [
      'the system-assigned identity',
      { env: MANAGED },
      "az vmss identity assign --resource-group rg --name SCALE_SET --identities '[system]'",
    ],
    [
      'a user-assigned identity',
      { env: { ...MANAGED, ARM_USER_ASSIGNED_IDENTITY_ID: 'an-id' } },
      'az vmss identity assign --resource-group rg --name SCALE_SET --identities an-id',
    ],
    ['the Azure CLI', CLI, 'az login'],
  ])('%s: the fix', (_, given, fix) => {
    const { azure } = configOf(given);
    const refused = new AutoscalerError({ kind: 'auth' }, 'Cannot sign in to Azure: no.');
    expect(identityCheck({ error: refused }, { ...azure, nodeResourceGroup: 'rg' }, 'kube-system')).toEqual({
      area: 'identity',
      status: 'failed',
      message: 'Cannot sign in to Azure: no.',
      fix,
    });
    const claims = { clientId: '', objectId: '', tenantId: '' };
    expect(identityCheck({ value: claims }, azure, 'kube-system').message).toBe(`signed in to Azure by ${azure.credential.method}`);
  });
});
