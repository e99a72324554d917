/**
 * Managed disks as resources (Microsoft.Compute/disks): reads, creation, change and deletion. Disks live in the node resource group, where the disk
 * driver of AKS creates them. Copies, snapshots and shared access are not emulated and are refused.
 */
import { beginOperation, operationHeaders } from '../compute/operations.ts';
import { diskSizeOf, osDisks, ownerIdOf, renderDisk, DEFAULT_SKU, diskSkuOf } from '../disks/disk-document.ts';
import { armError, invalidParameter, resourceNotFound } from '../http/errors.ts';
import { isJsonObject, mergePatch, pick, pickText, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { answerPage } from '../http/paging.ts';
import { diskId, isLocation } from '../state/resource-names.ts';
import type { ArmWorld, Operation } from '../state/arm-state.ts';
import type { Disk } from '../state/vm.ts';

const LARGEST_GIB = 32_767;
const SKUS = ['Standard_LRS', 'StandardSSD_LRS', 'StandardSSD_ZRS', 'Premium_LRS', 'Premium_ZRS', 'PremiumV2_LRS', 'UltraSSD_LRS'];

/** All disks of the subscription or of one resource group, those of operating systems included. */
export function listDisks(world: ArmWorld, request: ArmRequest): ArmReply {
  const group = request.params['rg']?.toLowerCase();
  const isHere = group === undefined || group === world.spec.nodeResourceGroup.toLowerCase();
  const own = [...world.disks.values()].map((disk) => ({ name: disk.name, shown: renderDisk(world, disk) }));
  return answerPage(request, {
    items: isHere ? [...osDisks(world), ...own] : [],
    keyOf: ({ name }) => name,
    pageSize: world.knobs.pageSize,
    render: ({ shown }) => shown,
  });
}

export function getDisk(world: ArmWorld, request: ArmRequest): ArmReply {
  const disk = diskOf(world, request);
  const shown = disk === undefined ? osDiskOf(world, request) : renderDisk(world, disk);
  return shown === undefined ? diskNotFound(request) : { status: 200, body: shown };
}

/** Creates an empty disk, or changes one: it may grow, and its SKU and tags may change. Both are long-running (202). */
export function putDisk(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!isJsonObject(request.body)) return armError(400, 'InvalidRequestContent', 'The request content was invalid: an object is expected.');
  const disk = diskOf(world, request);
  return disk === undefined ? createDisk(world, request, request.body) : changeDisk(world, request, { disk, body: request.body });
}

/** Changes size, SKU or tags of a disk that exists. */
export function patchDisk(world: ArmWorld, request: ArmRequest): ArmReply {
  const disk = diskOf(world, request);
  if (disk === undefined) return diskNotFound(request);
  const body = isJsonObject(request.body) ? request.body : {};
  return changeDisk(world, request, { disk, body });
}

/** The deletion of a disk that does not exist succeeds. A disk that a VM has is refused (ansible 54644). */
export function deleteDisk(world: ArmWorld, request: ArmRequest): ArmReply {
  const disk = diskOf(world, request);
  const os = disk === undefined ? osDiskOf(world, request) : undefined;
  const owner = disk?.owner === undefined ? pickText(os, 'managedBy') : ownerIdOf(disk.owner);
  if (owner !== undefined) {
    const message = `Disk ${disk?.name ?? param(request, 'disk')} is attached to VM ${owner}.`;
    return armError(409, 'OperationNotAllowed', message);
  }
  if (disk === undefined) return { status: 204 };
  disk.provisioningState = 'Updating';
  const operation = beginDiskOperation(world, request, { atEnd: () => world.disks.delete(disk.resourceId.toLowerCase()) });
  return { status: 202, headers: operationHeaders(world, request, operation, 'action'), trace: { opId: operation.id } };
}

function diskOf(world: ArmWorld, request: ArmRequest): Disk | undefined {
  const isHere = param(request, 'rg').toLowerCase() === world.spec.nodeResourceGroup.toLowerCase();
  return isHere ? world.disks.get(diskId(world.spec, param(request, 'disk')).toLowerCase()) : undefined;
}

function osDiskOf(world: ArmWorld, request: ArmRequest): JsonObject | undefined {
  if (param(request, 'rg').toLowerCase() !== world.spec.nodeResourceGroup.toLowerCase()) return undefined;
  const name = param(request, 'disk').toLowerCase();
  return osDisks(world).find((disk) => disk.name.toLowerCase() === name)?.shown;
}

function diskNotFound(request: ArmRequest): ArmReply {
  return resourceNotFound('Microsoft.Compute/disks', param(request, 'disk'), param(request, 'rg'));
}

function createDisk(world: ArmWorld, request: ArmRequest, body: JsonObject): ArmReply {
  const name = param(request, 'disk');
  const refusal = refusalOfNew(world, request, body);
  if (refusal !== undefined) return refusal;
  const disk = addDisk(world, name, body);
  const operation = beginDiskOperation(world, request, { disk });
  return accepted(world, request, disk, operation);
}

/** Adds a disk that exists as soon as its operation ends. */
export function addDisk(world: ArmWorld, name: string, body: JsonObject): Disk {
  const resourceId = diskId(world.spec, name);
  const disk: Disk = {
    name,
    resourceId,
    uniqueId: world.draws.guid(`${resourceId}|disk`),
    createdMs: world.clock.now(),
    document: mergePatch({ sku: { name: DEFAULT_SKU } }, writableOf(body)),
    provisioningState: 'Updating',
    owner: undefined,
    ownerChangedMs: undefined,
  };
  world.disks.set(resourceId.toLowerCase(), disk);
  return disk;
}

const READ_ONLY = ['provisioningState', 'diskState', 'uniqueId', 'timeCreated', 'diskSizeBytes'];

