import { deviceId, heldDeviceId, type Device, type DevicePool, type HeldDevice } from '../../domain/devices.ts';
import { podName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Blocker } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { factsOf, type RequestSum } from '../scale-up/pods/pod-list-facts.ts';
import { isLongTerminating } from '../../scheduling/drainability/drain-rules.ts';

/**
 * The requested share of the node, the larger of CPU and memory; 1 is full. Ignored pods (those that every such node runs) are
 * subtracted from both sides. Undefined if the node reports no size, or ignored pods fill it.
 */
export function utilizationOf(
  node: Node,
  pods: readonly Pod[],
  options: { readonly nowMs: number; readonly ignoreDaemonPods: boolean; readonly ignoreMirrorPods: boolean },
): number | undefined {
  const { counted, ignored } = requestedOn(pods, options);
  const freeableCpu = (node.allocatable[CPU] ?? 0) - ignored.cpuMillis;
  const freeableMemory = (node.allocatable[MEMORY] ?? 0) - ignored.memoryBytes;
  if (freeableCpu <= 0 || freeableMemory <= 0) return undefined;
  return Math.max(counted.cpuMillis / freeableCpu, counted.memoryBytes / freeableMemory);
}

interface Requested {
  readonly counted: RequestSum;
  readonly ignored: RequestSum;
}

function requestedOn(pods: readonly Pod[], options: Parameters<typeof utilizationOf>[2]): Requested {
  const sums = factsOf(pods).requests;
  const requested = { counted: { cpuMillis: 0, memoryBytes: 0 }, ignored: { cpuMillis: 0, memoryBytes: 0 } };
  const add = (part: keyof Requested, { cpuMillis, memoryBytes }: RequestSum): void => {
    requested[part].cpuMillis += cpuMillis;
    requested[part].memoryBytes += memoryBytes;
  };
  if (sums !== undefined) {
    add('counted', sums.ofOthers);
    add(options.ignoreDaemonPods ? 'ignored' : 'counted', sums.ofDaemons);
    add(options.ignoreMirrorPods ? 'ignored' : 'counted', sums.ofMirrors);
    return requested;
  }
  for (const pod of pods) {
    const { requests } = pod.shape;
    const isIgnored = (options.ignoreDaemonPods && pod.daemonSet) || (options.ignoreMirrorPods && pod.mirror);
    if (isIgnored || !isLongTerminating(pod, options.nowMs))
      add(isIgnored ? 'ignored' : 'counted', { cpuMillis: requests[CPU] ?? 0, memoryBytes: requests[MEMORY] ?? 0 });
  }
  return requested;
}

/** The resource names of GPUs on Azure VM sizes. For a node with such devices, they alone decide how much it is used. */
export const GPU_RESOURCES = ['nvidia.com/gpu', 'amd.com/gpu'] as const;
/** AKS sets these labels on nodes with devices, before a driver reports a device. */
const DEVICE_LABELS = ['accelerator', 'kubernetes.azure.com/accelerator'] as const;

export function hasDevices(node: Node, devices: readonly number[]): boolean {
  return devices.some((index) => (node.allocatable[index] ?? 0) > 0) || DEVICE_LABELS.some((label) => Object.hasOwn(node.labels, label));
}

/** The requested share of the devices; 0 if the node offers no device, so that a missing driver does not make it unremovable. */
export function deviceUtilization(node: Node, pods: readonly Pod[], devices: readonly number[]): number {
  return devices.reduce((most, index) => {
    const offered = node.allocatable[index] ?? 0;
    const requested = pods.reduce((sum, pod) => sum + (pod.shape.requests[index] ?? 0), 0);
    return offered > 0 ? Math.max(most, requested / offered) : most;
  }, 0);
}

/**
 * Why the allocated share of a node's devices is unknown: an incomplete pool, or a pod whose claims have no devices yet.
 * Undefined if it is known. After the Cluster Autoscaler's `simulator/utilization`.
 */
export function unknownDeviceUse(node: Node, pods: readonly Pod[]): string | undefined {
  const [pool] = node.devices.incomplete;
  if (pool !== undefined) return `device pool ${pool} is incomplete`;
  const waiting = pods.find(({ shape, status }) => status.heldDevices === undefined && shape.devices.claims.length > 0);
  return waiting === undefined ? undefined : `pod ${podName(waiting)} has device claims without allocated devices`;
}

/** The share of the fullest pool, 0 to 1; undefined if drivers publish no devices of the node. Admin access does not count. */
export function claimUtilization({ devices }: Node, pods: readonly Pod[]): number | undefined {
  if (devices.pools.length === 0) return undefined;
  const held = Map.groupBy([...devices.held, ...pods.flatMap(({ status }) => status.heldDevices ?? [])], heldDeviceId);
  return Math.max(...devices.pools.map((pool) => poolUtilization(pool, held)));
}

type Holdings = ReadonlyMap<string, readonly HeldDevice[]>;

function poolUtilization({ devices, counters }: DevicePool, held: Holdings): number {
  const taken = devices.filter((device) => held.has(deviceId(device)));
  const sets = Object.entries(counters);
  if (sets.length === 0)
    return devices.length === 0
      ? 0
      : taken.reduce((sum, device) => sum + takenShare(device, held.get(deviceId(device)) ?? []), 0) / devices.length;
  const shares = sets.map(([set, limits]) =>
    Math.max(0, ...Object.entries(limits).map(([counter, limit]) => shareOf(taken, set, counter, limit))),
  );
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

/** Of a divided device: the largest share that is had of one of its capacities. */
function takenShare({ isDivided, divided = {} }: Device, held: readonly HeldDevice[]): number {
  if (isDivided !== true) return 1;
  const had = (name: string, whole: number): number =>
    held.reduce((sum, one) => sum + (typeof one === 'string' ? whole : (one.parts[name] ?? 0)), 0);
  const shares = Object.entries(divided).map(([name, { whole }]) => (whole > 0 ? had(name, whole) / whole : 0));
  return shares.length === 0 ? 1 : Math.min(1, Math.max(...shares));
}

function shareOf(taken: readonly Device[], set: string, counter: string, limit: number): number {
  const used = taken
    .flatMap(({ consumes }) => consumes)
    .reduce((sum, consumption) => (consumption.set === set ? sum + (consumption.counters[counter] ?? 0) : sum), 0);
  return limit > 0 ? used / limit : 0;
}

/** The first pod with unsupported device claims: the use of its node, and whether it can move, would be a guess. */
export function unsupportedClaim(pods: readonly Pod[], feature: string): Blocker | undefined {
  for (const pod of pods) {
    const claim = pod.shape.unsupported.find((requirement) => requirement.feature === feature);
    if (claim !== undefined)
      return {
        pod: podName(pod),
        reason: 'UnexpectedError',
        detail: `${claim.detail}: the device utilization of the node is unknown`,
      };
  }
  return undefined;
}
