/** What an option leaves idle of what it buys. */
import { CPU, MEMORY, type ResourceNames, type Resources } from '../../domain/resources.ts';
import type { EquivalenceGroup } from './equivalence-groups.ts';
import type { Estimate } from './estimate.ts';
import type { GroupTemplate } from './template-node.ts';

/**
 * 0 when nothing is idle: the mean idle share of CPU and memory of the nodes' whole capacity (what is paid for, so that
 * what DaemonSets and the system take counts as overhead), plus the idle share of each kind of device they carry, so
 * that GPU nodes are not bought for pods without GPUs.
 */
export function wasteOf(estimate: Estimate, { template }: GroupTemplate, names: ResourceNames): number {
  const idle = (index: number): number => {
    const bought = estimate.nodes * (template.capacity[index] ?? 0);
    return bought > 0 ? (bought - usedOf(estimate.placed, index)) / bought : 0;
  };
  const devices = deviceIndexes(template.capacity, names);
  return (idle(CPU) + idle(MEMORY)) / 2 + devices.reduce((sum, index) => sum + idle(index), 0);
}

function usedOf(placed: ReadonlyMap<EquivalenceGroup, number>, index: number): number {
  return [...placed].reduce((sum, [group, count]) => sum + count * (group.shape.requests[index] ?? 0), 0);
}

/** The places of the devices that a node carries. */
export function deviceIndexes(capacity: Resources, names: ResourceNames): readonly number[] {
  return [...capacity.keys()].filter((index) => isDevice(names.nameOf(index)) && (capacity[index] ?? 0) > 0);
}

/** Extended resources are spelled `vendor/device`. */
function isDevice(name: string): boolean {
  return name.includes('/') && !name.startsWith('kubernetes.io/');
}
