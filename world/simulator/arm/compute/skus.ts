/** The list of VM sizes and the subscription's usage in the region. */
import { REGION_ZONES } from '../../base/world-spec.ts';
import type { Json } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { armError } from '../http/errors.ts';
import { isLocation } from '../state/resource-names.ts';
import { VM_SIZES, type VmSize } from '../state/vm-sizes.ts';
import { usages } from '../state/stock-and-quota.ts';
import type { ArmWorld } from '../state/arm-state.ts';

const LOCATION_FILTER = /^location eq '([^']+)'$/i;

/** One large page, as Azure returns it. Only the location can be filtered. */
export function listSkus(world: ArmWorld, request: ArmRequest): ArmReply {
  const filter = request.query['$filter'];
  const location = filter === undefined ? world.spec.location : LOCATION_FILTER.exec(filter)?.[1];
  if (location === undefined) return armError(400, 'InvalidParameter', 'Only a filter on location is supported.', { target: '$filter' });
  const known = isLocation(world.spec, location);
  const disk: Json = {
    resourceType: 'disks',
    name: 'Premium_LRS',
    tier: 'Premium',
    size: 'P10',
    locations: [world.spec.location],
    capabilities: [],
    restrictions: [],
  };
  return {
    status: 200,
    body: { value: known ? [disk, ...[...VM_SIZES.values()].map((size) => renderSku(world, size))] : [] },
  };
}

function restrictionsOf({ restricted, spec }: ArmWorld, { name }: VmSize): readonly Json[] {
  const zones = restricted.get(name.toLowerCase());
  if (zones === undefined) return [];
  const { location } = spec;
  const what: Json =
    zones.length === 0
      ? { type: 'Location', values: [location], restrictionInfo: { locations: [location] } }
      : { type: 'Zone', values: [location], restrictionInfo: { locations: [location], zones } };
  return [{ ...what, reasonCode: 'NotAvailableForSubscription' }];
}

/**
 * What a size has only in some zones: here ultra disks, which sizes of the B series lack. The published model calls the zones `name`; Azure
 * writes `Name` (recorded by the SDK for Go, February 2023), and an empty list where there is nothing to say.
 */
function zoneDetailsOf({ family }: VmSize): readonly Json[] {
  const details = { Name: REGION_ZONES.toReversed(), capabilities: [{ name: 'UltraSSDAvailable', value: 'True' }] };
  return family.startsWith('standardB') ? [] : [details];
}

function renderSku(world: ArmWorld, size: VmSize): Json {
  const { location } = world.spec;
  return {
    resourceType: 'virtualMachines',
    name: size.name,
    tier: 'Standard',
    size: size.name.replace(/^Standard_/, ''),
    family: size.family,
    locations: [location],
    locationInfo: [{ location, zones: REGION_ZONES.toReversed(), zoneDetails: zoneDetailsOf(size) }],
    capabilities: Object.entries(capabilities(size)).map(([name, value]) => ({ name, value })),
    restrictions: restrictionsOf(world, size),
  };
}

/** Every value is text in the response. */
function capabilities(size: VmSize): Readonly<Record<string, string>> {
  const yes = (value: boolean): string => (value ? 'True' : 'False');
  return {
    vCPUs: String(size.vcpus),
    vCPUsAvailable: String(size.vcpus),
    MemoryGB: String(size.memoryGiB),
    CpuArchitectureType: size.architecture === 'arm64' ? 'Arm64' : 'x64',
    GPUs: String(size.gpus),
    MaxDataDiskCount: String(size.dataDisks),
    LowPriorityCapable: yes(size.spotCapable),
    PremiumIO: yes(size.premiumStorage),
    EphemeralOSDiskSupported: yes(size.localDiskMB > 0),
    MaxResourceVolumeMB: String(size.localDiskMB),
    AcceleratedNetworkingEnabled: 'True',
    MaxNetworkInterfaces: String(size.networkInterfaces),
    HyperVGenerations: size.architecture === 'arm64' ? 'V2' : 'V1,V2',
    vCPUsPerCore: size.architecture === 'arm64' ? '1' : '2',
    EncryptionAtHostSupported: 'True',
  };
}

export function listUsages(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!isLocation(world.spec, param(request, 'location'))) return { status: 200, body: { value: [] } };
  const value = usages(world).map(({ name, title, current, limit }) => ({
    name: { value: name, localizedValue: title },
    unit: 'Count',
    currentValue: current,
    limit,
  }));
  return { status: 200, body: { value } };
}
