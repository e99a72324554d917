/** Creates VMs: their names, their zones, their first state. */
import { isPlacedAutomatically, possibleZones, REGION_ZONES, type PoolSpec } from '../../base/world-spec.ts';
import { beginCreation } from './vm-lifecycle.ts';
import { poolNumber, uniformHostName, virtualMachineId } from '../state/resource-names.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import { pickText, pick, type Json, type JsonObject } from '../http/json.ts';
import { capacityOf, sizeOf, type AgentPool, type ArmWorld, type ScaleSet } from '../state/arm-state.ts';
import { FOREIGN_WRITER } from '../http/principals.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import type { Vm } from '../state/vm.ts';
import { withCapacity } from './scale-set-document.ts';
import { kubernetesVersionOf, nodeImageOf } from '../state/node-versions.ts';
import { stockLeft } from '../state/stock-and-quota.ts';

/** Adds one idle, running VM to a set, without a creation. */
export function seedInSet(world: ArmWorld, set: ScaleSet): Vm {
  return addRunningVm(world, nextInSet(world, set), set.vms);
}

/** Adds one idle, running VM to a VMs-type pool, without a creation. */
export function seedInPool(world: ArmWorld, pool: AgentPool, vmSize: string): Vm {
  return addRunningVm(world, nextInPool(world, pool, vmSize), pool.vms);
}

function addRunningVm(world: ArmWorld, vm: Vm, home: Map<string, Vm>): Vm {
  vm.provisioningState = 'Succeeded';
  vm.power = 'running';
  vm.visibleAtMs = world.clock.now();
  vm.holdsStock = true;
  vm.holdsAddresses = true;
  home.set(vm.key, vm);
  return vm;
}

/** Begins the creation of `count` VMs in a set, plus `extra` overprovisioned ones. The set chooses the zones. */
export function growSet(world: ArmWorld, set: ScaleSet, count: number, extra = 0): readonly Vm[] {
  const members = new Set<Vm>();
  const created = Array.from({ length: count + extra }, (_, index) => {
    const vm = nextInSet(world, set);
    set.vms.set(vm.key, vm);
    vm.surplus = index >= count;
    if (extra > 0) vm.batch = { members: members.add(vm) };
    return vm;
  });
  const refused = balanceRefused(world, set, created);
  for (const vm of created) beginCreation(world, vm, { onRefused: () => onRefused(world, set, vm), refused });
  return created;
}

/**
 * Whether strict zone balance refuses an increase: the stock of the zones would leave two zones more than one VM apart. Then no
 * VM is created. Without strict balance, the zones with stock get their VMs.
 */
function balanceRefused(world: ArmWorld, set: ScaleSet, created: readonly Vm[]): boolean {
  const zones = pick(set.document, 'zones');
  if (pick(set.document, 'properties', 'zoneBalance') !== true || !Array.isArray(zones)) return false;
  const counts = zones.map((zone) => {
    const here = [...set.vms.values()].filter((vm) => vm.zone === zone && vm.provisioningState !== 'Deleting');
    const requested = created.filter((vm) => vm.zone === zone).length;
    return here.length - requested + Math.min(requested, stockLeft(world, sizeOf(set), placeOf(set.pool, String(zone))) ?? requested);
  });
  return Math.max(...counts) - Math.min(...counts) > 1;
}

/** Begins the creation of one VM in a VMs-type pool. */
export function growPool(world: ArmWorld, pool: AgentPool, vmSize: string): Vm {
  const vm = nextInPool(world, pool, vmSize);
  pool.vms.set(vm.key, vm);
  beginCreation(world, vm, { onRefused: () => undefined });
  return vm;
}

function onRefused(world: ArmWorld, set: ScaleSet, vm: Vm): void {
  if (vm.batch !== undefined) return;
  if (world.knobs.listFailedInstances && !world.knobs.rollbackOnFail) return;
  if (world.knobs.rollbackOnFail) {
    const before = capacityOf(set);
    set.document = withCapacity(set.document, Math.max(0, before - 1));
    set.etag++;
    recordSetChange(world, set, { why: 'rollback', principal: FOREIGN_WRITER, before });
  }
  set.vms.delete(vm.key);
}

function nextInSet(world: ArmWorld, set: ScaleSet): Vm {
  const number = world.knobs.reuseInstanceIds ? lowestFree(set) : set.nextInstanceId++;
  const prefix = pickText(set.document, 'properties', 'virtualMachineProfile', 'osProfile', 'computerNamePrefix') ?? set.name;
  const zone = zoneOfNextInSet(world, set);
  const hostName = uniformHostName(prefix, number);
  if (set.kind === 'flexible') {
    const name = `${set.name}_${world.draws.hex(`${set.resourceId}|${number}`, 8)}`;
    const identity = { key: name.toLowerCase(), name, hostName, resourceId: virtualMachineId(world.spec, name) };
    return newVm(world, { ...identity, kind: 'flexible', pool: set.pool, vmSize: sizeOf(set), zone });
  }
  const key = String(number);
  const identity = { key, name: `${set.name}_${key}`, hostName, resourceId: `${set.resourceId}/virtualMachines/${key}` };
  return newVm(world, { ...identity, kind: 'uniform', pool: set.pool, vmSize: sizeOf(set), zone });
}

