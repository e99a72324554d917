/**
 * What a request takes of a device's capacities. The numbers are those of kube-scheduler's own tests, and of its code
 * (dynamic-resource-allocation, structured/internal/incubating/consumable_capacity_test.go, 1.37.2).
 */
import { describe, expect, it } from 'vitest';
import { dividedCapacity, type WrittenPolicy } from '../../src/domain/devices.ts';
import { parseQuantity } from '../../src/domain/quantity.ts';
import { allocateDevices, noDevicesInUse, takeDevices } from '../../src/scheduling/devices/device-allocator.ts';
import { DeviceIndex } from '../../src/scheduling/devices/device-list.ts';
import { describeShortfall } from '../../src/scheduling/devices/device-shortfall.ts';
import { takenParts } from '../../src/scheduling/devices/divided-capacity.ts';
import { aDevice, aDeviceClaim, aDevicePool } from '../support/devices.ts';

const RANGE: WrittenPolicy = { default: '1', validRange: { min: '1', max: '4', step: '2' } };
const VALUES: WrittenPolicy = { default: '1', validValues: ['1', '2', '4'] };
const FRACTIONS: WrittenPolicy = { default: '500m', validRange: { min: '500m', step: '250m' } };

describe('a request takes of a capacity', () => {
  it.each<[string, string, WrittenPolicy | undefined, string | undefined, string | undefined]>([
    ['all of it without a policy and without an amount', '10', undefined, undefined, '10'],
    ['the amount that it names without a policy', '10', undefined, '3', '3'],
    ['nothing if it wants more than there is', '10', undefined, '11', undefined],
    ["the policy's own amount if it names none", '10', RANGE, undefined, '1'],
    ['at least the minimum', '10', RANGE, '500m', '1'],
    ['the next step above the minimum', '10', RANGE, '2', '3'],
    ['a step exactly', '10', RANGE, '3', '3'],
    ['nothing if the next step is above the maximum', '10', RANGE, '4', undefined],
    ['an amount of the range as it is, without steps', '10', { default: '1', validRange: { min: '1', max: '4' } }, '2500m', '2500m'],
    ['the next of the values', '10', VALUES, '3', '4'],
    ['nothing above the largest value', '10', VALUES, '5', undefined],
    ['nothing if the rounded amount is more than there is', '3', VALUES, '3', undefined],
    ['the next step of a fraction', '2', FRACTIONS, '600m', '750m'],
    ['a step of a fraction exactly', '2', FRACTIONS, '1250m', '1250m'],
    ['bytes by steps', '80Gi', { default: '1Gi', validRange: { min: '1Gi', step: '1Gi' } }, '9728Mi', '10Gi'],
  ])('%s', (_what, whole, policy, wanted, taken) => {
    const divided = { memory: dividedCapacity(parseQuantity(whole), policy) };
    const parts = wanted === undefined ? {} : { memory: parseQuantity(wanted) };
    const found = takenParts(aDevice('d', { isDivided: true, divided }), parts);
    expect(found).toEqual(taken === undefined ? undefined : { memory: parseQuantity(taken) });
  });

  it.each<[string, Record<string, string>, Parameters<typeof aDevice>[1], boolean]>([
    ['a whole device that has as much', { memory: '8Gi' }, { capacity: { 'gpu.example.com': { memory: 2 ** 33 } } }, true],
    ['a whole device that has less', { memory: '9Gi' }, { capacity: { 'gpu.example.com': { memory: 2 ** 33 } } }, false],
    ['a device without such a capacity', { cores: '1' }, { capacity: { 'gpu.example.com': { memory: 2 ** 33 } } }, false],
    // The API compares the names as they are written.
    [
      'a capacity by its name with the domain, where the slice has none',
      { 'gpu.example.com/memory': '1Gi' },
      { capacity: { 'gpu.example.com': { memory: 2 ** 33 } } },
      false,
    ],
    [
      'a capacity of another domain',
      { 'other.com/lanes': '2' },
      { capacity: { 'other.com': { lanes: 4 } }, divided: { 'other.com/lanes': { whole: 4 } } },
      true,
    ],
  ])('of %s', (_what, wanted, device, isThere) => {
    const parts = Object.fromEntries(Object.entries(wanted).map(([name, amount]) => [name, parseQuantity(amount)]));
    expect(takenParts(aDevice('d', device), parts) !== undefined).toBe(isThere);
  });
});

it('the lack is said with what is left of the device that has the most', () => {
  const divided = { memory: dividedCapacity(2 ** 36, { default: '1Gi', validRange: { min: '1Gi', step: '1Gi' } }) };
  const index = new DeviceIndex();
  const list = index.listDevices([
    aDevicePool(
      'n',
      ['a', 'b'].map((name) => aDevice(name, { isDivided: true, divided })),
    ),
  ]);
  const inUse = noDevicesInUse(list);
  takeDevices(
    list,
    inUse,
    [
      { place: 0, amounts: [60 * 2 ** 30] },
      { place: 1, amounts: [50 * 2 ** 30] },
    ],
    1,
  );
  const [request] = aDeviceClaim(1).requests;
  const asks = (request?.asks ?? []).map((ask) => ({ ...ask, parts: { memory: 20.5 * 2 ** 30 } }));
  const claims = [{ name: 'gpu', requests: [{ name: 'r', asks }], rules: [] }];
  expect(describeShortfall({ index, claims, list, inUse, incomplete: [] })).toBe(
    'claim gpu, request r: needs 1 devices with 20992Mi of memory each, 0 of 2 that match are free; the request takes 21Gi of memory, and at most 14Gi of 64Gi is left of a device',
  );
});

it.each([
  ['while another counter of its pool is overdrawn', 3, undefined],
  ['otherwise', 2, [[{ place: 1, amounts: [] }]]],
])('a partition is allocated or not: %s', (_what, used, found) => {
  const consumes = (set: string, slots: number) => ({ consumes: [{ set, counters: { slots } }] });
  const devices = [aDevice('a', consumes('first', used)), aDevice('b', consumes('second', 1))];
  const index = new DeviceIndex();
  const list = index.listDevices([aDevicePool('n', devices, { counters: { first: { slots: 2 }, second: { slots: 2 } } })]);
  const inUse = noDevicesInUse(list);
  takeDevices(list, inUse, [{ place: 0, amounts: [] }], 1);
  expect(allocateDevices({ index, claims: [aDeviceClaim(1)], list, inUse, incomplete: [] })).toEqual(found);
});

it('counters of a device that claims share are returned by the last of them', () => {
  const device = aDevice('a', { isDivided: true, consumes: [{ set: 'first', counters: { slots: 1 } }] });
  const list = new DeviceIndex().listDevices([aDevicePool('n', [device], { counters: { first: { slots: 2 } } })]);
  const inUse = noDevicesInUse(list);
  const used = ([1, 1, -1, -1] as const).map((by) => {
    takeDevices(list, inUse, [{ place: 0, amounts: [] }], by);
    return inUse.used[0];
  });
  expect(used).toEqual([1, 1, 1, 0]);
});
