/** Capacity reservation groups that pools name: when they are read, and what is left of them while increases are under way. */
import { describe, expect, it } from 'vitest';
import type { ReservedCapacity } from '../../src/domain/quotas-and-prices.ts';
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';
import { aCluster } from '../support/builders.ts';

const D4 = 'Standard_D4s_v5';
const READ = 'the identity lacks Microsoft.Compute/capacityReservationGroups/read';
const MINUTE = 60_000;
const reserving = { vmSize: D4, count: 1, min: 0, max: 10, capacityReservationGroup: 'crg' };
const PLACE: WorldSpec = {
  ...SPEC,
  stock: {},
  quota: { standardDSv5Family: 28 },
  pools: [
    { name: 'one', ...reserving, zones: ['1'] },
    { name: 'two', ...reserving, zones: ['1'] },
    { name: 'wide', ...reserving, count: 0, zones: ['1', '2'] },
    { name: 'vms', ...reserving, kind: 'vms-pool', zones: ['2'] },
    { name: 'spot', ...reserving, count: 0, priority: 'Spot', zones: ['1'] },
  ],
  capacityReservationGroups: [
    {
      name: 'crg',
      reservations: [
        { name: 'd4-1', vmSize: D4, zone: '1', capacity: 5 },
        { name: 'd4-2', vmSize: D4, zone: '2', capacity: 2 },
      ],
    },
  ],
};

function reservations(m: Meeting): readonly ReservedCapacity[] {
  return m.azure.observe(aCluster(), m.clock.now()).reservations;
}

const numbers = (m: Meeting) => reservations(m).map(({ reserved, used, unknown }) => unknown ?? [used, reserved]);
const reads = (m: Meeting) => m.arm.control.journal().filter(({ path }) => /capacityReservation/i.test(path)).length;
const used = (m: Meeting) => m.azure.observe(aCluster(), m.clock.now()).quotas?.find(({ name }) => name === 'standarddsv5family')?.used;

describe('capacity reservation groups', () => {
  it('are read for the pools that name them, in two calls every five minutes', async () => {
    const m = await meet({}, PLACE);
    await m.pass(2_000);
    expect(numbers(m)).toEqual([
      [2, 5],
      [1, 2],
    ]);
    expect(reservations(m).map(({ group }) => group)).toEqual(['crg', 'crg']);
    expect(m.group('one').template?.reservations).toEqual([reservations(m)[0]?.name]);
    expect(m.group('wide').template?.reservations).toEqual(reservations(m).map(({ name }) => name));
    expect(m.group('spot').template?.reservations).toEqual([]);
    expect(reads(m)).toBe(2);
    const { groups } = m.azure.observe(aCluster(), m.clock.now());
    const instances = groups.flatMap((group) => group.instances ?? []).map(({ key }) => key);
    for (const { listed, used: inUse } of reservations(m)) {
      expect(listed?.vms).toBe(inUse);
      expect(instances).toEqual(expect.arrayContaining([...(listed?.instances ?? [])]));
      expect(listed?.instances.length).toBeGreaterThan(0);
    }
    await m.pass(30 * MINUTE);
    expect(reads(m)).toBeLessThanOrEqual(2 * 8);
  });

  it('are not read in a cluster whose pools name none', async () => {
    const m = await meet();
    await m.pass(20 * MINUTE);
    expect(reads(m)).toBe(0);
    expect(m.azure.observe(aCluster(), m.clock.now()).reservations).toEqual([]);
  });

  it('count an increase at once, for every pool that shares them, and use no quota', async () => {
    const m = await meet({}, PLACE);
    await m.pass(2_000);
    const before = used(m);
    expect((await m.increase(m.group('one'), 2)).kind).toBe('accepted');
    expect(numbers(m)[0]).toEqual([4, 5]);
    expect(used(m)).toBe(before);
    await m.pass(20 * MINUTE);
    expect(numbers(m)[0]).toEqual([4, 5]);
    expect(used(m)).toBe(before);
  });

  it('count an increase in every zone in which its nodes may come', async () => {
    const m = await meet({}, PLACE);
    await m.pass(2_000);
    expect((await m.increase(m.group('wide'), 1)).kind).toBe('accepted');
    expect(numbers(m)).toEqual([
      [3, 5],
      [2, 2],
    ]);
    await m.pass(20 * MINUTE);
    expect(numbers(m)[0]).toEqual([3, 5]);
    expect(numbers(m)[1]).toEqual([1, 2]);
  });

  it('that may not be read are unknown, with the reason, and are asked for less and less often', async () => {
    const roleActions = [
      'Microsoft.Compute/virtualMachine*',
      'Microsoft.Compute/skus/*',
      'Microsoft.Compute/locations/*',
      'Microsoft.ContainerService/*',
    ];
    const m = await meet({}, { ...PLACE, roleActions });
    await m.pass(2_000);
    expect(numbers(m)).toEqual([expect.stringContaining(READ), expect.stringContaining(READ)]);
    await m.pass(60 * MINUTE);
    expect(reads(m)).toBeLessThanOrEqual(8);
  });

  it('that do not exist are unknown', async () => {
    const m = await meet({}, { ...PLACE, capacityReservationGroups: [] });
    await m.pass(2_000);
    expect(numbers(m)).toEqual(['Azure finds no such group', 'Azure finds no such group']);
  });

  it('keep the last reading for half an hour while Azure fails', async () => {
    const m = await meet({}, PLACE);
    await m.pass(2_000);
    const effect = { kind: 'answer', status: 503 } as const;
    m.arm.control.addFault({ id: 'down', match: { method: 'GET', pathGlob: '**/capacityReservationGroups/crg' }, effect });
    await m.pass(20 * MINUTE);
    expect(numbers(m)[0]).toEqual([2, 5]);
    await m.pass(15 * MINUTE);
    expect(numbers(m)[0]).toMatch(/more than 30 minutes ago/);
  });
});
