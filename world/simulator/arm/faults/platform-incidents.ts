/** What the platform does to VMs by itself: repairs that change an instance's id, zone outages, upgrades. */
import { possibleZones } from '../../base/world-spec.ts';
import { revertRemoval, beginRemoval } from '../compute/vm-lifecycle.ts';
import { preemptOperations } from '../compute/operations.ts';
import { AKS_PRINCIPAL, FOREIGN_WRITER } from '../http/principals.ts';
import { acceptRemoval, affordable, livingVms, setKey, writeCapacity } from '../compute/set-capacity.ts';
import { stockKey } from '../state/stock-and-quota.ts';
import type { Vm } from '../state/vm.ts';
import { growSet } from '../compute/create-vm.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import { allVms, capacityOf, later, type AgentPool, type ArmWorld, type ScaleSet } from '../state/arm-state.ts';

/**
 * Automatic repair by replacement: the old VM is deleted and a new one with another id is created. The capacity does not change.
 */
export function repairInstance(world: ArmWorld, set: ScaleSet, instanceId: string | undefined): string | undefined {
  const candidates = [...set.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting');
  const broken = instanceId === undefined ? candidates[0] : candidates.find((vm) => vm.key === instanceId.toLowerCase());
  if (broken === undefined) return `the instance to repair does not exist in pool "${set.pool.name}"`;
  if (!affordable(world, set, livingVms(set).length + 1)) return `the quota does not allow a new instance beside the old one`;
  beginRemoval(world, broken, { forced: true, principal: FOREIGN_WRITER.clientId });
  growSet(world, set, 1);
  return undefined;
}

/**
 * A zone outage: its VMs do not respond, their power state is unknown, and the zone has no stock. With `forMs` (simulated
 * milliseconds) it ends: VMs that still exist run again.
 */
export function failZone(world: ArmWorld, zone: string, forMs: number | undefined): string | undefined {
  const sizes = new Set([...world.sets.values()].filter((set) => possibleZones(set.pool).includes(zone)).map((set) => set.pool.vmSize));
  if (sizes.size === 0) return `no pool is in zone "${zone}"`;
  const failed = allVms(world).filter((vm) => vm.zone === zone && vm.power === 'running');
  for (const vm of failed) {
    vm.power = 'unknown';
    world.vmFeed.publishPower({ kind: 'stopped', vm });
  }
  const before = [...sizes].map((size) => [stockKey(size, zone), world.stock.get(stockKey(size, zone))] as const);
  for (const [key] of before) world.stock.set(key, 0);
  if (forMs !== undefined) later(world, forMs, () => restoreZone(world, failed, before));
  return undefined;
}

function restoreZone(world: ArmWorld, failed: readonly Vm[], before: readonly (readonly [string, number | undefined])[]): void {
  for (const [key, count] of before) {
    if (count === undefined) world.stock.delete(key);
    else world.stock.set(key, count);
  }
  for (const vm of failed) {
    if (vm.power !== 'unknown' || vm.provisioningState === 'Deleting') continue;
    vm.power = 'running';
    world.vmFeed.publishPower({ kind: 'running', vm });
  }
}

interface Hang {
  readonly count?: number;
  readonly forMs?: number;
}

/** Operating systems hang: nodes turn not ready, and Azure, which sees the hardware alone, shows running VMs. */
export function hangVms(world: ArmWorld, pool: string, { count = 1, forMs }: Hang): string | undefined {
  const running = allVms(world).filter((vm) => vm.pool.name === pool && vm.power === 'running' && vm.provisioningState === 'Succeeded');
  const hung = running.filter((vm) => !vm.isHung).slice(0, count);
  if (hung.length < count) return `pool "${pool}" has ${hung.length} running VMs, and ${count} must hang`;
  for (const vm of hung) {
    vm.isHung = true;
    world.vmFeed.publishPower({ kind: 'stopped', vm });
  }
  if (forMs !== undefined) later(world, forMs, () => wakeVms(world, hung));
  return undefined;
}

/** Those that were removed or stopped in the meantime stay so. */
function wakeVms(world: ArmWorld, hung: readonly Vm[]): void {
  for (const vm of hung) {
    vm.isHung = false;
    if (vm.power !== 'running' || vm.provisioningState === 'Deleting') continue;
    world.vmFeed.publishPower({ kind: 'running', vm });
  }
}

/**
 * Another operation supersedes the running ones on the set: they end as canceled. VMs that were being created stay. VMs that were
 * being deleted stay too, and count again.
 */
export function preemptSet(world: ArmWorld, set: ScaleSet): string | undefined {
  if (preemptOperations(world, setKey(set)) === 0) return `no operation runs on the scale set of pool "${set.pool.name}"`;
  for (const vm of set.vms.values()) if (vm.provisioningState === 'Deleting') revertRemoval(world, vm, undefined);
  set.provisioningState = 'Succeeded';
  return undefined;
}

/** A failed operation of another writer leaves the set `Failed`. Its VMs are healthy. */
export function failSet(world: ArmWorld, set: ScaleSet): undefined {
  set.provisioningState = 'Failed';
  set.etag++;
  recordSetChange(world, set, { why: 'failSet', principal: FOREIGN_WRITER, before: capacityOf(set) });
}

/** The time between the creation of surge VMs and the deletion of the VMs that they replace. */
const SURGE_MS = 5 * 60_000;

/** AKS drains a node for half an hour at most (`drainTimeoutInMinutes`). */
const DRAIN_MS = 30 * 60_000;

function drainAll(world: ArmWorld, [vm, ...rest]: readonly Vm[], done: () => void): void {
  if (vm === undefined || world.nodes === undefined) done();
  else world.nodes.drain(vm.hostName, { timeoutMs: DRAIN_MS }, () => drainAll(world, rest, done));
}

/**
 * Replaces VMs of a pool as AKS does: it creates surge VMs first, drains as many old nodes, and deletes their VMs. The count is unchanged.
 */
export function upgradePool(
  world: ArmWorld,
  pool: AgentPool,
  { set, surge }: { readonly set: ScaleSet; readonly surge: number },
): string | undefined {
  if (pool.provisioningState !== 'Succeeded') return `pool "${pool.name}" is ${pool.provisioningState}`;
  if (!affordable(world, set, capacityOf(set) + surge)) return `the quota does not allow ${surge} more instances in pool "${pool.name}"`;
  const old = livingVms(set).slice(0, surge);
  pool.provisioningState = 'Upgrading';
  const before = capacityOf(set);
  const { id } = writeCapacity(world, set, before + surge, AKS_PRINCIPAL);
  recordSetChange(world, set, { why: 'upgrade', principal: AKS_PRINCIPAL, before, opId: id });
  later(world, SURGE_MS, () =>
    drainAll(world, old, () => {
      const vms = old.filter((vm) => vm.provisioningState !== 'Deleting' && set.vms.get(vm.key) === vm);
      if (vms.length > 0) removeReplaced(world, set, vms);
      later(world, SURGE_MS, () => {
        pool.provisioningState = 'Succeeded';
      });
    }),
  );
  return undefined;
}

function removeReplaced(world: ArmWorld, set: ScaleSet, vms: readonly Vm[]): void {
  const before = capacityOf(set);
  const { id } = acceptRemoval(world, set, { vms, forced: false, principal: AKS_PRINCIPAL, named: true });
  recordSetChange(world, set, { why: 'upgrade', principal: AKS_PRINCIPAL, before, opId: id });
}
