/**
 * The disk driver of AKS (disk.csi.azure.com) as a client of Compute: it creates, attaches, detaches and deletes disks for the cluster, is refused as any
 * client, and each of its writes is in the journal under its name. Its calls use no tokens of the rate limits.
 */
import type { DiskDraft, DiskDriver, DiskOutcome, DiskPlace } from '../../base/disk-driver.ts';
import { beginVmUpdate } from '../compute/instance-actions.ts';
import { isRefusal, listAfterMoves, planDataDisks, type DiskChange } from '../disks/data-disks.ts';
import { ownerIdOf } from '../disks/disk-document.ts';
import type { Json } from '../http/json.ts';
import type { ArmReply, Principal } from '../http/messages.ts';
import { allVms, type ArmWorld } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';
import { addDisk, beginDiskOperation } from './disk-resources.ts';

const DRIVER: Principal = { clientId: 'disk.csi.azure.com', foreign: true };

export function createDiskDriver(world: ArmWorld): DiskDriver {
  return {
    create: (draft) => create(world, draft),
    attach: (place, done) => attach(world, place, done),
    detach: (place, done) => detach(world, place, done),
    remove: (handle) => remove(world, handle),
  };
}

/** A zone label ends in the zone's number. A zone-redundant disk has no zone. */
function create(world: ArmWorld, { name, sizeGiB, zone, sku, tags }: DiskDraft): string {
  const [, number] = /-(\d)$/.exec(zone) ?? [];
  const disk = addDisk(world, name, {
    sku: { name: sku },
    tags: { ...tags, 'k8s-azure-created-by': 'kubernetes-azure-dd' },
    ...(number === undefined || sku.endsWith('_ZRS') ? {} : { zones: [number] }),
    properties: { diskSizeGB: sizeGiB, creationData: { createOption: 'Empty' } },
  });
  beginDiskOperation(world, { principal: DRIVER }, { disk });
  record(world, { method: 'PUT', route: 'disks/{disk}', path: disk.resourceId, status: 202 });
  return disk.resourceId;
}

function attach(world: ArmWorld, { handle, nodeName }: DiskPlace, done: DiskOutcome): void {
  const vm = vmOf(world, nodeName);
  if (vm === undefined) return done(failureOf({ handle, nodeName }, { status: 404, body: { error: { code: 'NotFound' } } }));
  if (vm.dataDisks.some(({ disk, state }) => isHandle(disk.resourceId, handle) && state === 'attached')) return done(undefined);
  const change = planDataDisks(world, vm, listAfterMoves(vm, { dataDisksToAttach: [{ diskId: handle, caching: 'ReadOnly' }] }));
  recordMove(world, vm, isRefusal(change) ? change.status : 200);
  if (isRefusal(change)) return done(failureOf({ handle, nodeName }, change));
  move(world, vm, change, () => {
    const isThere = vm.dataDisks.some(({ disk, state }) => isHandle(disk.resourceId, handle) && state === 'attached');
    done(isThere ? undefined : failureOf({ handle, nodeName }, { status: 404, body: { error: { code: 'NotFound' } } }));
  });
}

function detach(world: ArmWorld, { handle, nodeName }: DiskPlace, done: DiskOutcome): void {
  const vm = vmOf(world, nodeName);
  const slot = vm?.dataDisks.find(({ disk }) => isHandle(disk.resourceId, handle));
  if (vm === undefined || slot === undefined) return done(undefined);
  recordMove(world, vm, 200);
  move(world, vm, { attach: [], detach: [slot] }, () => done(undefined));
}

/** As every write of an instance, it moves the etag of the instance and of its set. */
function move(world: ArmWorld, vm: Vm, change: DiskChange, done: () => void): void {
  vm.etag++;
  const set = [...world.sets.values()].find((owner) => owner.kind === 'uniform' && owner.vms.get(vm.key) === vm);
  if (set !== undefined) set.etag++;
  beginVmUpdate(world, vm, { change, principal: DRIVER, done });
}

function remove(world: ArmWorld, handle: string): string | undefined {
  const disk = world.disks.get(handle.toLowerCase());
  if (disk === undefined) return undefined;
  if (disk.owner !== undefined)
    return `rpc error: code = Internal desc = disk(${handle}) already attached to node(${ownerIdOf(disk.owner)}), could not be deleted`;
  record(world, { method: 'DELETE', route: 'disks/{disk}', path: disk.resourceId, status: 202 });
  beginDiskOperation(world, { principal: DRIVER }, { atEnd: () => world.disks.delete(handle.toLowerCase()) });
  return undefined;
}

function vmOf(world: ArmWorld, nodeName: string): Vm | undefined {
  return allVms(world).find(({ hostName }) => hostName === nodeName);
}

function isHandle(resourceId: string, handle: string): boolean {
  return resourceId.toLowerCase() === handle.toLowerCase();
}

/** The words of the driver about a refusal (azuredisk-csi-driver 1097). */
function failureOf(
  { handle, nodeName }: DiskPlace,
  { status, body }: Pick<ArmReply, 'status'> & { readonly body?: Json | undefined },
): string {
  const raw = `Retriable: false, RetryAfter: 0s, HTTPStatusCode: ${status}, RawError: ${JSON.stringify(body ?? {})}`;
  return `rpc error: code = Internal desc = Attach volume ${handle} to instance ${nodeName} failed with ${raw}`;
}

function recordMove(world: ArmWorld, vm: Vm, status: number): void {
  const route = vm.kind === 'uniform' ? 'virtualMachineScaleSets/{name}/virtualMachines/{instance}' : 'virtualMachines/{name}';
  record(world, { method: 'PUT', route, path: vm.resourceId, status, pool: vm.pool.name });
}

interface DriverCall {
  readonly method: string;
  readonly route: string;
  readonly path: string;
  readonly status: number;
  readonly pool?: string;
}

function record({ journal, clock }: ArmWorld, { method, route, ...call }: DriverCall): void {
  journal.add({ ...call, seq: journal.nextSeq(), at: clock.now(), method, route: `${method} ${route}`, principal: DRIVER.clientId });
}
