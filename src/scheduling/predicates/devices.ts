/**
 * Where a pod's device claims let it run, after kube-scheduler's DynamicResources, as far as only the node itself is asked: claims
 * that have their devices pin the pod to where those are. Which devices are left on a node is the ledger's to say.
 */
import type { NodeForDevices } from '../../domain/devices.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { matchesTerms } from './node-affinity.ts';

type Wishes = Pick<PodShape, 'devices'>;

export function fitsPins({ devices }: Wishes, node: NodeForDevices): boolean {
  return devices === undefined || (devices.blockers.length === 0 && devices.pins.every(({ terms }) => matchesTerms(terms, node)));
}

/** What keeps the pod off every node comes alone: no node is to blame for it. */
export function refusedByPins({ devices }: Wishes, node: NodeForDevices): readonly FitReason[] {
  if (devices === undefined) return [];
  if (devices.blockers.length > 0) return devices.blockers.map(({ message, detail }) => ({ kind: 'device', message, detail }));
  return devices.pins
    .filter(({ terms }) => !matchesTerms(terms, node))
    .map(({ claim }) => ({
      kind: 'device',
      message: 'resourceclaim not available on the node',
      detail: `the devices of claim ${claim} are on another node`,
    }));
}

/** Not all claims get their devices on one node. */
export function cannotAllocate(detail: string): FitReason {
  return { kind: 'device', message: 'cannot allocate all claims', detail };
}
