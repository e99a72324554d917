/** What a person's client reads before it looks at a cluster: the cloud, the tenant, the subscription and its resource groups. */
import { describe, expect, it } from 'vitest';
import { aPool, aWorld, collect, MINUTE, RG, sharedRig, type Rig } from '../simulator/arm/harness.ts';

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
      authentication: { tenant: 'common', identityProvider: 'AAD', loginEndpoint: `${rig().arm.url}/` },
      graphAudience: 'https://graph.windows.net/',
      suffixes: { acrLoginServer: 'azurecr.io', storage: 'core.windows.net' },
    });
    const many = await rig().call('GET', '/metadata/endpoints?api-version=2019-05-01', { token: false });
    expect(JSON.parse(many.text)).toEqual([one.json]);
    const authority = await rig().call('GET', '/common/discovery/instance?api-version=1.1', { token: false });
    expect(authority.json).toMatchObject({ 'api-version': '1.1' });
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

describe('what stands around the cluster', () => {
  const rig = sharedRig(aWorld([aPool('a'), aPool('f', { kind: 'vmss-flexible' })], { subnetPrefix: '10.0.0.0/24' }));
  const NODES = `${SUB}/resourceGroups/${RG}`;
  const VERSIONED = 'api-version=2024-11-01';

  it('two resource groups, one of them managed by the cluster', async () => {
    const groups = await list(rig(), `${SUB}/resourcegroups?${VERSIONED}`);
    expect(groups.map(({ name }) => name)).toEqual(['rg', RG]);
    const nodes = await rig().call('GET', `${NODES}?${VERSIONED}`);
    expect(nodes.json).toMatchObject({
      managedBy: expect.stringMatching(/managedClusters\/aks$/),
      tags: { 'aks-managed-cluster-rg': 'rg' },
    });
    expect((await rig().call('HEAD', `${NODES}?${VERSIONED}`)).status).toBe(204);
    expect((await rig().call('HEAD', `${SUB}/resourceGroups/other?${VERSIONED}`)).status).toBe(404);
    const tagged = await list(
      rig(),
      `${SUB}/resourceGroups?${VERSIONED}&$filter=tagname eq 'aks-managed-cluster-name' and tagvalue eq 'aks'`,
    );
    expect(tagged.map(({ name }) => name)).toEqual([RG]);
  });

  it('every resource with its type, of a group, of a type and of a name', async () => {
    const types = (await list(rig(), `${SUB}/resources?${VERSIONED}`)).map(({ type }) => type);
    expect(new Set(types)).toEqual(
      new Set([
        'Microsoft.ContainerService/ManagedClusters',
        'Microsoft.ManagedIdentity/userAssignedIdentities',
        'Microsoft.Compute/virtualMachineScaleSets',
        'Microsoft.Compute/virtualMachines',
        'Microsoft.Compute/disks',
        'Microsoft.Network/virtualNetworks',
      ]),
    );
    const clusters = await list(rig(), `${SUB}/resources?${VERSIONED}&$filter=resourceGroup eq 'rg'`);
    expect(clusters.map(({ name }) => name)).toEqual(['aks']);
    expect(clusters[0]).not.toHaveProperty('properties');
    const sets = await list(rig(), `${NODES}/resources?${VERSIONED}&$filter=resourceType eq 'microsoft.compute/virtualmachinescalesets'`);
    expect(sets).toHaveLength(2);
    const one = await list(rig(), `${SUB}/resources?${VERSIONED}&$filter=name eq '${rig().set('a')}' and location eq 'West Europe'`);
    expect(one).toHaveLength(1);
    expect((await rig().call('GET', `${SUB}/resources?${VERSIONED}&$filter=startswith(tagname, 'a')`)).status).toBe(400);
  });

  it('the names of tags with their values', async () => {
    const { text } = await rig().call('GET', `${SUB}/tagNames?${VERSIONED}`);
    const { value } = JSON.parse(text) as { readonly value: readonly { readonly tagName: string }[] };
    expect(value.find(({ tagName }) => tagName === 'cluster-autoscaler-enabled')).toMatchObject({
      count: { value: expect.any(Number) },
      values: [{ tagValue: 'true' }],
    });
  });

  it('the network of the nodes and its subnet', async () => {
    const NETWORKS = 'providers/Microsoft.Network/virtualNetworks';
    const networks = await list(rig(), `${SUB}/${NETWORKS}?${VERSIONED}`);
    expect(networks).toMatchObject([{ name: 'aks-vnet', properties: { addressSpace: { addressPrefixes: ['10.0.0.0/24'] } } }]);
    expect(await list(rig(), `${SUB}/resourceGroups/rg/${NETWORKS}?${VERSIONED}`)).toEqual([]);
    expect((await rig().call('GET', `${NODES}/${NETWORKS}/aks-vnet?${VERSIONED}`)).json).toMatchObject({ name: 'aks-vnet' });
    const subnets = await list(rig(), `${NODES}/${NETWORKS}/aks-vnet/subnets?${VERSIONED}`);
    expect(subnets).toMatchObject([{ name: 'aks-subnet', properties: { addressPrefix: '10.0.0.0/24' } }]);
    expect((await rig().call('GET', `${NODES}/${NETWORKS}/other?${VERSIONED}`)).json).toMatchObject({
      error: { code: 'ResourceNotFound' },
    });
  });

  it('sizes of the region and of a set, through the client of Compute', async () => {
    const sizes = await collect(rig().compute.virtualMachineSizes.list('westeurope'));
    expect(sizes.find(({ name }) => name === 'Standard_D4s_v5')).toMatchObject({ numberOfCores: 4, memoryInMB: 16_384 });
    const skus = await collect(rig().compute.virtualMachineScaleSets.listSkus(RG, rig().set('a')));
    expect(skus.find(({ sku }) => sku?.name === 'Standard_D4s_v5')).toMatchObject({ capacity: { minimum: 0, scaleType: 'Automatic' } });
    await expect(collect(rig().compute.virtualMachineScaleSets.listSkus(RG, 'other'))).rejects.toMatchObject({ statusCode: 404 });
  });

  it("the activity log with the filter of Azure's CLI, whose times have no quotes and no zone", async () => {
    const [from, until] = [rig().clock.now() - MINUTE, rig().clock.now() + 60 * MINUTE].map((ms) =>
      new Date(ms).toISOString().slice(0, -1),
    );
    const body = { location: 'westeurope', sku: { name: 'Standard_D4s_v5', capacity: 3 } };
    const id = `${NODES}/providers/Microsoft.Compute/virtualMachineScaleSets/${rig().set('a')}`;
    expect((await rig().call('PUT', `${id}?${VERSIONED}`, { body })).status).toBe(200);
    rig().clock.advance(10 * MINUTE);
    const log = `${SUB}/providers/Microsoft.Insights/eventtypes/management/values?api-version=2015-04-01&$select=caller , resourceId`;
    const written = (filter: string): Promise<Listed['value']> =>
      list(rig(), `${log}&$filter=eventTimestamp ge ${from} and eventTimestamp le ${until} and ${filter}`);
    expect(await written(`resourceGroupName eq '${RG}'`)).toEqual([{ caller: expect.any(String), resourceId: id }]);
    expect(await written(`resourceId eq '${id}'`)).toHaveLength(1);
    expect(await written(`resourceProvider eq 'Microsoft.Compute'`)).toHaveLength(1);
    expect(await written(`resourceGroupName eq 'rg'`)).toEqual([]);
  });

  it('the providers with their versions', async () => {
    const { json } = await rig().call('GET', `${SUB}/providers/microsoft.containerservice?${VERSIONED}`);
    expect(json).toMatchObject({ namespace: 'Microsoft.ContainerService', registrationState: 'Registered' });
    expect((await rig().call('GET', `${SUB}/providers?${VERSIONED}`)).json['value']).toHaveLength(7);
    expect((await rig().call('GET', `${SUB}/providers/Other?${VERSIONED}`)).status).toBe(404);
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
  const rig = sharedRig(aWorld([aPool('a')]));

  // The real client remembers the endpoint of its process, so that one test of the world's entry has it.
  it('signs in through the App Service form and lists its subscription', async () => {
    const path = '/msi/token?resource=https://management.core.windows.net/&api-version=2019-08-01';
    const { json } = await rig().call('GET', path, { token: false, headers: { 'x-identity-header': 'known' } });
    const headers = { authorization: `Bearer ${String(json['access_token'])}` };
    const answer = await rig().call('GET', `/subscriptions?${SINCE_2022}`, { token: false, headers });
    expect(answer).toMatchObject({ status: 200, json: { value: [{ id: SUB }] } });
  });
});