function lowestFree(set: ScaleSet): number {
  let number = 0;
  while (set.vms.has(String(number))) number++;
  return number;
}

function nextInPool(world: ArmWorld, pool: AgentPool, vmSize: string): Vm {
  const name = `aks-${pool.name}-${poolNumber(world.spec, pool)}-vm${pool.nextVm++}`;
  const zone = zoneOfNextInPool(world, pool, vmSize);
  const identity = { key: name, name, hostName: name, resourceId: virtualMachineId(world.spec, name) };
  return newVm(world, { ...identity, kind: 'standalone', pool: pool.spec, vmSize: findVmSize(vmSize)?.name ?? vmSize, zone });
}

interface Identity {
  readonly kind: Vm['kind'];
  readonly key: string;
  readonly name: string;
  readonly hostName: string;
  readonly resourceId: string;
  readonly pool: PoolSpec;
  readonly vmSize: string;
  readonly zone: string | undefined;
}

function newVm(world: ArmWorld, identity: Identity): Vm {
  const now = world.clock.now();
  const visibleAfter = world.draws.latency(`${identity.resourceId}|visible`, world.knobs.instanceVisible);
  return {
    ...identity,
    vmId: world.draws.guid(`${identity.resourceId}|vmId`),
    createdMs: now,
    createdEndMs: undefined,
    nodeImage: nodeImageOf(world, identity.pool.name),
    kubernetesVersion: kubernetesVersionOf(world, identity.pool.name),
    visibleAtMs: now + visibleAfter / world.clock.speed,
    provisioningState: 'Creating',
    detail: undefined,
    power: 'none',
    failure: undefined,
    holdsStock: false,
    holdsAddresses: false,
    surplus: false,
    uncounted: false,
    isHung: false,
    batch: undefined,
    dataDisks: [],
    own: {},
    etag: 1,
    generation: 0,
  };
}

/** undefined: the set is regional. */
function zoneOfNextInSet(world: ArmWorld, set: ScaleSet): string | undefined {
  return emptiestZone(zonesOfNextInSet(world, set), [...set.vms.values()]);
}

/** undefined: the pool is regional. */
function zoneOfNextInPool(world: ArmWorld, { spec, vms }: AgentPool, vmSize: string): string | undefined {
  const zones = isPlacedAutomatically(spec) ? automaticZones(world, spec, vmSize) : possibleZones(spec);
  return emptiestZone(zones, [...vms.values()]);
}

/** Where VMs of the pool take stock from in a zone. */
function placeOf({ priority }: PoolSpec, zone: string) {
  return { zone, priority: priority ?? 'Regular' } as const;
}

/** Zones that a new VM of the set may be in: with best-effort balance only those with stock, if the world retries allocations so. */
function zonesOfNextInSet(world: ArmWorld, set: ScaleSet): readonly string[] {
  const { pool, document } = set;
  if (pick(document, 'placement', 'zonePlacementPolicy') !== undefined) return automaticZones(world, pool, sizeOf(set), document);
  const given = pick(document, 'zones');
  const zones = Array.isArray(given) ? given.map(String) : [];
  const fallsBack = world.knobs.zonesFallBack && pick(document, 'properties', 'zoneBalance') !== true;
  return fallsBack ? stockedAmong(world, pool, sizeOf(set), zones) : zones;
}

/**
 * Azure takes the zones in which it has capacity and the subscription may use the size. Its order among these is not documented: here
 * VMs are spread.
 */
function automaticZones(world: ArmWorld, pool: PoolSpec, vmSize: string, document: JsonObject = {}): readonly string[] {
  const included = textsOf(pick(document, 'placement', 'includeZones'));
  const closed = [...textsOf(pick(document, 'placement', 'excludeZones')), ...(world.restricted.get(vmSize.toLowerCase()) ?? [])];
  const zones = REGION_ZONES.filter((zone) => (included.length === 0 || included.includes(zone)) && !closed.includes(zone));
  return stockedAmong(world, pool, vmSize, zones);
}

function textsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Those with stock. If none has, all: the allocation then fails. */
function stockedAmong(world: ArmWorld, pool: PoolSpec, vmSize: string, zones: readonly string[]): readonly string[] {
  const open = zones.filter((zone) => (stockLeft(world, vmSize, placeOf(pool, zone)) ?? 1) > 0);
  return open.length === 0 ? zones : open;
}

/** The zone with the fewest VMs, the first of equals. */
function emptiestZone(zones: readonly string[], vms: readonly Vm[]): string | undefined {
  const counts = zones.map((zone) => ({
    zone,
    count: vms.filter((vm) => vm.zone === zone && vm.provisioningState !== 'Deleting').length,
  }));
  return counts.reduce<(typeof counts)[number] | undefined>(
    (least, entry) => (least === undefined || entry.count < least.count ? entry : least),
    undefined,
  )?.zone;
}
