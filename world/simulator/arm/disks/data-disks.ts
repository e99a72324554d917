/**
 * The data disks of VMs: what Compute refuses, and how disks come and go. Refusals have the words of the field, each with its source. Must not know
 * who asks: a client with a PUT of a VM, or the disk driver of the cluster.
 */
import { armError, invalidParameter, resourceNotFound } from '../http/errors.ts';
import { pick, pickText, type Json, type JsonObject } from '../http/json.ts';
import type { ArmReply } from '../http/messages.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import { later, type ArmWorld } from '../state/arm-state.ts';
import type { DataDisk, Disk, Vm } from '../state/vm.ts';
import { diskSkuOf, ownerIdOf, zoneOfDisk } from './disk-document.ts';

/** What a change of a VM's data disks begins. */
export interface DiskChange {
  readonly attach: readonly DataDisk[];
  readonly detach: readonly DataDisk[];
}

export function isRefusal(planned: DiskChange | ArmReply): planned is ArmReply {
  return 'status' in planned;
}

/** The data disks as a read of the VM shows them. */
export function renderDataDisks({ dataDisks }: Vm): Json {
  return dataDisks.map(({ disk, lun, settings, state }) => ({
    createOption: 'Attach',
    caching: 'None',
    ...settings,
    lun,
    name: disk.name,
    managedDisk: { id: disk.resourceId, storageAccountType: diskSkuOf(disk) },
    diskSizeGB: pick(disk.document, 'properties', 'diskSizeGB'),
    toBeDetached: state === 'detaching',
  }));
}

/**
 * The change that a complete list of data disks asks for. A disk that the list lacks, or has with `toBeDetached`, is detached. One entry that cannot
 * be done refuses the whole list.
 */
export function planDataDisks(world: ArmWorld, vm: Vm, listed: readonly Json[]): DiskChange | ArmReply {
  const kept = listed.filter((entry) => pick(entry, 'toBeDetached') !== true);
  const wanted: DataDisk[] = [];
  for (const entry of kept) {
    const slot = slotOf(world, vm, entry);
    if ('status' in slot) return slot;
    wanted.push(slot);
  }
  const present = new Set(wanted.map(({ disk }) => disk));
  const detach = vm.dataDisks.filter(({ disk, state }) => !present.has(disk) && state !== 'detaching');
  const leaving = vm.dataDisks.filter(({ disk }) => !present.has(disk));
  return refusalOfAll(vm, [...leaving, ...wanted]) ?? { attach: wanted.filter((slot) => !vm.dataDisks.includes(slot)), detach };
}

/** The complete list after the moves of an `attachDetachDataDisks` body. Without a slot, a disk takes the lowest free one. */
export function listAfterMoves(vm: Vm, body: Json | undefined): readonly Json[] {
  const listOf = (key: string): readonly Json[] => {
    const list = pick(body, key);
    return Array.isArray(list) ? (list as readonly Json[]) : [];
  };
  const leaving = listOf('dataDisksToDetach').map((entry) => pickText(entry, 'diskId')?.toLowerCase());
  const kept = vm.dataDisks
    .filter(({ disk, state }) => state !== 'detaching' && !leaving.includes(disk.resourceId.toLowerCase()))
    .map(({ disk, lun }): Json => ({ lun, createOption: 'Attach', managedDisk: { id: disk.resourceId } }));
  const taken = new Set(vm.dataDisks.map(({ lun }) => lun));
  const added = listOf('dataDisksToAttach').map((entry): Json => {
    const lun = pick(entry, 'lun') ?? lowestFree(taken);
    if (typeof lun === 'number') taken.add(lun);
    const { diskId, ...settings } = (entry ?? {}) as JsonObject;
    return { ...settings, lun, createOption: 'Attach', managedDisk: { id: diskId } };
  });
  return [...kept, ...added];
}

/** The lowest slot without a disk. */
function lowestFree(taken: ReadonlySet<number>): number {
  let lun = 0;
  while (taken.has(lun)) lun++;
  return lun;
}

/** The slot that an entry means: one that the VM has, or a new one; or why not. */
function slotOf(world: ArmWorld, vm: Vm, entry: Json): DataDisk | ArmReply {
  const id = pickText(entry, 'managedDisk', 'id') ?? '';
  const name = pickText(entry, 'name')?.toLowerCase();
  const before = vm.dataDisks.find(({ disk }) =>
    id === '' ? disk.name.toLowerCase() === name : disk.resourceId.toLowerCase() === id.toLowerCase(),
  );
  if (before !== undefined) return before.state === 'detaching' ? stillDetaching(vm, before.disk) : before;
  if (pickText(entry, 'createOption') !== 'Attach') {
    const reply = armError(400, 'NotSupported', 'This endpoint attaches existing disks only.', { target: 'dataDisk.createOption' });
    return { ...reply, trace: { loud: 'Data disks that are created with their VM are not emulated.' } };
  }
  const disk = world.disks.get(id.toLowerCase());
  if (disk === undefined) return resourceNotFound('Microsoft.Compute/disks', id.split('/').at(-1) ?? '', world.spec.nodeResourceGroup);
  const lun = pick(entry, 'lun');
  if (typeof lun !== 'number' || lun < 0 || lun > 63) {
    const message = `The value '${JSON.stringify(lun ?? null)}' of parameter 'dataDisk.lun' is out of range. The value must be between '0' and '63', inclusive.`;
    return invalidParameter('dataDisk.lun', message);
  }
  return refusalOfDisk(vm, disk) ?? { disk, lun, settings: settingsOf(entry), state: 'attaching' };
}

