/** What the real clients do with whole models, and what they send that nobody expects. */
import { describe, expect, it } from 'vitest';
import { pickObject } from '../../simulator/arm/http/json.ts';
import { MINUTE, RG, VERSION, aPool, aWorld, poolPath, setPath, sharedRig, stateOf } from '../simulator/arm/harness.ts';

const rig = sharedRig(
  aWorld([aPool('a', { zones: ['1', '2'] }), aPool('flex', { kind: 'vmss-flexible' }), aPool('vms', { kind: 'vms-pool' })], {
    kubeletIdentity: 'kubelet',
  }),
  { knobs: { throttling: false } },
);

async function namesOf(list: AsyncIterable<{ readonly name?: string }>): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name = '' } of list) names.push(name);
  return names.sort((left, right) => left.localeCompare(right));
}

describe('the clients of Azure', () => {
  it('write a whole set back: what changed takes effect, what did not moves no tag, and no field is lost on the way', async () => {
    const { compute } = rig();
    const raw = async () => (await rig().call('GET', `${setPath(rig(), 'a')}?${VERSION}`)).json;
    const before = await raw();
    const set = await compute.virtualMachineScaleSets.get(RG, rig().set('a'));
    const raised = { ...set, sku: { ...set.sku, capacity: 3 } };
    await compute.virtualMachineScaleSets.createOrUpdate(RG, rig().set('a'), raised, { ifMatch: set.etag ?? '' }).submitted();
    expect(stateOf(rig(), 'a')).toMatchObject({ capacity: 3, etag: '"2"', provisioningState: 'Updating' });
    rig().clock.advance(10 * MINUTE);
    const after = await raw();
    expect({ ...after, etag: before['etag'], sku: before['sku'] }).toEqual(before);
    await compute.virtualMachineScaleSets.createOrUpdate(RG, rig().set('a'), raised).submitted();
    expect(stateOf(rig(), 'a')).toMatchObject({ etag: '"2"', provisioningState: 'Updating' });
    rig().clock.advance(MINUTE);
    expect(stateOf(rig(), 'a')).toMatchObject({ etag: '"2"', provisioningState: 'Succeeded' });
  });

  it('a null where a set cannot be without is nothing said; null of a setting takes it away', async () => {
    const path = `${setPath(rig(), 'a')}?${VERSION}`;
    const { text } = await rig().call('GET', path);
    const updating = text.replace('"provisioningState":"Succeeded"', '"provisioningState":"Updating"');
    const nothing = await rig().call('PUT', path, { body: { location: 'West Europe', sku: null, properties: null } });
    expect([nothing.status, nothing.text]).toEqual([200, updating]);
    const sameSize = { location: 'WESTEUROPE', sku: { name: 'STANDARD_D4S_V5' } };
    expect((await rig().call('PUT', path, { body: sameSize })).text).toBe(updating);
    const tagged = await rig().call('PATCH', path, { body: { tags: { ...pickObject(nothing.json, 'tags'), team: 'x' } } });
    expect(tagged).toMatchObject({
      status: 200,
      json: { tags: { team: 'x', poolName: 'a' }, properties: { orchestrationMode: 'Uniform' } },
    });
    rig().clock.advance(MINUTE);
    const less = await rig().call('PUT', path, { body: { location: 'westeurope', properties: { scaleInPolicy: null, unheard: 1 } } });
    expect(less.json).toMatchObject({ properties: { unheard: 1 } });
    expect(less.json['properties']).not.toHaveProperty('scaleInPolicy');
  });

  it('found no set in another region', async () => {
    const sku = { name: 'Standard_D4s_v5', capacity: 0 };
    await expect(rig().compute.virtualMachineScaleSets.createOrUpdate(RG, 'new', { location: 'mars', sku })).rejects.toMatchObject({
      statusCode: 400,
      code: 'LocationNotAvailableForResourceType',
    });
  });

  it('name locations as people do, and list machines and sets by them', async () => {
    const { compute } = rig();
    expect(await namesOf(compute.virtualMachineScaleSets.listByLocation('West Europe'))).toEqual([rig().set('a'), rig().set('flex')]);
    const vms = await namesOf(compute.virtualMachines.listByLocation('westeurope'));
    expect(vms).toEqual(await namesOf(compute.virtualMachines.listAll()));
    expect(vms).toHaveLength(4);
    expect(await namesOf(compute.virtualMachines.listByLocation('mars'))).toEqual([]);
    const skus = await namesOf(compute.resourceSkus.list({ filter: "location eq 'West Europe'" }));
    expect(skus).toEqual(await namesOf(compute.resourceSkus.list({ filter: "location eq 'westeurope'" })));
    expect(skus).toContain('Standard_D4s_v5');
  });

  it('a VM has a tag of its own, which a write moves and is conditional on', async () => {
    const { compute } = rig();
    const [name = ''] = (await namesOf(compute.virtualMachines.list(RG))).filter((vm) => vm.startsWith('aks-vms-'));
    const { etag = '' } = await compute.virtualMachines.get(RG, name);
    await compute.virtualMachines.update(RG, name, { tags: { owner: 'me' } }, { ifMatch: etag }).submitted();
    const after = await compute.virtualMachines.get(RG, name);
    expect(after.tags).toMatchObject({ owner: 'me', 'aks-managed-poolName': 'vms' });
    expect(after.etag).not.toBe(etag);
    await expect(compute.virtualMachines.update(RG, name, { tags: {} }, { ifMatch: etag })).rejects.toMatchObject({ statusCode: 412 });
    await expect(compute.virtualMachines.update(RG, 'nobody', { tags: {} })).rejects.toMatchObject({
      statusCode: 404,
      code: 'ResourceNotFound',
    });
  });

  it('write a whole pool and a whole cluster back', async () => {
    const { aks } = rig();
    const pool = await aks.agentPools.get('rg', 'aks', 'flex');
    expect(pool).toMatchObject({ kubeletDiskType: 'OS', upgradeSettings: { maxSurge: '10%' } });
    await aks.agentPools.createOrUpdate('rg', 'aks', 'flex', { ...pool, count: 3 }, { ifMatch: pool.eTag ?? '' }).submitted();
    rig().clock.advance(10 * MINUTE);
    expect(stateOf(rig(), 'flex').capacity).toBe(3);
    const cluster = await aks.managedClusters.get('rg', 'AKS');
    expect(cluster.identityProfile?.['kubeletidentity']?.resourceId).toMatch(/userAssignedIdentities\/kubelet$/);
    await aks.managedClusters.createOrUpdate('rg', 'aks', cluster, { ifMatch: cluster.eTag ?? '' }).submitted();
    rig().clock.advance(10 * MINUTE);
    // The capacity of this one was raised behind AKS's back above.
    expect(
      rig()
        .arm.control.state()
        .sets.map(({ pool: of, capacity }) => [of, capacity]),
    ).toEqual([
      ['a', 2],
      ['flex', 3],
    ]);
    await expect(aks.managedClusters.createOrUpdate('rg', 'aks', cluster, { ifMatch: cluster.eTag ?? '' })).rejects.toMatchObject({
      statusCode: 412,
      code: 'PreConditionFailed',
    });
    await expect(aks.managedClusters.createOrUpdate('rg', 'aks', cluster, { ifNoneMatch: '*' })).rejects.toMatchObject({ statusCode: 412 });
  });

  it('ask what a pool could be upgraded to, which is nothing', async () => {
    expect(await rig().aks.agentPools.getUpgradeProfile('rg', 'aks', 'a')).toMatchObject({
      name: 'default',
      osType: 'Linux',
      upgrades: [],
    });
    await expect(rig().aks.agentPools.getUpgradeProfile('rg', 'aks', 'nobody')).rejects.toMatchObject({ statusCode: 404 });
  });

  it.each([
    { what: 'no ids at all', body: {} },
    { what: 'null for ids', body: { instanceIds: null } },
    { what: 'one id that is no list', body: { instanceIds: '0' } },
    { what: 'an empty list', body: { instanceIds: [] } },
    { what: 'a null among them', body: { instanceIds: ['0', null] } },
    { what: 'an empty text among them', body: { instanceIds: ['0', ''] } },
    { what: 'a name instead of a number', body: { instanceIds: ['aks-a_0'] } },
    { what: 'a negative number', body: { instanceIds: ['-1'] } },
    { what: 'a number that nothing has', body: { instanceIds: ['99999999999999999999'] } },
    { what: 'a list instead of a body', body: [] },
  ])('a delete of instances with $what is refused as a whole', async ({ body }) => {
    const { capacity } = stateOf(rig(), 'a');
    const answer = await rig().call('POST', `${setPath(rig(), 'a', '/delete')}?${VERSION}`, { body });
    expect(answer).toMatchObject({
      status: 400,
      json: { error: { code: 'InvalidParameter', target: expect.stringMatching(/^instanceIds?$/) as unknown } },
    });
    expect(stateOf(rig(), 'a').capacity).toBe(capacity);
  });

  it.each([{}, { machineNames: null }, { machineNames: [] }, { machineNames: [''] }, { machineNames: 'x' }, { machineNames: [null, 1] }])(
    'a delete of machines with %j is refused at the root',
    async (body) => {
      const answer = await rig().call('POST', poolPath(rig(), 'vms', '/deleteMachines'), { body });
      expect(answer).toMatchObject({ status: 400, json: { code: 'InvalidParameter', subcode: '' } });
    },
  );

  it('twice the same id is one machine, in any order and with numbers for texts', async () => {
    const { capacity, instances } = stateOf(rig(), 'a');
    const [first, second] = instances.map(({ id }) => id);
    const body = { instanceIds: [second, first, Number(first), second] };
    expect((await rig().call('POST', `${setPath(rig(), 'a', '/delete')}?${VERSION}`, { body })).status).toBe(202);
    expect(stateOf(rig(), 'a').capacity).toBe(capacity - 2);
  });
});