function writableOf(body: JsonObject): JsonObject {
  const kept = Object.entries(body).filter(([key]) => ['tags', 'sku', 'zones', 'extendedLocation', 'properties'].includes(key));
  const properties = body['properties'];
  const own = isJsonObject(properties) ? Object.entries(properties).filter(([key]) => !READ_ONLY.includes(key)) : [];
  return { ...Object.fromEntries(kept), properties: Object.fromEntries(own) };
}

function refusalOfNew(world: ArmWorld, request: ArmRequest, body: JsonObject): ArmReply | undefined {
  if (param(request, 'rg').toLowerCase() !== world.spec.nodeResourceGroup.toLowerCase())
    return notEmulated('Disks outside of the node resource group are not emulated.');
  const option = pickText(body, 'properties', 'creationData', 'createOption');
  if (option === undefined) return invalidParameter('disk.creationData', "Required parameter 'disk.creationData' is missing (null).");
  if (option !== 'Empty') return notEmulated(`Disks with the createOption '${option}' are not emulated.`);
  const location = pickText(body, 'location') ?? '';
  if (!isLocation(world.spec, location))
    return armError(
      400,
      'LocationNotAvailableForResourceType',
      `The provided location '${location}' is not available for resource type 'Microsoft.Compute/disks'.`,
    );
  return refusalOfSize(pick(body, 'properties', 'diskSizeGB')) ?? refusalOfSku(body);
}

function notEmulated(message: string): ArmReply {
  return { ...armError(400, 'NotSupported', message), trace: { loud: message } };
}

function refusalOfSize(size: unknown): ArmReply | undefined {
  if (typeof size === 'number' && Number.isInteger(size) && size >= 1 && size <= LARGEST_GIB) return undefined;
  const message = `The value '${JSON.stringify(size ?? null)}' of parameter 'disk.diskSizeGB' is out of range. The value must be between '1' and '${LARGEST_GIB}', inclusive.`;
  return invalidParameter('disk.diskSizeGB', message);
}

function refusalOfSku(body: JsonObject): ArmReply | undefined {
  const sku = pickText(body, 'sku', 'name') ?? DEFAULT_SKU;
  if (!SKUS.includes(sku)) return invalidParameter('sku.name', `The value '${sku}' of parameter 'sku.name' is invalid.`);
  const zones = pick(body, 'zones');
  const isZonal = Array.isArray(zones) && zones.length > 0;
  // terraform-azurerm-avm-res-compute-virtualmachine 236
  if (sku.endsWith('_ZRS') && isZonal)
    return armError(400, 'OperationNotAllowed', `A disk with sku '${sku}' cannot be created in an availability zone.`);
  return undefined;
}

function changeDisk(world: ArmWorld, request: ArmRequest, { disk, body }: { readonly disk: Disk; readonly body: JsonObject }): ArmReply {
  const next = mergePatch(disk.document, writableOf(body));
  const refusal = refusalOfChange(disk, next);
  if (refusal !== undefined) return refusal;
  disk.document = body['tags'] === undefined ? next : { ...next, tags: body['tags'] };
  disk.provisioningState = 'Updating';
  return accepted(world, request, disk, beginDiskOperation(world, request, { disk }));
}

function refusalOfChange(disk: Disk, next: JsonObject): ArmReply | undefined {
  const size = pick(next, 'properties', 'diskSizeGB');
  const wrong = refusalOfSize(size) ?? refusalOfSku(next);
  if (wrong !== undefined) return wrong;
  if (JSON.stringify(pick(next, 'zones') ?? []) !== JSON.stringify(pick(disk.document, 'zones') ?? []))
    return armError(409, 'PropertyChangeNotAllowed', "Changing property 'zones' is not allowed.", { target: 'zones' });
  if (typeof size === 'number' && size < diskSizeOf(disk)) return refusalOfShrinking(disk);
  if (pickText(next, 'sku', 'name') !== diskSkuOf(disk) && disk.owner !== undefined && disk.owner.power !== 'deallocated')
    return armError(
      409,
      'OperationNotAllowed',
      `The storage account type of disk ${disk.name} cannot be changed while it is attached to running VM ${ownerIdOf(disk.owner)}.`,
    );
  return undefined;
}

/** The words are those of azure-docs 57951. */
function refusalOfShrinking({ resourceId }: Disk): ArmReply {
  const message =
    `The disk/snapshot resource with id ${resourceId} cannot be resized down. Reducing disk/snapshot size is not supported in Azure to prevent data ` +
    'loss. If you do need to reduce the size of the disk, please create new snapshot/disks with the appropriate size. More information is available ' +
    'at https://aka.ms/AzureDisksFAQ';
  return armError(400, 'BadRequest', message);
}

function accepted(world: ArmWorld, request: ArmRequest, disk: Disk, operation: Operation): ArmReply {
  return {
    status: 202,
    headers: operationHeaders(world, request, operation, 'action'),
    body: renderDisk(world, disk),
    trace: { opId: operation.id },
  };
}

interface DiskOperation {
  /** The disk that is created or changed. If absent, it is deleted. */
  readonly disk?: Disk;
  readonly atEnd?: () => void;
}

export function beginDiskOperation(
  world: ArmWorld,
  { principal }: Pick<ArmRequest, 'principal'>,
  { disk, atEnd }: DiskOperation,
): Operation {
  return beginOperation(world, {
    kind: 'disk',
    provider: 'disks',
    pool: '',
    principal: principal.clientId,
    pending: [],
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
    ...(disk === undefined ? {} : { output: () => renderDisk(world, disk) }),
    onEnd: () => {
      if (disk !== undefined) disk.provisioningState = 'Succeeded';
      atEnd?.();
    },
  });
}
