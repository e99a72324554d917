/**
 * The device resource of a node. GPUs of an agent pool can be partitioned (NVIDIA's multi-instance GPU). The profile of the
 * pool decides the number of partitions, but the device plugin chooses their resource names. Pure.
 */
import { deviceResourceName } from '../sizes/sku-catalog.ts';
import type { ListedAgentPool } from './agent-pool-list.ts';

/** How the GPUs of a pool are partitioned. */
export interface GpuPartitioning {
  /** Folded: `mig1g` to `mig7g`. Empty if the GPUs are whole and AKS installs no driver. */
  readonly profile: string;
  /** How the partitions are named. `unknown` if the installer of the device plugin decides, as is usual on AKS. */
  readonly published: 'single' | 'mixed' | 'unknown';
}

/** Partitions of one GPU by profile, as AKS and NVIDIA document them. */
const PARTITIONS_PER_GPU: Readonly<Record<string, number>> = { mig1g: 7, mig2g: 3, mig3g: 2, mig4g: 1, mig7g: 1 };

/** NVIDIA's names for the profiles of each GPU; they contain the memory. The first match by VM size wins. */
const PROFILE_NAMES: readonly (readonly [size: RegExp, names: Readonly<Record<string, string>>])[] = [
  [/^standard_nd96asr_v4$/i, { mig1g: '1g.5gb', mig2g: '2g.10gb', mig3g: '3g.20gb', mig4g: '4g.20gb', mig7g: '7g.40gb' }],
  [/^standard_n\w+_a100_v4$/i, { mig1g: '1g.10gb', mig2g: '2g.20gb', mig3g: '3g.40gb', mig4g: '4g.40gb', mig7g: '7g.80gb' }],
  [/^standard_nd\w+_h100_v5$/i, { mig1g: '1g.10gb', mig2g: '2g.20gb', mig3g: '3g.40gb', mig4g: '4g.40gb', mig7g: '7g.80gb' }],
  [/^standard_nc\w+_h100_v5$/i, { mig1g: '1g.12gb', mig2g: '2g.24gb', mig3g: '3g.47gb', mig4g: '4g.47gb', mig7g: '7g.94gb' }],
  [/^standard_nd\w+_h200_v5$/i, { mig1g: '1g.18gb', mig2g: '2g.35gb', mig3g: '3g.71gb', mig4g: '4g.71gb', mig7g: '7g.141gb' }],
];

/** undefined: GPUs of the pool are whole. */
export function gpuPartitioningOf(pool: ListedAgentPool): GpuPartitioning | undefined {
  const { gpuInstanceProfile, gpuProfile } = pool;
  const profile = gpuInstanceProfile?.toLowerCase() ?? '';
  // guard: without a driver of AKS, GPUs exist only if something else installs one
  if (profile === '') return lacksDriver(pool) ? { profile, published: 'unknown' } : undefined;
  // Only the device plugin that AKS installs follows the pool's settings.
  if (gpuProfile?.nvidia?.managementMode?.toLowerCase() !== 'managed') return { profile, published: 'unknown' };
  const strategy = gpuProfile.nvidia.migStrategy?.toLowerCase() ?? 'none';
  if (strategy === 'none') return undefined;
  return { profile, published: strategy === 'single' || strategy === 'mixed' ? strategy : 'unknown' };
}

/** AKS skips the driver of an NVIDIA size (`--gpu-driver none`): usually NVIDIA's GPU Operator installs it, and the device plugin too. */
function lacksDriver({ vmSize = '', gpuProfile }: ListedAgentPool): boolean {
  const isNvidia = /^standard_n/i.test(vmSize) && deviceResourceName(vmSize) === NVIDIA_GPU;
  return isNvidia && gpuProfile?.driver?.toLowerCase() === 'none' && gpuProfile.nvidia?.managementMode?.toLowerCase() !== 'managed';
}

const NVIDIA_GPU = 'nvidia.com/gpu';
const GPU_TAG = 'k8s.io_cluster-autoscaler_node-template_resources_nvidia.com_gpu';

/** What a new node of the pool offers is unknown, as sentences. */
export function gpuDriverWarnings(pool: ListedAgentPool): readonly string[] {
  const isStated = Object.keys(pool.tags ?? {}).some((key) => key.toLowerCase() === GPU_TAG);
  if (isStated || !lacksDriver(pool)) return [];
  return [
    `AKS installs no GPU driver on its nodes (gpuProfile.driver: None), so no GPUs are counted on until a node has shown them; if the GPU Operator installs it, state them with the tag ${GPU_TAG}, or devices of a DRA driver with nodeGroupOptions.devices`,
  ];
}

/** The device resource of one instance and its amount. undefined: the size has no devices, or their name is not known yet. */
export function gpuResourceOf(
  vmSize: string,
  gpus: number,
  partitioning: GpuPartitioning | undefined,
): { readonly name: string; readonly amount: number } | undefined {
  if (gpus <= 0) return undefined;
  // Kubernetes counts a fraction of a device as one device.
  if (partitioning === undefined) return { name: deviceResourceName(vmSize), amount: Math.ceil(gpus) };
  const each = PARTITIONS_PER_GPU[partitioning.profile];
  const name =
    partitioning.published === 'single'
      ? deviceResourceName(vmSize)
      : partitioning.published === 'mixed'
        ? partitionResourceName(vmSize, partitioning.profile)
        : undefined;
  return each === undefined || name === undefined ? undefined : { name, amount: each * Math.ceil(gpus) };
}

function partitionResourceName(vmSize: string, profile: string): string | undefined {
  const profileName = PROFILE_NAMES.find(([size]) => size.test(vmSize))?.[1][profile];
  return profileName === undefined ? undefined : `nvidia.com/mig-${profileName}`;
}

/**
 * Effects of the kubelet configuration that planning cannot include, as sentences. They are shown to people and decide
 * nothing. Settings that change no capacity and refuse no pod are not read: swap, process limits, logs, and thresholds of
 * image collection, since the kubelet's eviction threshold stays the same. Pure.
 */
export function kubeletConfigWarnings({ kubeletConfig, linuxOSConfig }: ListedAgentPool): readonly string[] {
  const policy = kubeletConfig?.topologyManagerPolicy?.toLowerCase() ?? '';
  const aligned = kubeletConfig?.cpuManagerPolicy?.toLowerCase() === 'static' ? 'CPUs and devices' : 'devices';
  const refuses = policy === 'restricted' || policy === 'single-numa-node';
  const swaps = (linuxOSConfig?.swapFileSizeMB ?? 0) > 0 && kubeletConfig?.failSwapOn === true;
  return [
    ...(refuses
      ? [
          `its kubelets align ${aligned} by the topology policy ${policy}: a node may refuse a pod that fits by total resources (TopologyAffinityError)`,
        ]
      : []),
    ...(swaps ? ['its kubelets refuse to start with the configured swap file (failSwapOn): none of its nodes will join'] : []),
  ];
}
