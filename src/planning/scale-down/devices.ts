/** Nodes that are there for their devices: those alone say how much such a node is used. */
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';

/** The resource names of devices on Azure sizes. */
export const DEVICES = ['nvidia.com/gpu', 'amd.com/gpu'] as const;
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
