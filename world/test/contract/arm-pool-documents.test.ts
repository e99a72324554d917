/** Agent pools in the form in which AKS shows them, and writes that repeat that form (recorded by Azure's CLI, July 2026). */
import { describe, expect, it } from 'vitest';
import { pickObject, type JsonObject } from '../../simulator/arm/http/json.ts';
import { MINUTE, aPool, aWorld, poolPath, startRig, type Rig } from '../simulator/arm/harness.ts';

const SIZES = { kind: 'vms-pool', count: 1, sizes: [{ vmSize: 'standard_d8s_v5', count: 1 }] } as const;
const UNTHROTTLED = { knobs: { throttling: false } };

async function propertiesOf(rig: Rig, pool: string): Promise<JsonObject> {
  return pickObject((await rig.call('GET', poolPath(rig, pool))).json, 'properties');
}

describe('the document of an agent pool', () => {
  it("has no count and an empty size in a pool of VMs, and its sizes are in the case in which they were given and in Azure's own", async () => {
    const rig = await startRig(aWorld([aPool('vms', SIZES)]));
    expect(await propertiesOf(rig, 'vms')).toMatchObject({
      type: 'VirtualMachines',
      count: null,
      vmSize: '',
      enableAutoScaling: false,
      virtualMachinesProfile: {
        scale: {
          manual: [
            { size: 'Standard_D4s_v5', count: 1 },
            { size: 'standard_d8s_v5', count: 1 },
          ],
        },
      },
      virtualMachineNodesStatus: [
        { size: 'Standard_D4s_v5', count: 1 },
        { size: 'Standard_D8s_v5', count: 1 },
      ],
    });
  });

  it('is the same for the real client, alone, in a list and in the cluster', async () => {
    const rig = await startRig(aWorld([aPool('vms', SIZES), aPool('a')]));
    const pool = await rig.aks.agentPools.get('rg', 'aks', 'vms');
    expect([pool.count ?? null, pool.vmSize, pool.enableAutoScaling]).toEqual([null, '', false]);
    const listed = [];
    for await (const each of rig.aks.agentPools.list('rg', 'aks')) listed.push(each);
    expect(listed[0]).toEqual(pool);
    const [profile] = (await rig.aks.managedClusters.get('rg', 'aks')).agentPoolProfiles ?? [];
    expect(profile).toMatchObject({ name: 'vms', vmSize: '', eTag: pool.eTag, virtualMachinesProfile: pool.virtualMachinesProfile });
  });

  it('has limits in place of counts where AKS scales the sizes, with the switch of all pools off', async () => {
    const rig = await startRig(aWorld([aPool('vms', { kind: 'vms-pool', count: 2, min: 1, max: 5, managedAutoscaler: true })]));
    const shown = await propertiesOf(rig, 'vms');
    expect(shown).toMatchObject({
      enableAutoScaling: false,
      virtualMachinesProfile: { scale: { autoscale: [{ size: 'Standard_D4s_v5', minCount: 1, maxCount: 5 }] } },
      virtualMachineNodesStatus: [{ size: 'Standard_D4s_v5', count: 2 }],
    });
    expect(pickObject(shown, 'virtualMachinesProfile', 'scale')).not.toHaveProperty('manual');
    const limits = { autoscale: [{ size: 'standard_d4s_v5', minCount: 3, maxCount: 5 }] };
    await rig.call('PUT', poolPath(rig, 'vms'), { body: { properties: { ...shown, virtualMachinesProfile: { scale: limits } } } });
    rig.clock.advance(10 * MINUTE);
    expect(await propertiesOf(rig, 'vms')).toMatchObject({ virtualMachineNodesStatus: [{ count: 3 }] });
  });

  it('lacks the keys that have no value, and the subnet that AKS made', async () => {
    const rig = await startRig(aWorld([aPool('plain')], { discoveryTags: {} }));
    const shown = await propertiesOf(rig, 'plain');
    expect(['nodeTaints', 'nodeLabels', 'podSubnetID', 'vnetSubnetID', 'availabilityZones'].filter((key) => key in shown)).toEqual([]);
    expect(shown).toMatchObject({ upgradeSettings: { maxSurge: '10%', maxUnavailable: '0' }, securityProfile: { enableVTPM: false } });
  });

  it('names a subnet of the user', async () => {
    const rig = await startRig(aWorld([aPool('own')], { subnetPrefix: '10.224.0.0/20' }));
    expect((await propertiesOf(rig, 'own'))['vnetSubnetID']).toContain('/subnets/');
  });
});

