/** Two dozen VM sizes with the properties that matter to scheduling, allocation and quota. A data table. */

export interface VmSize {
  readonly name: string;
  readonly family: string;
  readonly vcpus: number;
  readonly memoryGiB: number;
  readonly gpus: number;
  readonly architecture: 'amd64' | 'arm64';
  readonly dataDisks: number;
  readonly networkInterfaces: number;
  readonly premiumStorage: boolean;
  /** Local disk in MB; 0: no local disk and no ephemeral OS disk. */
  readonly localDiskMB: number;
  readonly spotCapable: boolean;
  /** A VM of this size has a physical host to itself. */
  readonly isIsolated: boolean;
}

type Row = readonly [name: string, family: string, vcpus: number, memoryGiB: number, extra?: Partial<VmSize>];

const ROWS: readonly Row[] = [
  ['Standard_B2s', 'standardBSFamily', 2, 4, { spotCapable: false, dataDisks: 4, localDiskMB: 8_192 }],
  ['Standard_B2ms', 'standardBSFamily', 2, 8, { spotCapable: false, dataDisks: 4, localDiskMB: 16_384 }],
  ['Standard_B4ms', 'standardBSFamily', 4, 16, { spotCapable: false, dataDisks: 8, localDiskMB: 32_768 }],
  ['Standard_D2s_v5', 'standardDSv5Family', 2, 8],
  ['Standard_D4s_v5', 'standardDSv5Family', 4, 16],
  ['Standard_D8s_v5', 'standardDSv5Family', 8, 32],
  ['Standard_D16s_v5', 'standardDSv5Family', 16, 64],
  ['Standard_D32s_v5', 'standardDSv5Family', 32, 128],
  ['Standard_D2ads_v5', 'standardDADSv5Family', 2, 8, { localDiskMB: 76_800 }],
  ['Standard_D4ads_v5', 'standardDADSv5Family', 4, 16, { localDiskMB: 153_600 }],
  ['Standard_D8ads_v5', 'standardDADSv5Family', 8, 32, { localDiskMB: 307_200 }],
  ['Standard_D16ads_v5', 'standardDADSv5Family', 16, 64, { localDiskMB: 614_400 }],
  ['Standard_E2s_v5', 'standardESv5Family', 2, 16],
  ['Standard_E4s_v5', 'standardESv5Family', 4, 32],
  ['Standard_E8s_v5', 'standardESv5Family', 8, 64],
  ['Standard_E16s_v5', 'standardESv5Family', 16, 128],
  ['Standard_E104is_v5', 'standardEISv5Family', 104, 672, { isIsolated: true }],
  ['Standard_F2s_v2', 'standardFSv2Family', 2, 4, { localDiskMB: 16_384 }],
  ['Standard_F4s_v2', 'standardFSv2Family', 4, 8, { localDiskMB: 32_768 }],
  ['Standard_F8s_v2', 'standardFSv2Family', 8, 16, { localDiskMB: 65_536 }],
  ['Standard_F16s_v2', 'standardFSv2Family', 16, 32, { localDiskMB: 131_072 }],
  ['Standard_F72s_v2', 'standardFSv2Family', 72, 144, { localDiskMB: 589_824, isIsolated: true }],
  ['Standard_D2pds_v5', 'standardDPDSv5Family', 2, 8, { architecture: 'arm64', localDiskMB: 76_800 }],
  ['Standard_D4pds_v5', 'standardDPDSv5Family', 4, 16, { architecture: 'arm64', localDiskMB: 153_600 }],
  ['Standard_D8pds_v5', 'standardDPDSv5Family', 8, 32, { architecture: 'arm64', localDiskMB: 307_200 }],
  ['Standard_NC4as_T4_v3', 'standardNCASv3_T4Family', 4, 28, { gpus: 1, localDiskMB: 180_224 }],
  ['Standard_NC16as_T4_v3', 'standardNCASv3_T4Family', 16, 110, { gpus: 1, localDiskMB: 368_640 }],
  ['Standard_NC64as_T4_v3', 'standardNCASv3_T4Family', 64, 440, { gpus: 4, localDiskMB: 2_883_584 }],
];

const OFFERED = new Map<string, VmSize>(
  ROWS.map(([name, family, vcpus, memoryGiB, extra]) => [name.toLowerCase(), sizeOf({ name, family, vcpus, memoryGiB, ...extra })]),
);
export const VM_SIZES: ReadonlyMap<string, VmSize> = OFFERED;

/** What is not given is as of most sizes. */
function sizeOf(given: Pick<VmSize, 'name' | 'family' | 'vcpus' | 'memoryGiB'> & Partial<VmSize>): VmSize {
  const { vcpus } = given;
  return {
    gpus: 0,
    architecture: 'amd64',
    dataDisks: Math.min(32, vcpus * 2),
    networkInterfaces: Math.min(8, Math.max(2, vcpus / 2)),
    premiumStorage: true,
    localDiskMB: 0,
    spotCapable: true,
    isIsolated: false,
    ...given,
  };
}

/** Adds a size to what Azure offers in every world of this process. A size that it has already stays as it is. */
export function offerVmSize(size: Parameters<typeof sizeOf>[0]): void {
  if (findVmSize(size.name) === undefined) OFFERED.set(size.name.toLowerCase(), sizeOf(size));
}

/** A size by name, in any case. undefined: this Azure does not offer it. */
export function findVmSize(name: string): VmSize | undefined {
  return VM_SIZES.get(name.toLowerCase());
}
