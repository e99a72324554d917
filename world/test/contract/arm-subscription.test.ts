/** What a person's client reads before it looks at a cluster: the cloud, the tenant, the subscription and its resource groups. */
import { ManagedIdentityCredential } from '@azure/identity';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { aPool, aWorld, sharedRig, startRig, type Rig } from '../simulator/arm/harness.ts';

const SUB = '/subscriptions/11111111-2222-3333-4444-555555555555';
const TENANT = '66666666-7777-8888-9999-000000000000';
const SINCE_2022 = 'api-version=2022-12-01';

interface Listed {
  readonly value: readonly { readonly id: string; readonly name: string; readonly type: string }[];
}

async function list(rig: Rig, path: string): Promise<Listed['value']> {
  const { status, json, text } = await rig.call('GET', path);
  expect(status, text).toBe(200);
  return (json as object as Listed).value;
}

describe('discovery and sign-in', () => {
  const rig = sharedRig(aWorld([aPool('a')]));

  it('shows one cloud since 2022-09-01, and a list of clouds before', async () => {
    const one = await rig().call('GET', '/metadata/endpoints?api-version=2022-09-01', { token: false });
    expect(one.json).toMatchObject({
      name: 'AzureCloud',
      resourceManager: `${rig().arm.url}/`,
      authentication: { loginEndpoint: `${rig().arm.url}/` },
    });
    const many = await rig().call('GET', '/metadata/endpoints?api-version=2019-05-01', { token: false });
    expect(JSON.parse(many.text)).toEqual([one.json]);
  });

  it('lists the tenant, the subscription and its region', async () => {
    expect((await rig().call('GET', `/tenants?${SINCE_2022}`)).json).toMatchObject({
      value: [{ tenantId: TENANT, tenantCategory: 'Home' }],
    });
    const { json } = await rig().call('GET', `/subscriptions?${SINCE_2022}`);
    expect(json).toMatchObject({ value: [{ id: SUB, tenantId: TENANT, state: 'Enabled' }], count: { value: 1 } });
    const one = await rig().call('GET', `${SUB}?${SINCE_2022}`);
    expect(one.json).toMatchObject({ subscriptionId: SUB.split('/')[2], displayName: 'Pay-As-You-Go' });
    expect(await list(rig(), `${SUB}/locations?${SINCE_2022}`)).toMatchObject([{ name: 'westeurope', type: 'Region' }]);
  });

  it('refuses another subscription, and a caller without a token', async () => {
    expect(await rig().call('GET', `/subscriptions/other?${SINCE_2022}`)).toMatchObject({
      status: 404,
      json: { error: { code: 'SubscriptionNotFound' } },
    });
    expect((await rig().call('GET', `/subscriptions?${SINCE_2022}`, { token: false })).status).toBe(401);
  });
});

describe('a principal with a narrow role', () => {
  const rig = sharedRig(aWorld([aPool('a')], { roleActions: ['Microsoft.Compute/virtualMachineScaleSets/read'] }));

  it('lists its subscriptions, and reads no location', async () => {
    expect((await rig().call('GET', `/subscriptions?${SINCE_2022}`)).status).toBe(200);
    expect((await rig().call('GET', `/tenants?${SINCE_2022}`)).status).toBe(200);
    const refused = await rig().call('GET', `${SUB}/locations?${SINCE_2022}`);
    expect(refused).toMatchObject({ status: 403, json: { error: { code: 'AuthorizationFailed' } } });
    expect(refused.text).toContain("'Microsoft.Resources/subscriptions/locations/read'");
  });
});

describe('a managed identity', () => {
  afterEach(() => void vi.unstubAllEnvs());

  it('signs in through the App Service form and lists its subscription', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    vi.stubEnv('IDENTITY_ENDPOINT', `${await rig.arm.startMetadata()}/msi/token`);
    vi.stubEnv('IDENTITY_HEADER', 'known');
    const { token } = await new ManagedIdentityCredential().getToken('https://management.core.windows.net//.default');
    const answer = await rig.call('GET', `/subscriptions?${SINCE_2022}`, { token: false, headers: { authorization: `Bearer ${token}` } });
    expect(answer).toMatchObject({ status: 200, json: { value: [{ id: SUB }] } });
  });
});
