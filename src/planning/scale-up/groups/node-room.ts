/** What a node offers to pods besides those that come with it: a real node, or the one that a template promises. */
import type { HostPort, Pod, PodShape } from '../../../domain/pod.ts';
import type { DeviceClaim, DevicePool, HeldDevice } from '../../../domain/devices.ts';
import type { FitReason } from '../../../domain/reasons.ts';
import { minus, type ResourceNames, type Resources } from '../../../domain/resources.ts';
import { allocateDevices, noDevicesInUse, takeDevices } from '../../../scheduling/devices/device-allocator.ts';
import { DeviceIndex, takenById } from '../../../scheduling/devices/device-list.ts';
import { describeShortfall } from '../../../scheduling/devices/device-shortfall.ts';
import { refusedByPorts } from '../../../scheduling/predicates/node-gates.ts';
import { insufficientResources } from '../../../scheduling/predicates/resources-fit.ts';
import { requestsAlone } from '../../../scheduling/volumes/attachments.ts';

export interface NodeRoom {
  /** Allocatable less what the node's own pods request; negative if these alone are too big. */
  readonly free: Resources;
  /** Host ports that they use. */
  readonly ports: readonly HostPort[];
}

/** `own` are the pods that come with the node. */
export function roomBeside(own: readonly Pod[], allocatable: Resources): NodeRoom {
  return {
    free: own.reduce((left, { shape }) => minus(left, requestsAlone(shape)), allocatable),
    ports: own.flatMap(({ shape }) => shape.hostPorts),
  };
}

/** Why one pod does not find the ports and resources that it needs. Empty if it does. */
export function roomRefusals(shape: PodShape, { free, ports }: NodeRoom, names: ResourceNames): readonly FitReason[] {
  return [...refusedByPorts(shape, ports), ...insufficientResources(requestsAlone(shape), free, names)];
}

/** What the claims of one pod lack, if no device but `taken` is in use. undefined: they have enough. `index` is kept as long as the pools. */
export function missingDevices(
  claims: readonly DeviceClaim[],
  pools: readonly DevicePool[],
  index = new DeviceIndex(),
  taken: readonly HeldDevice[] = [],
): string | undefined {
  if (claims.length === 0) return undefined;
  const list = index.listDevices(pools);
  const inUse = noDevicesInUse(list);
  takeDevices(list, inUse, takenById(taken, list), 1);
  const input = { index, claims, list, inUse, incomplete: [] };
  return allocateDevices(input) === undefined ? describeShortfall(input) : undefined;
}