function settingsOf(entry: Json): JsonObject {
  const { caching, deleteOption, writeAcceleratorEnabled } = (entry ?? {}) as JsonObject;
  return Object.fromEntries(Object.entries({ caching, deleteOption, writeAcceleratorEnabled }).filter(([, value]) => value !== undefined));
}

/** kubernetes 78657 */
function stillDetaching(vm: Vm, disk: Disk): ArmReply {
  const message =
    `Cannot attach data disk '${disk.name}' to VM '${vm.name}' because the disk is currently being detached or the last detach operation failed. ` +
    'Please wait until the disk is completely detached and then try again or delete/detach the disk explicitly again.';
  return armError(409, 'AttachDiskWhileBeingDetached', message);
}

function refusalOfDisk(vm: Vm, disk: Disk): ArmReply | undefined {
  const { owner, resourceId, name } = disk;
  if (owner !== undefined && owner !== vm) {
    // azuredisk-csi-driver 1378
    const message =
      `Cannot attach the disk ${name} to VM ${ownerIdOf(vm)} because it is already attached to VM ${ownerIdOf(owner)}. ` +
      'A disk can be attached to only one VM at a time.';
    return armError(409, 'ConflictingUserInput', message, { target: resourceId });
  }
  const zone = zoneOfDisk(disk);
  if (zone === vm.zone || diskSkuOf(disk).endsWith('_ZRS')) return undefined;
  return armError(400, 'BadRequest', `Disk ${resourceId} cannot be attached to the VM because it is not in ${zoneConflict(vm.zone, zone)}`);
}

/** jenkins-infra/azure 1406 (two zones), jrudlin/Azure 7 (a regional disk). The words for a regional VM are an assumption. */
function zoneConflict(ofVm: string | undefined, ofDisk: string | undefined): string {
  if (ofDisk === undefined) return `zone '${ofVm ?? ''}'.`;
  return `the same zone as the VM. VM zone: '${ofVm ?? ''}'. Disk zone: '${ofDisk}'.`;
}

/** openshift-azure 83 (slots), azuredisk-csi-driver 879 (their number). */
function refusalOfAll({ vmSize }: Vm, slots: readonly DataDisk[]): ArmReply | undefined {
  const luns = slots.map(({ lun }) => lun);
  const twice = luns.find((lun, index) => luns.indexOf(lun) !== index);
  if (twice !== undefined) return invalidParameter('dataDisk.lun', `A disk at LUN ${twice} already exists.`);
  const most = findVmSize(vmSize)?.dataDisks ?? 0;
  if (slots.length <= most) return undefined;
  const message = `The maximum number of data disks allowed to be attached to a VM of this size is ${most}.`;
  return armError(409, 'OperationNotAllowed', message, { target: 'dataDisks' });
}

/** Begins a change that was not refused. `done` runs once all of it is over. */
export function beginDiskChange(world: ArmWorld, vm: Vm, { attach, detach }: DiskChange, done: () => void): void {
  const { knobs, draws } = world;
  let open = 1;
  const close = (): void => {
    if (--open === 0) done();
  };
  for (const slot of attach) {
    open++;
    take(world, vm, slot);
    const takesMs = draws.latency(`${slot.disk.resourceId}|attach|${vm.resourceId}`, knobs.diskAttach);
    later(world, takesMs, () => (finishAttach(world, vm, slot), close()));
  }
  for (const slot of detach) {
    open++;
    slot.state = 'detaching';
    const takesMs = draws.latency(`${slot.disk.resourceId}|detach|${vm.resourceId}`, knobs.diskDetach);
    later(world, takesMs, () => (release(world, vm, slot), close()));
  }
  close();
}

function take(world: ArmWorld, vm: Vm, slot: DataDisk): void {
  vm.dataDisks = [...vm.dataDisks, slot];
  slot.disk.owner = vm;
  slot.disk.ownerChangedMs = world.clock.now();
}

/** The VM may be gone, and with it the slot. */
function finishAttach(world: ArmWorld, vm: Vm, slot: DataDisk): void {
  if (!vm.dataDisks.includes(slot) || slot.state !== 'attaching') return;
  slot.state = 'attached';
  slot.disk.ownerChangedMs = world.clock.now();
}

function release(world: ArmWorld, vm: Vm, slot: DataDisk): void {
  if (!vm.dataDisks.includes(slot)) return;
  vm.dataDisks = vm.dataDisks.filter((other) => other !== slot);
  slot.disk.owner = undefined;
  slot.disk.ownerChangedMs = world.clock.now();
  if (slot.settings['deleteOption'] === 'Delete' && vm.power === 'none') world.disks.delete(slot.disk.resourceId.toLowerCase());
}

/** A VM that is gone has no disks: its data disks stay unattached, except those that were to go with it. */
export function releaseDisks(world: ArmWorld, vm: Vm): void {
  for (const slot of vm.dataDisks) release(world, vm, slot);
}

/** Whether a disk of the VM comes or goes now. Compute shows such a VM as `Updating`. */
export function movesDisks({ dataDisks }: Vm): boolean {
  return dataDisks.some(({ state }) => state !== 'attached');
}
