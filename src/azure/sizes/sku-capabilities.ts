/**
 * Reads the capabilities of a size, which Azure lists as texts. The field names carry the true units, since Azure's names are
 * inexact: `MB` means MiB, `GB` of memory means GiB, and the cache is in bytes. A missing or unreadable value is undefined,
 * never zero. Pure.
 */
import type { ResourceSku } from '@azure/arm-compute';
import { MAX_VM_GPUS, MAX_VM_MEMORY_BYTES, MAX_VM_VCPUS } from '../../domain/platform-limits.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** Where an ephemeral OS disk can be placed, and the room there. */
interface EphemeralPlacement {
  readonly placement: 'CacheDisk' | 'ResourceDisk' | 'NvmeDisk';
  readonly bytes: number;
}

export interface SkuCapabilities {
  /** All vCPUs of a constrained size, including those hidden from its guests. */
  readonly vcpus: number | undefined;
  /** The vCPUs that guests see. */
  readonly vcpusAvailable: number | undefined;
  readonly memoryBytes: number | undefined;
  /** Azure counts field-programmable arrays as GPUs, too. */
  readonly gpus: number | undefined;
  readonly arch: 'amd64' | 'arm64' | undefined;
  readonly maxDataDisks: number | undefined;
  readonly maxNics: number | undefined;
  readonly cachedDiskBytes: number | undefined;
  readonly tempDiskBytes: number | undefined;
  readonly nvmeDiskBytes: number | undefined;
  readonly ephemeralOsDisk: EphemeralPlacement | undefined;
  /** SCSI if the size lists no controllers. */
  readonly controllers: readonly ('SCSI' | 'NVMe')[];
  readonly gen1: boolean;
  readonly gen2: boolean;
  readonly trustedLaunch: boolean;
  /** Such as `SNP`. */
  readonly confidential: string | undefined;
  readonly encryptionAtHost: boolean;
  readonly premiumIo: boolean;
  readonly acceleratedNetworking: boolean;
  /** Whether the size is available as Spot. */
  readonly spotCapable: boolean;
  /** As Azure writes it; undefined: no retirement is announced. */
  readonly retirement: string | undefined;
  /** The size from which a constrained size is derived. */
  readonly parentSize: string | undefined;
  /** Any capability by its name, in any letter case. undefined: Azure does not list it. */
  readonly capability: (name: string) => string | undefined;
}

export function capabilitiesOf(raw: Pick<ResourceSku, 'capabilities'>): SkuCapabilities {
  const listed = capabilityMap(raw.capabilities);
  const text = (name: string): string | undefined => listed.get(name.toLowerCase());
  const number = (name: string, most: number): number | undefined => positive(text(name), most);
  const times = (name: string, unit: number): number | undefined => {
    const value = number(name, MAX_VM_MEMORY_BYTES / unit);
    return value === undefined ? undefined : Math.floor(value * unit);
  };
  const generations = listOf(text('HyperVGenerations'));
  const gen2 = generations.includes('v2');
  const vcpus = number('vCPUs', MAX_VM_VCPUS);
  return {
    vcpus,
    vcpusAvailable: number('vCPUsAvailable', MAX_VM_VCPUS) ?? vcpus,
    memoryBytes: times('MemoryGB', GIB),
    gpus: number('GPUs', MAX_VM_GPUS),
    arch: archOf(text('CpuArchitectureType')),
    maxDataDisks: countOf(text('MaxDataDiskCount')),
    maxNics: countOf(text('MaxNetworkInterfaces')),
    cachedDiskBytes: times('CachedDiskBytes', 1),
    tempDiskBytes: times('MaxResourceVolumeMB', MIB),
    nvmeDiskBytes: times('NvmeDiskSizeInMiB', MIB),
    ephemeralOsDisk: isTrue(text('EphemeralOSDiskSupported'))
      ? ephemeralPlacement(listOf(text('SupportedEphemeralOSDiskPlacements')), times)
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
    capability: text,
  };
}

function capabilityMap(list: readonly { readonly name?: string; readonly value?: string }[] | undefined): ReadonlyMap<string, string> {
  return new Map((list ?? []).map(({ name, value }) => [name?.toLowerCase() ?? '', value ?? '']));
}

/** The order of Karpenter for Azure, too: NVMe disks are the fastest. */
const PLACEMENTS = [
  ['NvmeDisk', 'NvmeDiskSizeInMiB', MIB],
  ['CacheDisk', 'CachedDiskBytes', 1],
  ['ResourceDisk', 'MaxResourceVolumeMB', MIB],
] as const;

/** Older sizes list no placements. They cannot use NVMe disks. */
function ephemeralPlacement(
  allowed: readonly string[],
  times: (name: string, unit: number) => number | undefined,
): EphemeralPlacement | undefined {
  for (const [placement, name, unit] of PLACEMENTS) {
    const isAllowed = allowed.length === 0 ? placement !== 'NvmeDisk' : allowed.includes(placement.toLowerCase());
    const bytes = isAllowed ? times(name, unit) : undefined;
    if (bytes !== undefined) return { placement, bytes };
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

/** Splits at commas, so that `V1` does not match `V10`. */
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

function positive(text: string | undefined, most: number): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return value > 0 && value <= most ? value : undefined;
}

/** Zero is valid here: some sizes take no data disk. */
function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
