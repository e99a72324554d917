/** What is taken of the devices of a node. */
import type { DeviceList } from './device-list.ts';

export interface DevicesInUse {
  /** By device: how many have it. */
  readonly taken: Uint16Array;
  /** By counter. */
  readonly used: Float64Array;
}

export function nothingInUse(list: DeviceList): DevicesInUse {
  return { taken: new Uint16Array(list.devices.length), used: new Float64Array(list.limits.length) };
}

/** `by` is 1 to take and -1 to give back. Counters go with the first that takes a device and come with the last. */
export function takeDevices(list: DeviceList, { taken, used }: DevicesInUse, places: readonly number[], by: 1 | -1): void {
  for (const place of places) {
    const before = taken[place] ?? 0;
    taken[place] = before + by;
    if (before + by > 1 || (before === 1 && by === 1)) continue;
    for (const { counter, amount } of list.uses[place] ?? []) used[counter] = (used[counter] ?? 0) + by * amount;
  }
}
