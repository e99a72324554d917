/**
 * The region's finite stock and the subscription's quota. They make allocations and requests fail without a fault. A capacity reservation
 * counts against the quota from its creation on, used or not; VMs of an associated set beyond the reserved quantity are allowed and need
 * quota of their own (Microsoft Learn, "On-demand capacity reservation", on limits and overallocation). Spot VMs cannot use one.
 */
import type { QuotaShortage } from '../http/errors.ts';
import { findVmSize, VM_SIZES } from './vm-sizes.ts';
import type { CapacityReservationSpec, PoolSpec } from '../../base/world-spec.ts';
import { allVms, type ArmWorld } from './arm-state.ts';
import type { Vm } from './vm.ts';

type Priority = 'Regular' | 'Spot';

/** Without a priority, the stock that Spot and regular VMs share. */
export function stockKey(vmSize: string, zone: string | undefined, priority?: Priority): string {
  return `${vmSize}/${zone ?? '0'}${priority === undefined ? '' : `/${priority}`}`.toLowerCase();
}

/** Spot VMs get what regular ones leave: Azure may have none for Spot and enough for regular VMs. */
function keysOf(vmSize: string, zone: string | undefined, priority: Priority): readonly string[] {
  return [stockKey(vmSize, zone), stockKey(vmSize, zone, priority)];
}

