/** Capacity reservation groups as the real client of Compute reads them, and the quota of VMs in them. */
import { describe, expect, it } from 'vitest';
import { aPool, aWorld, MINUTE, scale, sharedRig } from '../simulator/arm/harness.ts';

const D4 = 'Standard_D4s_v5';
const rig = sharedRig(
  aWorld([aPool('a', { vmSize: D4, count: 1, zones: ['1'], capacityReservationGroup: 'crg' })], {
    quota: { standardDSv5Family: 12 },
    capacityReservationGroups: [{ name: 'crg', reservations: [{ name: 'd4-1', vmSize: D4, zone: '1', capacity: 3 }] }],
  }),
  { knobs: { throttling: false } },
);

const group = () => rig().spec.clusterResourceGroup;

describe('a capacity reservation group', () => {
  it('shows its use only with the instance view, by the names of its reservations', async () => {
    const { capacityReservationGroups } = rig().compute;
    expect((await capacityReservationGroups.get(group(), 'crg')).instanceView).toBeUndefined();
    const { instanceView, zones } = await capacityReservationGroups.get(group(), 'CRG', { expand: 'instanceView' });
    expect(zones).toEqual(['1']);
    expect(instanceView?.capacityReservations).toMatchObject([
      {
        name: 'd4-1',
        utilizationInfo: { currentCapacity: 3, virtualMachinesAllocated: [{ id: expect.stringMatching(/virtualMachines\/0$/) }] },
      },
    ]);
  });

  it('lists reservations with size, quantity and zone', async () => {
    const found: unknown[] = [];
    for await (const each of rig().compute.capacityReservations.listByCapacityReservationGroup(group(), 'crg')) found.push(each);
    expect(found).toMatchObject([{ name: 'd4-1', sku: { name: D4, capacity: 3 }, zones: ['1'] }]);
  });

  it('that does not exist is not found', async () => {
    await expect(rig().compute.capacityReservationGroups.get(group(), 'none')).rejects.toMatchObject({ statusCode: 404 });
  });

  it('counts against the quota as a whole, and VMs beyond it need quota', async () => {
    const used = async () => {
      for await (const { name, currentValue } of rig().compute.usage.list('westeurope'))
        if (name?.value === 'standardDSv5Family') return currentValue;
      return undefined;
    };
    expect(await used()).toBe(12);
    expect((await scale(rig(), 'a', 4)).status).toBe(409);
    expect((await scale(rig(), 'a', 3)).status).toBe(200);
    rig().clock.advance(10 * MINUTE);
    expect(await used()).toBe(12);
    expect((await scale(rig(), 'a', 4)).status).toBe(409);
  });
});
