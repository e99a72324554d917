/** What the platform does to machines by itself: repairs that change an instance's id, and zones that go dark. */
import { FOREIGN_WRITER } from './ambush.ts';
import { takeDown } from './lifecycle.ts';
import { stockKey } from './stock.ts';
import type { Vm } from './vm.ts';
import { growSet } from './vm-birth.ts';
import { allVms, later, type ArmWorld, type ScaleSet } from './world-state.ts';

/** Automatic repair by replacement: the old machine goes, a new one with another id comes; the capacity is not touched. */
export function repairInstance(world: ArmWorld, set: ScaleSet, instanceId: string | undefined): string | undefined {
  const candidates = [...set.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting');
  const sick = instanceId === undefined ? candidates[0] : candidates.find((vm) => vm.key === instanceId.toLowerCase());
  if (sick === undefined) return `pool "${set.pool.name}" has no such instance`;
  takeDown(world, sick, { forced: true, principal: FOREIGN_WRITER.clientId });
  growSet(world, set, 1);
  return undefined;
}

/**
 * A zone without power: its machines answer nothing, their power is unknown, and nothing new can be had there. With
 * `forMs` (simulated milliseconds) it comes back: what still exists runs again.
 */
export function darkenZone(world: ArmWorld, zone: string, forMs: number | undefined): string | undefined {
  const sizes = new Set([...world.sets.values()].filter((set) => (set.pool.zones ?? []).includes(zone)).map((set) => set.pool.vmSize));
  if (sizes.size === 0) return `no pool is in zone "${zone}"`;
  const dark = allVms(world).filter((vm) => vm.zone === zone && vm.power === 'running');
  for (const vm of dark) {
    vm.power = 'unknown';
    world.park.tell({ kind: 'stopped', vm });
  }
  const before = [...sizes].map((size) => [stockKey(size, zone), world.stock.get(stockKey(size, zone))] as const);
  for (const [key] of before) world.stock.set(key, 0);
  if (forMs !== undefined) later(world, forMs, () => lighten(world, dark, before));
  return undefined;
}

function lighten(world: ArmWorld, dark: readonly Vm[], before: readonly (readonly [string, number | undefined])[]): void {
  for (const [key, count] of before) {
    if (count === undefined) world.stock.delete(key);
    else world.stock.set(key, count);
  }
  for (const vm of dark) {
    if (vm.power !== 'unknown' || vm.provisioningState === 'Deleting') continue;
    vm.power = 'running';
    world.park.tell({ kind: 'running', vm });
  }
}
