/**
 * Managed disks as ARM shows them (Microsoft.Compute/disks): their tier, state and owner. Disks of operating systems are derived from their VMs,
 * since they are created and deleted with them. Must not know requests.
 */
import { pick, pickObject, pickText, type JsonObject } from '../http/json.ts';
import { groupPath } from '../state/resource-names.ts';
import { allVms, type ArmWorld } from '../state/arm-state.ts';
import type { Disk, Vm } from '../state/vm.ts';

const GIB = 2 ** 30;
export const DEFAULT_SKU = 'Standard_LRS';

/** The largest size of a premium SSD tier in GiB, its name, IOPS and MB/s (learn.microsoft.com, "Azure managed disk types"). */
const PREMIUM: readonly (readonly [sizeGiB: number, tier: string, iops: number, mbps: number])[] = [
  [4, 'P1', 120, 25],
  [8, 'P2', 120, 25],
  [16, 'P3', 120, 25],
  [32, 'P4', 120, 25],
  [64, 'P6', 240, 50],
  [128, 'P10', 500, 100],
  [256, 'P15', 1_100, 125],
  [512, 'P20', 2_300, 150],
  [1_024, 'P30', 5_000, 200],
  [2_048, 'P40', 7_500, 250],
  [4_096, 'P50', 7_500, 250],
  [8_192, 'P60', 16_000, 500],
  [16_384, 'P70', 18_000, 750],
  [32_767, 'P80', 20_000, 900],
];

/** The name under which `managedBy` and errors name a VM. An instance has its resource name there, not its number (kubernetes 96706). */
export function ownerIdOf(vm: Vm): string {
  return vm.kind === 'uniform' ? vm.resourceId.replace(/[^/]+$/, vm.name) : vm.resourceId;
}

export function diskSkuOf({ document }: Pick<Disk, 'document'>): string {
  return pickText(document, 'sku', 'name') ?? DEFAULT_SKU;
}

export function diskSizeOf({ document }: Pick<Disk, 'document'>): number {
  const size = pick(document, 'properties', 'diskSizeGB');
  return typeof size === 'number' ? size : 0;
}

/** The zone of a zonal disk. undefined: a regional disk, or one that is in all zones. */
export function zoneOfDisk({ document }: Pick<Disk, 'document'>): string | undefined {
  const zones = pick(document, 'zones');
  return Array.isArray(zones) && zones.length > 0 ? String(zones[0]) : undefined;
}

/**
 * `Reserved` is a disk of a deallocated VM. While a disk is being attached it is shown without an owner (kubernetes 82714); until it is detached,
 * with one.
 */
export function diskStateOf({ owner, resourceId }: Disk): 'Unattached' | 'Attached' | 'Reserved' {
  const slot = owner?.dataDisks.find(({ disk }) => disk.resourceId === resourceId);
  if (owner === undefined || slot?.state === 'attaching') return 'Unattached';
  return stateWith(owner);
}

function stateWith(owner: Vm): 'Attached' | 'Reserved' {
  return owner.power === 'deallocated' ? 'Reserved' : 'Attached';
}

export function renderDisk(world: ArmWorld, disk: Disk): JsonObject {
  const state = diskStateOf(disk);
  const { owner, document } = disk;
  return {
    ...document,
    ...commonFields(world, disk),
    ...(state === 'Unattached' || owner === undefined ? {} : { managedBy: ownerIdOf(owner) }),
    sku: skuFields(diskSkuOf(disk)),
    properties: {
      ...commonProperties(disk, { sizeGiB: diskSizeOf(disk), sku: diskSkuOf(disk) }),
      ...pickObject(document, 'properties'),
      ...(disk.ownerChangedMs === undefined ? {} : { LastOwnershipUpdateTime: new Date(disk.ownerChangedMs).toISOString() }),
      provisioningState: disk.provisioningState,
      diskState: state,
    },
  };
}

function commonFields(world: ArmWorld, { name, resourceId }: Pick<Disk, 'name' | 'resourceId'>): JsonObject {
  return { name, id: resourceId, type: 'Microsoft.Compute/disks', location: world.spec.location };
}

function skuFields(name: string): JsonObject {
  return { name, tier: name.startsWith('Premium') ? 'Premium' : 'Standard' };
}

function commonProperties(
  { createdMs, uniqueId }: Pick<Disk, 'createdMs' | 'uniqueId'>,
  { sizeGiB, sku }: { readonly sizeGiB: number; readonly sku: string },
): JsonObject {
  const [, tier, iops, mbps] = PREMIUM.find(([most]) => sizeGiB <= most) ?? [0, 'P80', 20_000, 900];
  const isPremium = sku === 'Premium_LRS' || sku === 'Premium_ZRS';
  return {
    timeCreated: new Date(createdMs).toISOString(),
    uniqueId,
    diskSizeGB: sizeGiB,
    diskSizeBytes: sizeGiB * GIB,
    diskIOPSReadWrite: isPremium ? iops : 500,
    diskMBpsReadWrite: isPremium ? mbps : 60,
    ...(isPremium ? { tier } : {}),
    encryption: { type: 'EncryptionAtRestWithPlatformKey' },
    networkAccessPolicy: 'AllowAll',
    publicNetworkAccess: 'Enabled',
  };
}

const OS_DISK_GIB = 128;

/** The name of the disk of a VM's operating system. */
export function osDiskName(owner: string, vm: Vm): string {
  return `${owner}_${vm.name}_OS__1_${vm.vmId.replaceAll('-', '')}`;
}

/** The disks of operating systems. A VM has its disk from its allocation until it is gone. */
export function osDisks(world: ArmWorld): readonly { readonly name: string; readonly shown: JsonObject }[] {
  const owners = new Map([...world.sets.values()].flatMap((set) => [...set.vms.values()].map((vm) => [vm, set.name] as const)));
  return allVms(world)
    .filter(({ power }) => power !== 'none')
    .map((vm) => osDisk(world, vm, osDiskName(owners.get(vm) ?? vm.name, vm)));
}

function osDisk(world: ArmWorld, vm: Vm, name: string): { readonly name: string; readonly shown: JsonObject } {
  const group = groupPath(world.spec, world.spec.nodeResourceGroup);
  const identity = { name, resourceId: `${group}/providers/Microsoft.Compute/disks/${name}` };
  const sku = 'Premium_LRS';
  const shown = {
    ...commonFields(world, identity),
    managedBy: ownerIdOf(vm),
    sku: skuFields(sku),
    ...(vm.zone === undefined ? {} : { zones: [vm.zone] }),
    properties: {
      ...commonProperties({ createdMs: vm.createdMs, uniqueId: vm.vmId }, { sizeGiB: OS_DISK_GIB, sku }),
      osType: 'Linux',
      hyperVGeneration: 'V2',
      creationData: { createOption: 'FromImage' },
      provisioningState: 'Succeeded',
      diskState: stateWith(vm),
    },
  };
  return { name, shown };
}
