/** The older lists of VM sizes: those of a region (`az vm list-sizes`), and those to which a scale set may change (`az vmss list-skus`). */
import { resourceNotFound } from '../http/errors.ts';
import { pick } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { findSet, type ArmWorld } from '../state/arm-state.ts';
import { compareText } from '../../../../src/lib/comparison.ts';
import { isLocation } from '../state/resource-names.ts';
import { VM_SIZES } from '../state/vm-sizes.ts';

const OS_DISK_MB = 1_047_552;
const MB_PER_GIB = 1024;
/** Instances of a set with several placement groups, and of a set with one. */
const MOST_INSTANCES = { many: 1_000, one: 100 };

export function listVmSizes(world: ArmWorld, request: ArmRequest): ArmReply {
  const sizes = isLocation(world.spec, param(request, 'location')) ? [...VM_SIZES.values()] : [];
  const value = sizes.map(({ name, vcpus, memoryGiB, localDiskMB, dataDisks }) => ({
    name,
    numberOfCores: vcpus,
    osDiskSizeInMB: OS_DISK_MB,
    resourceDiskSizeInMB: localDiskMB,
    memoryInMB: memoryGiB * MB_PER_GIB,
    maxDataDiskCount: dataDisks,
  }));
  return { status: 200, body: { value } };
}

/** How many instances the set may have of each size that it may change to (recorded by Azure's CLI, August 2024). */
export function listSetSkus(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = findSet(world, param(request, 'name'));
  if (set === undefined) return resourceNotFound('Microsoft.Compute/virtualMachineScaleSets', param(request, 'name'), param(request, 'rg'));
  const maximum = pick(set.document, 'properties', 'singlePlacementGroup') === true ? MOST_INSTANCES.one : MOST_INSTANCES.many;
  const value = [...VM_SIZES.values()].map(({ name }) => ({
    resourceType: 'Microsoft.Compute/virtualMachineScaleSets',
    sku: { name, tier: 'Standard' },
    capacity: { minimum: 0, maximum, defaultCapacity: 1, scaleType: 'Automatic' },
  }));
  return { status: 200, body: { value: value.toSorted((left, right) => compareText(left.sku.name, right.sku.name)) } };
}
