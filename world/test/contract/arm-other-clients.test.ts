/** Requests as recorded from clients other than our own, and responses in older api-versions. */
import { beforeAll, describe, expect, it } from 'vitest';
import { MINUTE, VERSION, aPool, aWorld, setPath, sharedRig } from '../simulator/arm/harness.ts';

const SPOT = { kind: 'vmss-flexible', priority: 'Spot', evictionPolicy: 'Delete' } as const;

// Recorded from the Cluster Autoscaler 1.36.1 (2026-11-22), with AZURE_ENABLE_VMSS_ETAG=true.
describe('the requests of the Cluster Autoscaler', () => {
  const rig = sharedRig(aWorld([aPool('a'), aPool('f', SPOT)]));
  const at = (rest = '', query = ''): string => `${setPath(rig(), 'a', rest)}?api-version=2024-11-01${query}`;

  it('scale a set up with a sparse body and the etag that it read', async () => {
    const body = { location: 'westeurope', name: rig().set('a'), sku: { capacity: 4, name: 'Standard_D4s_v5', tier: 'Standard' } };
    const put = await rig().call('PUT', at(), { body, headers: { 'if-match': '"1"', 'content-type': 'application/json' } });
    expect(put).toMatchObject({ status: 200, json: { sku: { capacity: 4 }, etag: '"2"' } });
    const lost = await rig().call('PUT', at(), { body, headers: { 'if-match': '"1"' } });
    expect(lost).toMatchObject({ status: 412, json: { error: { code: 'PreconditionFailed' } } });
    const operation = new URL(String(put.headers['azure-asyncoperation']));
    expect(operation.searchParams.get('api-version')).toBe('2024-11-01');
    rig().clock.advance(5 * MINUTE);
    expect(await rig().call('GET', operation.pathname + operation.search)).toMatchObject({ status: 200, json: { status: 'Succeeded' } });
  });

  it('list instances with their instance views, and delete one by its id', async () => {
    const list = await rig().call('GET', at('/virtualMachines', '&$expand=instanceView'));
    expect(list.json['value']).toHaveLength(4);
    expect(list.text).toContain('PowerState/running');
    const gone = await rig().call('POST', at('/delete', '&forceDeletion=false'), { body: { instanceIds: ['0'] } });
    expect(gone.status).toBe(202);
    rig().clock.advance(5 * MINUTE);
    expect((await rig().call('GET', at())).json).toMatchObject({ sku: { capacity: 3 } });
  });
});

// The fields of each version: the models of azure-mgmt-compute 30.6.0. Without `orchestrationMode`: github.com/Azure/azure-cli/issues/18855.
describe('an older api-version', () => {
  const rig = sharedRig(aWorld([aPool('a', { zones: ['1'] }), aPool('f', SPOT)]));
  const read = async (rest: string, version: string): Promise<unknown> =>
    (await rig().call('GET', `${rest}?api-version=${version}&$expand=instanceView`)).json;
  const vms = (): string => setPath(rig(), 'f').replace(/virtualMachineScaleSets.*$/, 'virtualMachines');
  // Compute shows policies that somebody has set.
  beforeAll(async () => {
    const resiliencyPolicy = { resilientVMCreationPolicy: { enabled: false } };
    const body = { properties: { zoneBalance: false, scaleInPolicy: { rules: ['Default'] }, resiliencyPolicy } };
    expect((await rig().call('PATCH', `${setPath(rig(), 'a')}?${VERSION}`, { body })).status).toBe(200);
  });

  it.each<[version: string, has: readonly string[], lacks: readonly string[]]>([
    ['2017-12-01', ['upgradePolicy', 'singlePlacementGroup', 'zoneBalance'], ['scaleInPolicy', 'orchestrationMode', 'timeCreated']],
    ['2019-07-01', ['upgradePolicy', 'scaleInPolicy'], ['orchestrationMode', 'timeCreated']],
    ['2020-12-01', ['scaleInPolicy', 'orchestrationMode'], ['timeCreated', 'resiliencyPolicy']],
    ['2024-11-01', ['orchestrationMode', 'timeCreated', 'resiliencyPolicy'], []],
  ])('%s shows a scale set with its own fields', async (version, has, lacks) => {
    const set = (await read(setPath(rig(), 'a'), version)) as { readonly properties: object };
    expect(Object.keys(set.properties)).toEqual(expect.arrayContaining([...has]));
    for (const field of lacks) expect(set.properties).not.toHaveProperty(field);
    expect('etag' in set).toBe(version >= '2023-09-01');
  });

  it('2017-12-01 lists the VMs, which then had no owner, no priority and no time', async () => {
    const list = (await read(vms(), '2017-12-01')) as { readonly value: readonly [{ readonly properties: object }] };
    expect(list.value).toHaveLength(2);
    expect(list.value[0]).toMatchObject({ type: 'Microsoft.Compute/virtualMachines', properties: { provisioningState: 'Succeeded' } });
    for (const field of ['virtualMachineScaleSet', 'priority', 'timeCreated']) expect(list.value[0].properties).not.toHaveProperty(field);
    expect(list.value[0]).not.toHaveProperty('etag');
    const [vm] = ((await read(vms(), '2019-03-01')) as typeof list).value;
    expect(vm.properties).toMatchObject({ priority: 'Spot', evictionPolicy: 'Delete' });
  });

  it('2017-12-01 has no zones of an instance', async () => {
    const zones = async (version: string): Promise<unknown> =>
      ((await read(`${setPath(rig(), 'a')}/virtualMachines`, version)) as { readonly value: readonly [{ readonly zones?: unknown }] })
        .value[0].zones;
    expect([await zones('2017-12-01'), await zones('2018-04-01')]).toEqual([undefined, ['1']]);
  });
});
