/** Devices that a user declares for a pool, as they are written and against what a node publishes. */
import { describe, expect, it } from 'vitest';
import type { DevicePool } from '../../src/domain/devices.ts';
import { describeUndeclared, readDeclaredDevices } from '../../src/domain/declared-devices.ts';
import { aDevice, aDevicePool, DRIVER } from '../support/devices.ts';

const poolsOf = (written: unknown, driver?: string): readonly DevicePool[] | string => {
  const read = readDeclaredDevices(written, driver);
  return read.ok ? read.pools : read.problem;
};

describe('declared devices', () => {
  it('are written as a slice has them, or shorter', () => {
    const long = {
      driver: DRIVER,
      attributes: {
        model: { string: 'A' },
        index: { int: 0 },
        ecc: { bool: true },
        version: { version: '1.2.0' },
        'pci.io/root': { string: 'x' },
      },
      capacity: { memory: { value: '80Gi' } },
      taints: [{ key: 'sick', effect: 'NoSchedule' }],
    };
    const short = {
      driver: DRIVER,
      count: 1,
      attributes: { model: 'A', index: 0, ecc: true, version: { version: '1.2.0' }, 'pci.io/root': 'x' },
      capacity: { memory: '80Gi' },
      taints: [{ key: 'sick', value: '', effect: 'NoSchedule' }],
    };
    expect(poolsOf([long])).toEqual(poolsOf([short]));
    expect(poolsOf([short])).toEqual([
      {
        driver: DRIVER,
        name: 'declared',
        counters: {},
        devices: [
          aDevice('declared-0', {
            pool: 'declared',
            attributes: { [DRIVER]: { model: 'A', index: 0, ecc: true, version: { version: '1.2.0' } }, 'pci.io': { root: 'x' } },
            capacity: { [DRIVER]: { memory: 80 * 2 ** 30 } },
            taints: [{ key: 'sick', value: '', effect: 'NoSchedule' }],
          }),
        ],
      },
    ]);
  });

  it('are one pool of each driver, which the name of a tag may give', () => {
    const pools = poolsOf([{ driver: 'b', count: 2 }, { driver: 'a' }, { driver: 'b', attributes: { big: true } }]);
    expect(typeof pools === 'string' ? pools : pools.map(({ driver, devices }) => [driver, devices.map(({ name }) => name)])).toEqual([
      ['a', ['declared-0']],
      ['b', ['declared-0', 'declared-1', 'declared-2']],
    ]);
    expect(poolsOf({ count: 4 }, 'c')).toMatchObject([{ driver: 'c', devices: { length: 4 } }]);
  });

  it.each<[unknown, RegExp]>([
    ['four', /an entry is not a map/],
    [[{ count: 1 }], /no driver/],
    [[{ driver: 'a', count: 0 }], /count is 0; it must be a whole number from 1 to 128/],
    [
      [
        { driver: 'a', count: 100 },
        { driver: 'a', count: 100 },
      ],
      /200 devices of a: the most are 128/,
    ],
    [
      [{ driver: 'a', device: 1 }],
      /"device" is unknown; accepted are driver, count, attributes, capacity, taints, allowMultipleAllocations/,
    ],
    [[{ driver: 'a', attributes: { x: 1.5 } }], /attribute x is 1.5; it must be a text, a whole number/],
    [[{ driver: 'a', attributes: { x: { string: 'a', int: 1 } } }], /attribute x is/],
    [[{ driver: 'a', attributes: { x: { int: '1' } } }], /attribute x is/],
    [[{ driver: 'a', attributes: ['x'] }], /attributes is not a map/],
    [[{ driver: 'a', capacity: { memory: 'much' } }], /capacity memory is "much"; it must be a quantity such as 80Gi/],
    [[{ driver: 'a', taints: [{ key: 'x', effect: 'Never' }] }], /a taint must be/],
    [[{ driver: 'a', taints: 'x' }], /taints is not a list/],
    [[{ driver: 'a', allowMultipleAllocations: 'yes' }], /allowMultipleAllocations is neither true nor false/],
    [
      [{ driver: 'a', allowMultipleAllocations: true, capacity: { memory: { value: '1Gi', requestPolicy: { default: 'much' } } } }],
      /"much" is not a quantity/,
    ],
  ])('are refused with what is wrong: %j', (written, problem) => {
    expect(poolsOf(written)).toMatch(problem);
  });

  it.each([
    ['as declared', { attributes: { [DRIVER]: { model: 'A', uuid: 'u' } } }, 2, undefined],
    ['fewer', { attributes: { [DRIVER]: { model: 'A' } } }, 1, `2 devices of ${DRIVER} are declared, and a node publishes 1`],
    [
      'another model',
      { attributes: { [DRIVER]: { model: 'B' } } },
      2,
      `the attribute ${DRIVER}/model="A" of ${DRIVER} is declared, and no device of a node has it`,
    ],
    ['another driver', { driver: 'x' }, 2, `2 devices of ${DRIVER} are declared, and a node publishes 0`],
  ])('against devices of a node: %s', (_, rest, count, difference) => {
    const declared = poolsOf([{ driver: DRIVER, count: 2, attributes: { model: 'A' } }]);
    const real = Array.from({ length: count }, (__, at) => aDevice(`d-${at}`, rest));
    const pool = aDevicePool('n', real, 'driver' in rest ? { driver: 'x' } : {});
    expect(typeof declared === 'string' ? declared : describeUndeclared(declared, [pool])).toBe(difference);
  });

  it('may be had in parts, as a slice says', () => {
    const memory = { value: '80Gi', requestPolicy: { default: '10Gi', validValues: ['10Gi', '20Gi'] } };
    const pools = poolsOf([{ driver: DRIVER, allowMultipleAllocations: true, capacity: { memory } }]);
    expect(typeof pools === 'string' ? pools : pools[0]?.devices[0]).toMatchObject({
      isDivided: true,
      capacity: { [DRIVER]: { memory: 80 * 2 ** 30 } },
      divided: { memory: { whole: 80 * 2 ** 30, usual: 10 * 2 ** 30, values: [10 * 2 ** 30, 20 * 2 ** 30] } },
    });
  });

  it('are not all that a node publishes', () => {
    expect(describeUndeclared([], [aDevicePool('n', 3)])).toBe(`no device of ${DRIVER} is declared, and a node publishes 3`);
  });
});
