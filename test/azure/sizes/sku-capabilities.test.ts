/** Capabilities of VM sizes as the list of the region has them. */
import type { ResourceSku } from '@azure/arm-compute';
import { describe, expect, it } from 'vitest';
import { capabilitiesOf, type SkuCapabilities } from '../../../src/azure/sizes/sku-capabilities.ts';
import { buildCatalog, findSku, unavailableReason } from '../../../src/azure/sizes/sku-catalog.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

type Texts = Readonly<Record<string, string>>;

function listed(capabilities: Texts): ResourceSku {
  return {
    resourceType: 'virtualMachines',
    name: 'Standard_X',
    capabilities: Object.entries(capabilities).map(([name, value]) => ({ name, value })),
    locationInfo: [{ location: 'eastus', zones: ['1', '2', '3'] }],
  };
}

const D4S_V3 = {
  vCPUs: '4',
  MemoryGB: '16',
  CpuArchitectureType: 'x64',
  HyperVGenerations: 'V1,V2',
  PremiumIO: 'True',
  AcceleratedNetworkingEnabled: 'True',
  EncryptionAtHostSupported: 'True',
  EphemeralOSDiskSupported: 'True',
  CachedDiskBytes: '107374182400',
  MaxResourceVolumeMB: '32768',
  MaxDataDiskCount: '8',
  MaxNetworkInterfaces: '2',
  LowPriorityCapable: 'True',
};
const A100 = {
  vCPUs: '24',
  MemoryGB: '220',
  GPUs: '1',
  HyperVGenerations: 'V2',
  CachedDiskBytes: '274877906944',
  NvmeDiskSizeInMiB: '915527',
  EphemeralOSDiskSupported: 'True',
  SupportedEphemeralOSDiskPlacements: 'ResourceDisk,CacheDisk',
};
const M8 = {
  vCPUs: '8',
  vCPUsAvailable: '2',
  MemoryGB: '218.75',
  ParentSize: 'Standard_M8ms',
  HyperVGenerations: 'V1,V2',
  TrustedLaunchDisabled: 'True',
};
const D128 = {
  vCPUs: '128',
  MemoryGB: '512',
  DiskControllerTypes: 'NVMe',
  MaxResourceVolumeMB: '0',
  NvmeDiskSizeInMiB: '7208960',
  EphemeralOSDiskSupported: 'True',
  SupportedEphemeralOSDiskPlacements: 'NvmeDisk',
};