describe('the list of agent pools', () => {
  it.each([1, 2])('has a link to an empty second page with %i pools, and the real client reads both', async (pools) => {
    const rig = await startRig(aWorld(['a', 'b'].slice(0, pools).map((name) => aPool(name))));
    const first = await rig.call('GET', poolPath(rig, '').replace('/agentPools/', '/agentPools'));
    const link = new URL(String(first.json['nextLink']));
    expect(link.searchParams.get('api-version')).toBe('2025-05-01');
    expect((await rig.call('GET', link.pathname + link.search)).json).toEqual({ value: [] });
    const pages: number[] = [];
    for await (const page of rig.aks.agentPools.list('rg', 'aks').byPage()) pages.push(page.length);
    expect(pages).toEqual([pools, 0]);
  });
});

describe('a PUT of an agent pool', () => {
  it.each(['vms', 'a'])('that repeats what a GET gave is accepted and changes nothing: %s', async (name) => {
    const rig = await startRig(aWorld([aPool('vms', SIZES), aPool('a')]), UNTHROTTLED);
    const before = await rig.call('GET', poolPath(rig, name));
    const put = await rig.call('PUT', poolPath(rig, name), { body: before.json });
    expect([put.status, put.json]).toEqual([200, before.json]);
  });

  it('that the real client sends back grows a pool of VMs', async () => {
    const rig = await startRig(aWorld([aPool('vms', SIZES)]), UNTHROTTLED);
    const pool = await rig.aks.agentPools.get('rg', 'aks', 'vms');
    const manual = pool.virtualMachinesProfile?.scale?.manual?.map((entry) => ({ ...entry, count: 2 })) ?? [];
    await rig.aks.agentPools.createOrUpdate('rg', 'aks', 'vms', { ...pool, virtualMachinesProfile: { scale: { manual } } }).submitted();
    rig.clock.advance(10 * MINUTE);
    expect(rig.arm.control.state().agentPools[0]?.sizes).toEqual({ Standard_D4s_v5: 2, standard_d8s_v5: 2 });
    expect(rig.arm.machines.list()).toHaveLength(4);
  });

  it('shows Updating for a pool of VMs and Scaling for a scale set', async () => {
    const rig = await startRig(aWorld([aPool('vms', { kind: 'vms-pool', count: 1 }), aPool('a')]), UNTHROTTLED);
    const scale = { manual: [{ size: 'standard_d4s_v5', count: 2 }] };
    const ofVms = await rig.call('PUT', poolPath(rig, 'vms'), { body: { properties: { virtualMachinesProfile: { scale } } } });
    const ofSet = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 3 } } });
    const states = [ofVms, ofSet].map(({ json }) => pickObject(json, 'properties')['provisioningState']);
    expect(states).toEqual(['Updating', 'Scaling']);
  });

  it('creates a pool of VMs with 201, and keeps no count of it', async () => {
    const rig = await startRig(aWorld([aPool('a')]), UNTHROTTLED);
    const manual = [{ size: 'Standard_D4s_v5', count: 1 }];
    const properties = { type: 'VirtualMachines', count: null, vmSize: '', nodeTaints: [], virtualMachinesProfile: { scale: { manual } } };
    const put = await rig.call('PUT', poolPath(rig, 'new'), { body: { properties } });
    expect(put).toMatchObject({ status: 201, json: { properties: { count: null, vmSize: '', provisioningState: 'Creating' } } });
    expect(pickObject(put.json, 'properties')).not.toHaveProperty('nodeTaints');
    rig.clock.advance(10 * MINUTE);
    expect(await propertiesOf(rig, 'new')).toMatchObject({ virtualMachineNodesStatus: [{ count: 1 }], provisioningState: 'Succeeded' });
  });
});
