/**
 * Where a pod's device claims allow it to run, like kube-scheduler's DynamicResources, as far as the node itself decides: a claim with
 * allocated devices binds the pod to their node. The device ledger knows which devices are free.
 */
import type { NodeForDevices } from '../../domain/devices.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { matchesTerms } from './node-affinity.ts';

type DeviceShape = Pick<PodShape, 'devices'>;

export function fitsPins({ devices }: DeviceShape, node: NodeForDevices): boolean {
  return devices.blockers.length === 0 && devices.pins.every(({ terms }) => matchesTerms(terms, node));
}

/** A reason that rules out every node is returned alone, since it is not about this node. */
export function refusedByPins({ devices }: DeviceShape, node: NodeForDevices): readonly FitReason[] {
  if (devices.blockers.length > 0) return devices.blockers.map(({ message, detail }) => ({ kind: 'device', message, detail }));
  return devices.pins
    .filter(({ terms }) => !matchesTerms(terms, node))
    .map(({ claim }) => ({
      kind: 'device',
      message: 'resourceclaim not available on the node',
      detail: `the devices of claim ${claim} are on another node`,
    }));
}

/** Not all claims can get their devices on one node. */
export function cannotAllocate(detail: string): FitReason {
  return { kind: 'device', message: 'cannot allocate all claims', detail };
}
