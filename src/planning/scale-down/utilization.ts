import { deviceId, type Device, type DevicePool } from '../../domain/devices.ts';
import { podName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Blocker } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { isLongTerminating } from '../../scheduling/drainability/drain-rules.ts';

/**
 * Requested share of the node, the larger of CPU and memory; 1 is full. Pods that are ignored (those that every such node
 * carries) are taken off both sides. undefined: the node says nothing of its size, or is full of pods that are ignored.
 */
export function utilizationOf(
  node: Node,
  pods: readonly Pod[],
  options: { readonly nowMs: number; readonly ignoreDaemonPods: boolean; readonly ignoreMirrorPods: boolean },
): number | undefined {
  let cpu = 0;
  let memory = 0;
  let ignoredCpu = 0;
  let ignoredMemory = 0;
  for (const pod of pods) {
    const { requests } = pod.shape;
    if ((options.ignoreDaemonPods && pod.daemonSet) || (options.ignoreMirrorPods && pod.mirror)) {
      ignoredCpu += requests[CPU] ?? 0;
      ignoredMemory += requests[MEMORY] ?? 0;
    } else if (!isLongTerminating(pod, options.nowMs)) {
      cpu += requests[CPU] ?? 0;
      memory += requests[MEMORY] ?? 0;
    }
  }
  const freeableCpu = (node.allocatable[CPU] ?? 0) - ignoredCpu;
  const freeableMemory = (node.allocatable[MEMORY] ?? 0) - ignoredMemory;
  if (freeableCpu <= 0 || freeableMemory <= 0) return undefined;
  return Math.max(cpu / freeableCpu, memory / freeableMemory);
}

// Nodes that are there for their devices: those alone say how much such a node is used.

/** The resource names of devices on Azure sizes. */
export const GPU_RESOURCES = ['nvidia.com/gpu', 'amd.com/gpu'] as const;
/** AKS sets these on nodes with devices, before a driver reports any. */
const DEVICE_LABELS = ['accelerator', 'kubernetes.azure.com/accelerator'] as const;

export function hasDevices(node: Node, devices: readonly number[]): boolean {
  return devices.some((index) => (node.allocatable[index] ?? 0) > 0) || DEVICE_LABELS.some((label) => Object.hasOwn(node.labels, label));
}

/** Requested share of the devices; 0 when the node offers none (a driver that never came up keeps no node). */
export function deviceUtilization(node: Node, pods: readonly Pod[], devices: readonly number[]): number {
  return devices.reduce((most, index) => {
    const offered = node.allocatable[index] ?? 0;
    const asked = pods.reduce((sum, pod) => sum + (pod.shape.requests[index] ?? 0), 0);
    return offered > 0 ? Math.max(most, asked / offered) : most;
  }, 0);
}

// How much of the devices of a node is allocated, after the Cluster Autoscaler's `simulator/utilization`.

/** Why it cannot be said: a pool that is not complete, or a pod whose claims have no devices yet; undefined: it can. */
export function unknownDeviceUse(node: Node, pods: readonly Pod[]): string | undefined {
  const [pool] = node.devices?.incomplete ?? [];
  if (pool !== undefined) return `device pool ${pool} is not complete`;
  const waiting = pods.find(({ shape, heldDevices }) => heldDevices === undefined && (shape.devices?.claims.length ?? 0) > 0);
  return waiting === undefined ? undefined : `pod ${podName(waiting)} claims devices that it has not got`;
}

/** The fullest pool: 0 to 1. undefined: the node has no devices that drivers publish. Looking on (admin access) is no use. */
export function claimUtilization({ devices }: Node, pods: readonly Pod[]): number | undefined {
  if (devices === undefined || devices.pools.length === 0) return undefined;
  const held = new Set([...devices.held, ...pods.flatMap(({ heldDevices = [] }) => heldDevices)]);
  return Math.max(...devices.pools.map((pool) => poolUtilization(pool, held)));
}

function poolUtilization({ devices, counters }: DevicePool, held: ReadonlySet<string>): number {
  const taken = devices.filter((device) => held.has(deviceId(device)));
  const sets = Object.entries(counters);
  if (sets.length === 0) return devices.length === 0 ? 0 : taken.length / devices.length;
  const shares = sets.map(([set, limits]) =>
    Math.max(0, ...Object.entries(limits).map(([counter, limit]) => shareOf(taken, set, counter, limit))),
  );
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function shareOf(taken: readonly Device[], set: string, counter: string, limit: number): number {
  const used = taken
    .flatMap(({ consumes }) => consumes)
    .reduce((sum, consumption) => (consumption.set === set ? sum + (consumption.counters[counter] ?? 0) : sum), 0);
  return limit > 0 ? used / limit : 0;
}

/** The first pod whose claims of devices cannot be judged: how much of its node is used would be a guess, and so would be moving it. */
export function unsupportedClaim(pods: readonly Pod[], feature: string): Blocker | undefined {
  for (const pod of pods) {
    const claim = pod.shape.unsupported.find((requirement) => requirement.feature === feature);
    if (claim !== undefined)
      return {
        pod: podName(pod),
        reason: 'UnexpectedError',
        detail: `${claim.detail}: how much of the node's devices is in use is not known`,
      };
  }
  return undefined;
}
