/** The region's finite stock and the subscription's quota: what makes allocation and acceptance fail by themselves. */
import type { QuotaShortage } from './errors.ts';
import { findVmSize, VM_SIZES } from './sku-table.ts';
import { allVms, type ArmWorld } from './world-state.ts';
import type { Vm } from './vm.ts';

export function stockKey(vmSize: string, zone: string | undefined): string {
  return `${vmSize}/${zone ?? '0'}`.toLowerCase();
}

/** Takes one machine from the stock. false: there is none left. */
export function takeStock(world: ArmWorld, vmSize: string, zone: string | undefined): boolean {
  const key = stockKey(vmSize, zone);
  const left = world.stock.get(key);
  if (left === undefined) return true;
  if (left < 1) return false;
  world.stock.set(key, left - 1);
  return true;
}

export function returnStock(world: ArmWorld, vm: Vm): void {
  if (!vm.holdsStock) return;
  vm.holdsStock = false;
  const key = stockKey(vm.vmSize, vm.zone);
  const left = world.stock.get(key);
  if (left !== undefined) world.stock.set(key, left + 1);
}

export interface Usage {
  readonly name: string;
  readonly title: string;
  readonly current: number;
  readonly limit: number;
}

/** Limit shown where the world sets none. */
const PLENTY = 100_000;

/** What every machine on the books draws, the ones being created, deallocated and deleted included. */
export function usages(world: ArmWorld): readonly Usage[] {
  const vms = allVms(world);
  const regular = vms.filter((vm) => vm.pool.priority !== 'Spot');
  const spot = vms.filter((vm) => vm.pool.priority === 'Spot');
  const cores = (list: readonly Vm[]): number => list.reduce((sum, vm) => sum + (findVmSize(vm.vmSize)?.vcpus ?? 0), 0);
  const row = (name: string, title: string, current: number): Usage => ({
    name,
    title,
    current,
    limit: world.quota.get(name.toLowerCase()) ?? PLENTY,
  });
  const families = new Set([...VM_SIZES.values()].map((size) => size.family));
  return [
    row('cores', 'Total Regional vCPUs', cores(regular)),
    row('lowPriorityCores', 'Total Regional Spot vCPUs', cores(spot)),
    row('virtualMachines', 'Virtual Machines', vms.length),
    row('virtualMachineScaleSets', 'Virtual Machine Scale Sets', world.sets.size),
    ...[...families].map((family) =>
      row(family, `${family} vCPUs`, cores(regular.filter((vm) => findVmSize(vm.vmSize)?.family === family))),
    ),
  ];
}

/** The first quota that `count` more machines of a size would break. undefined: all of them fit. */
export function quotaShortage(
  world: ArmWorld,
  want: { readonly vmSize: string; readonly spot: boolean; readonly count: number },
): QuotaShortage | undefined {
  const size = findVmSize(want.vmSize);
  if (size === undefined || want.count <= 0) return undefined;
  const required = size.vcpus * want.count;
  const names = want.spot
    ? [{ key: 'lowPriorityCores', shown: 'LowPriority' }]
    : [
        { key: size.family, shown: size.family },
        { key: 'cores', shown: 'Total Regional' },
      ];
  const rows = usages(world);
  for (const { key, shown } of names) {
    const usage = rows.find((row) => row.name === key);
    if (usage !== undefined && usage.current + required > usage.limit) {
      return { name: shown, location: world.spec.location, limit: usage.limit, usage: usage.current, required };
    }
  }
  return undefined;
}