describe('what a size can do', () => {
  it.each<[string, Texts, Partial<SkuCapabilities>]>([
    [
      'Standard_D4s_v3',
      D4S_V3,
      {
        vcpus: 4,
        vcpusAvailable: 4,
        memoryBytes: 16 * GIB,
        arch: 'amd64',
        gen1: true,
        gen2: true,
        trustedLaunch: true,
        premiumIo: true,
        acceleratedNetworking: true,
        encryptionAtHost: true,
        cachedDiskBytes: 107_374_182_400,
        tempDiskBytes: 32_768 * MIB,
        ephemeralOsDisk: { placement: 'CacheDisk', bytes: 107_374_182_400 },
        controllers: ['SCSI'],
        maxDataDisks: 8,
        maxNics: 2,
        spotCapable: true,
        gpus: undefined,
        nvmeDiskBytes: undefined,
        confidential: undefined,
        retirement: undefined,
      },
    ],
    [
      'Standard_D2_v2',
      {
        vCPUs: '2',
        MemoryGB: '7',
        CpuArchitectureType: 'x64',
        HyperVGenerations: 'V1',
        EphemeralOSDiskSupported: 'False',
        MaxResourceVolumeMB: '102400',
      },
      {
        gen1: true,
        gen2: false,
        trustedLaunch: false,
        premiumIo: false,
        ephemeralOsDisk: undefined,
        tempDiskBytes: 102_400 * MIB,
        spotCapable: false,
      },
    ],
    [
      'Standard_NV6, which is on its way out',
      { vCPUs: '6', MemoryGB: '56', GPUs: '1', HyperVGenerations: 'V1', MaxResourceVolumeMB: '389120', RetirementDateUtc: '08/31/2023' },
      { gpus: 1, retirement: '08/31/2023', tempDiskBytes: 389_120 * MIB },
    ],
    [
      'Standard_D13_v2_Promo, without a word of its processor',
      { vCPUs: '8', MemoryGB: '56' },
      { arch: undefined, gen1: false, gen2: false },
    ],
    [
      'Standard_M8-2ms',
      M8,
      { vcpus: 8, vcpusAvailable: 2, memoryBytes: 218.75 * GIB, parentSize: 'Standard_M8ms', gen2: true, trustedLaunch: false },
    ],
    [
      'Standard_NC24ads_A100_v4',
      A100,
      { gpus: 1, gen1: false, gen2: true, nvmeDiskBytes: 915_527 * MIB, ephemeralOsDisk: { placement: 'CacheDisk', bytes: 256 * GIB } },
    ],
    [
      'Standard_D128ds_v6',
      D128,
      {
        controllers: ['NVMe'],
        tempDiskBytes: undefined,
        nvmeDiskBytes: 7_208_960 * MIB,
        ephemeralOsDisk: { placement: 'NvmeDisk', bytes: 7_208_960 * MIB },
      },
    ],
    [
      'Standard_D16plds_v5',
      { vCPUs: '16', MemoryGB: '32', CpuArchitectureType: 'Arm64', HyperVGenerations: 'V2', TrustedLaunchDisabled: 'True' },
      { arch: 'arm64', trustedLaunch: false },
    ],
    ['a size of either controller', { DiskControllerTypes: 'SCSI, NVMe' }, { controllers: ['SCSI', 'NVMe'] }],
    ['a confidential size', { ConfidentialComputingType: 'SNP' }, { confidential: 'SNP' }],
    ['a generation that only begins alike', { HyperVGenerations: 'V10' }, { gen1: false, gen2: false }],
    ['a size without data disks', { MaxDataDiskCount: '0' }, { maxDataDisks: 0 }],
    [
      'a size that tells nothing',
      {},
      { vcpus: undefined, memoryBytes: undefined, gpus: undefined, maxDataDisks: undefined, spotCapable: false },
    ],
    [
      'numbers that are none',
      { vCPUs: 'many', MemoryGB: '', GPUs: '0', MaxDataDiskCount: '-1' },
      { vcpus: undefined, memoryBytes: undefined, gpus: undefined, maxDataDisks: undefined },
    ],
  ])('%s', (_name, capabilities, expected) => {
    expect(capabilitiesOf(listed(capabilities))).toMatchObject(expected);
  });

  it('finds anything else by its name in any letter case, and returns undefined if it is absent', () => {
    const { capability } = capabilitiesOf(listed({ UncachedDiskIOPS: '6400' }));
    expect([capability('uncacheddiskiops'), capability('UncachedDiskBytesPerSecond')]).toEqual(['6400', undefined]);
  });

  it('survives a size with nothing in its lists', () => {
    expect(capabilitiesOf({}).controllers).toEqual(['SCSI']);
    expect(capabilitiesOf({ capabilities: [{}] }).premiumIo).toBe(false);
  });
});

describe('what of it is kept', () => {
  const kept = (capabilities: Texts, rest: Partial<ResourceSku> = {}) =>
    findSku(buildCatalog([{ ...listed(capabilities), ...rest }], 'East US', 1), 'standard_x');

  it('is what templates and quotas are made from', () => {
    expect(kept(M8)).toMatchObject({ vcpus: 2, quotaVcpus: 8, zones: ['1', '2', '3'] });
    expect(kept(A100)).toMatchObject({ gpus: 1, nvmeDiskBytes: 915_527 * MIB, ephemeralOsDiskBytes: 256 * GIB });
    expect(kept(D4S_V3)).toMatchObject({ tempDiskBytes: 32 * GIB, maxDataDisks: 8 });
    expect(kept(D4S_V3)).not.toHaveProperty('nvmeDiskBytes');
  });

  it('a size that the subscription may have nowhere has no zones, and says why', () => {
    const reasonCode = 'NotAvailableForSubscription' as const;
    const closed: Partial<ResourceSku> = {
      restrictions: [
        { type: 'Location', restrictionInfo: { locations: ['eastus'] }, reasonCode },
        { type: 'Zone', restrictionInfo: { locations: ['eastus'], zones: ['1', '2', '3'] }, reasonCode },
      ],
    };
    const sku = kept(D4S_V3, closed);
    expect(sku?.zones).toEqual([]);
    expect(unavailableReason(sku, [])).toMatch(/whole region \(NotAvailableForSubscription\)/);
  });
});
