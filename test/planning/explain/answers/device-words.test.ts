/** What `explain pool` says of the devices of the next node. */
import { describe, expect, it } from 'vitest';
import type { CommonPool } from '../../../../src/domain/devices.ts';
import { describeNextDevices } from '../../../../src/planning/explain/answers/device-words.ts';
import { aGroup, aTemplate } from '../../../support/builders.ts';
import { aDevicePool, DRIVER } from '../../../support/devices.ts';

const net = (pool: string, rest: Partial<CommonPool> = {}): CommonPool => {
  const { devices, ...made } = aDevicePool('net', 3, { driver: 'net.example.com' });
  const reach = [{ expressions: [{ key: 'pool', operator: 'In' as const, values: [pool] }], fields: [] }];
  const allocated = ['net.example.com/net/d-0', { device: 'net.example.com/net/d-2', parts: { lanes: 1 } }];
  return { ...made, devices: devices.map((device) => ({ ...device, driver: 'net.example.com', reach })), allocated, held: [], ...rest };
};

describe('the devices of the next node', () => {
  it.each<[string, object, readonly CommonPool[] | undefined, string | undefined]>([
    ['none', {}, undefined, undefined],
    ['its own', { devicePools: [aDevicePool('n', 4)] }, undefined, `4 devices of ${DRIVER}`],
    [
      'declared ones',
      { devicePools: [aDevicePool('n', 1)], devicesDeclared: true },
      undefined,
      `1 device of ${DRIVER} (declared; no node has shown any)`,
    ],
    ['those that its labels reach', {}, [net('gpu')], '3 devices of net.example.com that several nodes reach (2 with claims)'],
    [
      'both',
      { devicePools: [aDevicePool('n', 4)] },
      [net('gpu')],
      `4 devices of ${DRIVER}, 3 devices of net.example.com that several nodes reach (2 with claims)`,
    ],
    ['none of those that other nodes reach', {}, [net('other')], undefined],
    ['none of a pool that is not complete', {}, [net('gpu', { isIncomplete: true })], undefined],
  ])('%s', (_what, part, commonDevices, text) => {
    const group = aGroup({ id: 'gpu', template: { ...aTemplate({ labels: { pool: 'gpu' } }), ...part } });
    expect(describeNextDevices(group, { daemonSets: [], commonDevices: commonDevices ?? [] })).toBe(text);
  });
});
