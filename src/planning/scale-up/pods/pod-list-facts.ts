/**
 * Facts of the pods of one node, found once: the lists are never changed, and most are the same in the next loop. Must not know what
 * follows from a fact.
 */
import { isReservation } from '../../state/assumed-pods.ts';
import { needsDevices } from '../../../domain/devices.ts';
import type { Pod } from '../../../domain/pod.ts';
import { CPU, MEMORY } from '../../../domain/resources.ts';

interface PodListSummary {
  /** The least priority that a pod states; infinite if none states one. */
  readonly lowestPriority: number;
  /** Room that is held for others. */
  readonly hasHolds: boolean;
  readonly hasDeviceClaims: boolean;
  /** A workload of one states its share on regular nodes. */
  readonly hasShares: boolean;
  /** Undefined if a pod terminates, or is both a daemon's and a mirror: then what counts depends on more. */
  readonly requests: RequestSums | undefined;
}

interface RequestSums {
  readonly ofDaemons: RequestSum;
  readonly ofMirrors: RequestSum;
  readonly ofOthers: RequestSum;
}

export interface RequestSum {
  cpuMillis: number;
  memoryBytes: number;
}

const known = new WeakMap<readonly Pod[], PodListSummary>();

/** `pods`: the list of a node, as the view has it. */
export function factsOf(pods: readonly Pod[]): PodListSummary {
  const found = known.get(pods);
  if (found !== undefined) return found;
  const facts = findFacts(pods);
  known.set(pods, facts);
  return facts;
}

function findFacts(pods: readonly Pod[]): PodListSummary {
  const requests = { ofDaemons: emptySum(), ofMirrors: emptySum(), ofOthers: emptySum() };
  let lowestPriority = Number.POSITIVE_INFINITY;
  for (const pod of pods) {
    const { shape, daemonSet, mirror } = pod;
    lowestPriority = Math.min(lowestPriority, shape.priority ?? Number.POSITIVE_INFINITY);
    const sum = daemonSet ? requests.ofDaemons : mirror ? requests.ofMirrors : requests.ofOthers;
    sum.cpuMillis += shape.requests[CPU] ?? 0;
    sum.memoryBytes += shape.requests[MEMORY] ?? 0;
  }
  return {
    lowestPriority,
    hasHolds: pods.some(isReservation),
    hasDeviceClaims: pods.some(({ shape }) => needsDevices(shape.devices) || shape.unsupported.length > 0),
    hasShares: pods.some(({ annotations }) => annotations.minOnDemand !== undefined),
    requests: pods.some(({ deletionAtMs, daemonSet, mirror }) => deletionAtMs !== undefined || (daemonSet && mirror))
      ? undefined
      : requests,
  };
}

function emptySum(): RequestSum {
  return { cpuMillis: 0, memoryBytes: 0 };
}
