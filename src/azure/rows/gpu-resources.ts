/**
 * What pods may ask for of a node's devices. GPUs of an agent pool can be cut into parts (NVIDIA's multi-instance GPU); how
 * many there are follows from the pool's profile, but under which names they are published is the device plugin's choice. Pure.
 */
import { deviceOf } from '../sizes/sku-catalog.ts';
import type { ToldPool } from './agent-pool-list.ts';

/** How the GPUs of a pool are cut. */
export interface GpuParts {
  /** Folded: `mig1g` to `mig7g`. */
  readonly profile: string;
  /** Under which names; `unknown` where whoever installs the device plugin decides, as is usual on AKS. */
  readonly published: 'single' | 'mixed' | 'unknown';
}

/** Parts of one GPU by profile, as AKS and NVIDIA document them. */
const PARTS: Readonly<Record<string, number>> = { mig1g: 7, mig2g: 3, mig3g: 2, mig4g: 1, mig7g: 1 };

/** What NVIDIA calls the profiles of each GPU: it is named by its memory. First match by VM size. */
const MEMORY: readonly (readonly [size: RegExp, names: Readonly<Record<string, string>>])[] = [
  [/^standard_nd96asr_v4$/i, { mig1g: '1g.5gb', mig2g: '2g.10gb', mig3g: '3g.20gb', mig4g: '4g.20gb', mig7g: '7g.40gb' }],
  [/^standard_n\w+_a100_v4$/i, { mig1g: '1g.10gb', mig2g: '2g.20gb', mig3g: '3g.40gb', mig4g: '4g.40gb', mig7g: '7g.80gb' }],
  [/^standard_nd\w+_h100_v5$/i, { mig1g: '1g.10gb', mig2g: '2g.20gb', mig3g: '3g.40gb', mig4g: '4g.40gb', mig7g: '7g.80gb' }],
  [/^standard_nc\w+_h100_v5$/i, { mig1g: '1g.12gb', mig2g: '2g.24gb', mig3g: '3g.47gb', mig4g: '4g.47gb', mig7g: '7g.94gb' }],
  [/^standard_nd\w+_h200_v5$/i, { mig1g: '1g.18gb', mig2g: '2g.35gb', mig3g: '3g.71gb', mig4g: '4g.71gb', mig7g: '7g.141gb' }],
];

/** undefined: its GPUs, if it has any, are whole. */
export function gpuPartsOf({ gpuInstanceProfile, gpuProfile }: ToldPool): GpuParts | undefined {
  const profile = gpuInstanceProfile?.toLowerCase() ?? '';
  if (profile === '') return undefined;
  // Only the plugin that AKS itself installs does what AKS says of it.
  if (gpuProfile?.nvidia?.managementMode?.toLowerCase() !== 'managed') return { profile, published: 'unknown' };
  const strategy = gpuProfile.nvidia.migStrategy?.toLowerCase() ?? 'none';
  if (strategy === 'none') return undefined;
  return { profile, published: strategy === 'single' || strategy === 'mixed' ? strategy : 'unknown' };
}

/** Devices of one machine: their resource's name and number. undefined: it has none, or nobody can tell yet what they are called. */
export function devicesOf(
  vmSize: string,
  gpus: number,
  parts: GpuParts | undefined,
): { readonly name: string; readonly amount: number } | undefined {
  if (gpus <= 0) return undefined;
  // A part of a device is one to Kubernetes.
  if (parts === undefined) return { name: deviceOf(vmSize), amount: Math.ceil(gpus) };
  const each = PARTS[parts.profile];
  const name = parts.published === 'single' ? deviceOf(vmSize) : parts.published === 'mixed' ? partName(vmSize, parts.profile) : undefined;
  return each === undefined || name === undefined ? undefined : { name, amount: each * Math.ceil(gpus) };
}

function partName(vmSize: string, profile: string): string | undefined {
  const part = MEMORY.find(([size]) => size.test(vmSize))?.[1][profile];
  return part === undefined ? undefined : `nvidia.com/mig-${part}`;
}

// What the settings of an agent pool's kubelets do that no reckoning of room can foresee. It is said to people and decides
// nothing. Settings that change no room and refuse no pod (swap, process limits, logs, thresholds of image collection: the
// kubelet's eviction threshold stays what it is) are not read. Pure.

export function kubeletCautions({ kubeletConfig, linuxOSConfig }: ToldPool): readonly string[] {
  const policy = kubeletConfig?.topologyManagerPolicy?.toLowerCase() ?? '';
  const aligned = kubeletConfig?.cpuManagerPolicy?.toLowerCase() === 'static' ? 'CPUs and devices' : 'devices';
  const refuses = policy === 'restricted' || policy === 'single-numa-node';
  const swaps = (linuxOSConfig?.swapFileSizeMB ?? 0) > 0 && kubeletConfig?.failSwapOn === true;
  return [
    ...(refuses
      ? [
          `its kubelets align ${aligned} by the topology policy ${policy}: a pod that fits by its sums may be refused on the node (TopologyAffinityError)`,
        ]
      : []),
    ...(swaps ? ['its kubelets refuse to start beside the swap file that it is given (failSwapOn): no node of it will join'] : []),
  ];
}
