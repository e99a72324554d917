/** Devices as decisions see them. */
import type { Device, DeviceClaim, DevicePool } from '../../src/domain/devices.ts';

export const DRIVER = 'gpu.example.com';

export function aDevice(name: string, rest: Partial<Device> = {}): Device {
  return { driver: DRIVER, pool: 'n', name, attributes: {}, capacity: {}, taints: [], consumes: [], ...rest };
}

/** Whole devices `d-0` and on; or the given ones. */
export function aDevicePool(node: string, devices: number | readonly Device[], rest: Partial<DevicePool> = {}): DevicePool {
  const all = typeof devices === 'number' ? Array.from({ length: devices }, (_, at) => aDevice(`d-${at}`)) : devices;
  return { driver: DRIVER, name: node, devices: all.map((device) => ({ ...device, pool: node })), counters: {}, ...rest };
}

/** A claim for so many devices of whatever kind. */
export function aDeviceClaim(count: number | 'all', rest: Partial<DeviceClaim> = {}): DeviceClaim {
  const ask = { name: 'r', selectors: [], count, admin: false, tolerations: [] };
  return { name: 'gpu', requests: [{ name: 'r', asks: [ask] }], rules: [], ...rest };
}

/** The part of a shape that claims so many. */
export function claiming(count: number | 'all', rest: Partial<DeviceClaim> = {}) {
  return { devices: { claims: [aDeviceClaim(count, rest)], pins: [], blockers: [] } };
}
