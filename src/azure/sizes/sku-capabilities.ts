/**
 * What a size can do, read from the capabilities that Azure lists as texts. Units are in the names, since Azure's are not
 * what theirs say: `MB` are MiB, `GB` of memory are GiB, and the cache is told in bytes. What is not told or cannot be read
 * is undefined, never zero. Pure.
 */
import type { ResourceSku } from '@azure/arm-compute';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** Where an ephemeral OS disk can be, and how much there is room for. */
export interface EphemeralPlace {
  readonly place: 'CacheDisk' | 'ResourceDisk' | 'NvmeDisk';
  readonly bytes: number;
}

export interface SkuCapabilities {
  /** All of a constrained size, those that its guests do not see included. */
  readonly vcpus: number | undefined;
  /** What guests see. */
  readonly vcpusAvailable: number | undefined;
  readonly memoryBytes: number | undefined;
  /** Field-programmable arrays are counted here, too. */
  readonly gpus: number | undefined;
  readonly arch: 'amd64' | 'arm64' | undefined;
  readonly maxDataDisks: number | undefined;
  readonly maxNics: number | undefined;
  readonly cachedDiskBytes: number | undefined;
  readonly tempDiskBytes: number | undefined;
  readonly nvmeDiskBytes: number | undefined;
  readonly ephemeralOsDisk: EphemeralPlace | undefined;
  /** Where a size says nothing of it, its disks are SCSI. */
  readonly controllers: readonly ('SCSI' | 'NVMe')[];
  readonly gen1: boolean;
  readonly gen2: boolean;
  readonly trustedLaunch: boolean;
  /** Such as `SNP`. */
  readonly confidential: string | undefined;
  readonly encryptionAtHost: boolean;
  readonly premiumIo: boolean;
  readonly acceleratedNetworking: boolean;
  /** Whether machines of the size can be had as Spot. */
  readonly spotCapable: boolean;
  /** As Azure writes it; undefined: none is announced. */
  readonly retirement: string | undefined;
  /** The size that a constrained one is made from. */
  readonly parentSize: string | undefined;
  /** Whether ultra disks can be attached in a zone, or in a region without zones. */
  readonly ultraSsd: (zone?: string) => boolean;
  /** Any capability by its name, in any letter case; undefined: Azure lists none. */
  readonly capability: (name: string) => string | undefined;
}

export function capabilitiesOf(raw: Pick<ResourceSku, 'capabilities' | 'locationInfo'>): SkuCapabilities {
  const listed = indexed(raw.capabilities);
  const text = (name: string): string | undefined => listed.get(name.toLowerCase());
  const number = (name: string): number | undefined => positive(text(name));
  const times = (name: string, unit: number): number | undefined => {
    const value = number(name);
    return value === undefined ? undefined : Math.floor(value * unit);
  };
  const generations = listOf(text('HyperVGenerations'));
  const gen2 = generations.includes('v2');
  const vcpus = number('vCPUs');
  return {
    vcpus,
    vcpusAvailable: number('vCPUsAvailable') ?? vcpus,
    memoryBytes: times('MemoryGB', GIB),
    gpus: number('GPUs'),
    arch: archOf(text('CpuArchitectureType')),
    maxDataDisks: countOf(text('MaxDataDiskCount')),
    maxNics: countOf(text('MaxNetworkInterfaces')),
    cachedDiskBytes: times('CachedDiskBytes', 1),
    tempDiskBytes: times('MaxResourceVolumeMB', MIB),
    nvmeDiskBytes: times('NvmeDiskSizeInMiB', MIB),
    ephemeralOsDisk: isTrue(text('EphemeralOSDiskSupported'))
      ? placeOf(listOf(text('SupportedEphemeralOSDiskPlacements')), times)
      : undefined,
    controllers: controllersOf(listOf(text('DiskControllerTypes'))),
    gen1: generations.includes('v1'),
    gen2,
    trustedLaunch: gen2 && !isTrue(text('TrustedLaunchDisabled')),
    confidential: text('ConfidentialComputingType') || undefined,
    encryptionAtHost: isTrue(text('EncryptionAtHostSupported')),
    premiumIo: isTrue(text('PremiumIO')),
    acceleratedNetworking: isTrue(text('AcceleratedNetworkingEnabled')),
    spotCapable: isTrue(text('LowPriorityCapable')),
    retirement: text('RetirementDateUtc') || undefined,
    parentSize: text('ParentSize') || undefined,
    ultraSsd: (zone) => isTrue(zone === undefined ? text('UltraSSDAvailable') : inZone(raw, zone).get('ultrassdavailable')),
    capability: text,
  };
}

function indexed(list: readonly { readonly name?: string; readonly value?: string }[] | undefined): ReadonlyMap<string, string> {
  return new Map((list ?? []).map(({ name, value }) => [name?.toLowerCase() ?? '', value ?? '']));
}

/** Capabilities that a size has in this zone only. */
function inZone({ locationInfo }: Pick<ResourceSku, 'locationInfo'>, zone: string): ReadonlyMap<string, string> {
  const details = (locationInfo ?? []).flatMap((place) => place.zoneDetails ?? []);
  return indexed(details.filter(({ name }) => name?.includes(zone)).flatMap(({ capabilities }) => capabilities ?? []));
}

/** The order in which Karpenter for Azure takes them, too: NVMe disks are the fastest. */
const PLACES = [
  ['NvmeDisk', 'NvmeDiskSizeInMiB', MIB],
  ['CacheDisk', 'CachedDiskBytes', 1],
  ['ResourceDisk', 'MaxResourceVolumeMB', MIB],
] as const;

/** Sizes of before there was a choice list no places; their NVMe disks take none. */
function placeOf(allowed: readonly string[], times: (name: string, unit: number) => number | undefined): EphemeralPlace | undefined {
  for (const [place, name, unit] of PLACES) {
    const isAllowed = allowed.length === 0 ? place !== 'NvmeDisk' : allowed.includes(place.toLowerCase());
    const bytes = isAllowed ? times(name, unit) : undefined;
    if (bytes !== undefined) return { place, bytes };
  }
  return undefined;
}

function controllersOf(listed: readonly string[]): SkuCapabilities['controllers'] {
  const all = (['SCSI', 'NVMe'] as const).filter((name) => listed.includes(name.toLowerCase()));
  return listed.length === 0 ? ['SCSI'] : all;
}

function archOf(text: string | undefined): SkuCapabilities['arch'] {
  if (text === undefined || text === '') return undefined;
  return text.toLowerCase() === 'arm64' ? 'arm64' : 'amd64';
}

/** Whole parts between commas: `V1` is not in `V10`. */
function listOf(text: string | undefined): readonly string[] {
  return (text ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function isTrue(text: string | undefined): boolean {
  return text?.trim().toLowerCase() === 'true';
}

function positive(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

/** Zero is a number here: some sizes take no data disk at all. */
function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