/** VMs that the world can still create. undefined: no limit. */
export function stockLeft(
  world: ArmWorld,
  vmSize: string,
  place: { readonly zone: string; readonly priority: Priority },
): number | undefined {
  const limits = keysOf(vmSize, place.zone, place.priority).flatMap((key) => world.stock.get(key) ?? []);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** Takes one VM from the stock. false: the stock is empty. */
export function takeStock(world: ArmWorld, { vmSize, zone, pool }: Pick<Vm, 'vmSize' | 'zone' | 'pool'>): boolean {
  const keys = keysOf(vmSize, zone, pool.priority ?? 'Regular').filter((key) => world.stock.has(key));
  if (keys.some((key) => (world.stock.get(key) ?? 0) < 1)) return false;
  for (const key of keys) world.stock.set(key, (world.stock.get(key) ?? 0) - 1);
  return true;
}

export function returnStock(world: ArmWorld, vm: Vm): void {
  if (!vm.holdsStock) return;
  vm.holdsStock = false;
  for (const key of keysOf(vm.vmSize, vm.zone, vm.pool.priority ?? 'Regular')) {
    const left = world.stock.get(key);
    if (left !== undefined) world.stock.set(key, left + 1);
  }
}

export interface Usage {
  readonly name: string;
  readonly title: string;
  readonly current: number;
  readonly limit: number;
}

/** The limit of a quota that the world does not set. */
const DEFAULT_LIMIT = 100_000;
/** Families that the subscription sees without having any quota of them. A region lists many such (recorded by azure-powershell, 2023). */
const WITHOUT_QUOTA = ['standardNDSFamily', 'standardHBSFamily'];

/** As Azure writes it for people: "Standard DSv5 Family vCPUs". */
function familyTitle(family: string): string {
  return `${family.replace(/^standard/, 'Standard ').replace(/Family$/, ' Family')} vCPUs`;
}

/**
 * The usage of all VMs of the subscription that count, including those being created, deallocated and deleted. Overprovisioned VMs do
 * not count; reserved VMs count whether they are used or not.
 */
export function usages(world: ArmWorld): readonly Usage[] {
  const clusters = [...world.subscription.clusters];
  const vms = clusters.flatMap(allVms).filter((vm) => !vm.surplus);
  const regular = vms.filter((vm) => vm.pool.priority !== 'Spot');
  const spot = vms.filter((vm) => vm.pool.priority === 'Spot');
  const cores = (list: readonly Vm[]): number => list.reduce((sum, vm) => sum + (findVmSize(vm.vmSize)?.vcpus ?? 0), 0);
  const reserved = (family?: string): number => clusters.reduce((sum, each) => sum + reservedCores(each, family), 0);
  const row = (name: string, title: string, current: number): Usage => ({
    name,
    title,
    current,
    limit: world.quota.get(name.toLowerCase()) ?? (WITHOUT_QUOTA.includes(name) ? 0 : DEFAULT_LIMIT),
  });
  const families = new Set([...VM_SIZES.values()].map((size) => size.family).concat(WITHOUT_QUOTA));
  return [
    row('cores', 'Total Regional vCPUs', cores(regular) + reserved()),
    row('lowPriorityCores', 'Total Regional Low-priority vCPUs', cores(spot)),
    row('virtualMachines', 'Virtual Machines', vms.length),
    row(
      'virtualMachineScaleSets',
      'Virtual Machine Scale Sets',
      clusters.reduce((sum, { sets }) => sum + sets.size, 0),
    ),
    row('availabilitySets', 'Availability Sets', 0),
    ...[...families].map((family) =>
      row(family, familyTitle(family), cores(regular.filter((vm) => findVmSize(vm.vmSize)?.family === family)) + reserved(family)),
    ),
  ];
}

/** An increase by this many VMs of a size. */
export interface StockRequest {
  readonly vmSize: string;
  readonly spot: boolean;
  readonly count: number;
  /** The pool that the VMs are for: its capacity reservations need no further quota. If absent, none. */
  readonly pool?: PoolSpec | undefined;
}

/** The first quota that these increases together would exceed. undefined: they all fit. */
export function quotaShortage(world: ArmWorld, wants: readonly StockRequest[]): QuotaShortage | undefined {
  const rows = usages(world);
  const required = new Map<string, number>();
  for (const { vmSize, spot, count: all, pool } of wants) {
    const count = spot ? all : vmsBeyondReservations(world, pool, vmSize, all);
    const size = findVmSize(vmSize);
    if (size === undefined || count <= 0) continue;
    for (const key of spot ? ['lowPriorityCores'] : [size.family, 'cores'])
      required.set(key, (required.get(key) ?? 0) + size.vcpus * count);
  }
  for (const [key, more] of required) {
    const usage = rows.find((row) => row.name === key);
    if (usage === undefined || usage.current + more <= usage.limit) continue;
    return { name: SHOWN.get(key) ?? key, location: world.spec.location, limit: usage.limit, usage: usage.current, required: more };
  }
  return undefined;
}

/** The names in a refusal of quotas that are not families. */
const SHOWN: ReadonlyMap<string, string> = new Map([
  ['lowPriorityCores', 'LowPriority'],
  ['cores', 'Total Regional'],
]);

/** The VMs that Azure lists as allocated in a reservation, those beyond the reserved quantity included. A deallocated VM is not among them. */
export function vmsInReservation(world: ArmWorld, group: string, reservation: CapacityReservationSpec): readonly Vm[] {
  return allVms(world).filter(
    (vm) =>
      isAssociated(vm.pool, group) &&
      vm.vmSize.toLowerCase() === reservation.vmSize.toLowerCase() &&
      vm.zone === reservation.zone &&
      vm.power !== 'deallocated' &&
      !vm.surplus,
  );
}

/** Reserved VMs that no VM uses, by size: they count against the quota, too. */
function unusedReservations(
  world: ArmWorld,
): readonly { readonly vmSize: string; readonly zone: string | undefined; readonly group: string; readonly count: number }[] {
  return (world.spec.capacityReservationGroups ?? []).flatMap(({ name, reservations }) =>
    reservations.map((reservation) => {
      const used = vmsInReservation(world, name, reservation).length;
      return { vmSize: reservation.vmSize, zone: reservation.zone, group: name, count: Math.max(0, reservation.capacity - used) };
    }),
  );
}

/** How many of `count` new VMs of a pool need quota of their own: those that come where no reserved VM is left. */
function vmsBeyondReservations(world: ArmWorld, pool: PoolSpec | undefined, vmSize: string, count: number): number {
  const group = pool?.capacityReservationGroup;
  if (pool === undefined || group === undefined || count <= 0) return count;
  const unused = unusedReservations(world).filter((each) => each.group === group && each.vmSize.toLowerCase() === vmSize.toLowerCase());
  const left = new Map(unused.map((each) => [each.zone, each.count]));
  const zones: readonly (string | undefined)[] = pool.zones === undefined || pool.zones.length === 0 ? [undefined] : pool.zones;
  const vms = allVms(world).filter((vm) => vm.pool.name === pool.name && vm.provisioningState !== 'Deleting');
  const here = new Map(zones.map((zone) => [zone, vms.filter((vm) => vm.zone === zone).length]));
  let beyond = 0;
  for (let index = 0; index < count; index++) {
    // New VMs come in the zone with the fewest, the first of equals.
    const zone = zones.reduce((least, each) => ((here.get(each) ?? 0) < (here.get(least) ?? 0) ? each : least), zones[0]);
    here.set(zone, (here.get(zone) ?? 0) + 1);
    const rest = left.get(zone) ?? 0;
    if (rest > 0) left.set(zone, rest - 1);
    else beyond += 1;
  }
  return beyond;
}

/** The cores of unused reservations of one family, or of all. */
function reservedCores(world: ArmWorld, family?: string): number {
  return unusedReservations(world).reduce((sum, { vmSize, count }) => {
    const size = findVmSize(vmSize);
    return sum + (size === undefined || (family !== undefined && size.family !== family) ? 0 : size.vcpus * count);
  }, 0);
}

function isAssociated(pool: PoolSpec, group: string): boolean {
  return pool.capacityReservationGroup === group && pool.priority !== 'Spot';
}
