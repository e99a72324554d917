/** The nodes' subnet has as many addresses as its prefix, less the five that Azure reserves (azure-wire 15, fault 63). */
import { describe, expect, it } from 'vitest';
import { MINUTE, RG, VERSION, aPool, aWorld, operationOf, scale, setPath, startRig, stateOf, type Rig } from './harness.ts';

const SUBNET = `/resourceGroups/${RG}/providers/Microsoft.Network/virtualNetworks/aks-vnet/subnets/aks-subnet`;

async function addressesInUse(rig: Rig): Promise<number> {
  const { json } = await rig.call('GET', `/subscriptions/${rig.spec.subscriptionId}${SUBNET}?${VERSION}`);
  const { properties } = json as unknown as { readonly properties: { readonly ipConfigurations: readonly unknown[] } };
  return properties.ipConfigurations.length;
}

const states = (rig: Rig) => stateOf(rig, 'a').instances.map(({ provisioningState, error }) => error ?? provisioningState);

describe('a subnet of eight addresses; Azure reserves five', () => {
  it('has room for three nodes; the fourth fails with SubnetIsFull, and the capacity stays', async () => {
    const rig = await startRig(aWorld([aPool('a')], { subnetPrefix: '10.224.0.0/29' }));
    const put = await scale(rig, 'a', 4);
    expect(put.status).toBe(200);
    rig.clock.advance(10 * MINUTE);
    const subnet = `/subscriptions/${rig.spec.subscriptionId}${SUBNET}`;
    const message = `Subnet ${subnet} with address prefix 10.224.0.0/29 does not have enough capacity for 1 IP addresses.`;
    expect((await operationOf(rig, put)).json).toMatchObject({ status: 'Failed', error: { code: 'SubnetIsFull', message, target: '3' } });
    expect([states(rig), stateOf(rig, 'a').capacity]).toEqual([['Succeeded', 'Succeeded', 'Succeeded', 'SubnetIsFull'], 4]);
    expect(await addressesInUse(rig)).toBe(3);
  });

  it('an instance that is being deleted keeps its address until it is gone, a deallocated one for good', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 3 })], { subnetPrefix: '10.224.0.0/29' }));
    await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`, { body: { instanceIds: ['0'] } });
    rig.clock.advance(10 * MINUTE);
    await rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ['1'] } });
    expect(await addressesInUse(rig)).toBe(3);
    await scale(rig, 'a', 3);
    rig.clock.advance(10 * MINUTE);
    expect(states(rig)).toEqual(['Succeeded', 'Succeeded', 'SubnetIsFull']);
    await rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ['3'] } });
    rig.clock.advance(10 * MINUTE);
    await scale(rig, 'a', 3);
    rig.clock.advance(10 * MINUTE);
    expect([states(rig), await addressesInUse(rig)]).toEqual([['Succeeded', 'Succeeded', 'Succeeded'], 3]);
  });

  it('with flat networking a node takes one address for itself and one for each of its pods', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 1 })], { subnetPrefix: '10.224.0.0/28', addressesPerNode: 4 }));
    const put = await scale(rig, 'a', 3);
    rig.clock.advance(10 * MINUTE);
    expect([states(rig), await addressesInUse(rig)]).toEqual([['Succeeded', 'Succeeded', 'SubnetIsFull'], 8]);
    expect((await operationOf(rig, put)).text).toContain('does not have enough capacity for 4 IP addresses');
  });

  it('of a VMs pool counts like any other node', async () => {
    const vms = aPool('v', { kind: 'vms-pool', count: 1 });
    const rig = await startRig(aWorld([aPool('a'), vms], { subnetPrefix: '10.224.0.0/29' }));
    await scale(rig, 'a', 3);
    rig.clock.advance(10 * MINUTE);
    expect(states(rig)).toEqual(['Succeeded', 'Succeeded', 'SubnetIsFull']);
  });
});
