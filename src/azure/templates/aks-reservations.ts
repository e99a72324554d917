/**
 * Resources that AKS reserves on a node, by its published formulas. Pure arithmetic.
 * Idea: template.
 */

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** CPU that the kubelet reserves, in millicores: 60, 100, 140 (4 cores), 180 (8), then 10 for each further core. */
export function reservedCpuMillis(vcpus: number): number {
  if (vcpus <= 1) return 60;
  if (vcpus <= 2) return 100;
  if (vcpus <= 4) return 100 + 20 * (vcpus - 2);
  return 140 + 10 * (vcpus - 4);
}

interface MemoryReservationInput {
  readonly memoryBytes: number;
  readonly maxPods: number;
  /** `1.33.2`; undefined: assumed to be current. */
  readonly kubernetesVersion: string | undefined;
  readonly os: 'linux' | 'windows';
}

/** Memory in bytes that pods cannot use: the kubelet's reservation and the hard eviction threshold. */
export function reservedMemoryBytes(input: MemoryReservationInput): number {
  const windows = input.os === 'windows' ? 2 * GIB : 0;
  return windows + (isBefore129(input.kubernetesVersion) ? reservationBefore129(input.memoryBytes) : reservationFrom129(input));
}

/** From 1.29: 20 MiB per pod plus 50 MiB, at most a quarter of the memory; eviction below 100 MiB. */
function reservationFrom129({ memoryBytes, maxPods }: MemoryReservationInput): number {
  return Math.min((20 * maxPods + 50) * MIB, 0.25 * memoryBytes) + 100 * MIB;
}

const TIERS: readonly (readonly [upToGib: number, part: number])[] = [
  [4, 0.25],
  [8, 0.2],
  [16, 0.1],
  [128, 0.06],
  [Number.POSITIVE_INFINITY, 0.02],
];

/** Before 1.29: a decreasing fraction of each further tier; eviction below 750 MiB. */
function reservationBefore129(memoryBytes: number): number {
  let [reserved, from] = [0, 0];
  for (const [upToGib, part] of TIERS) {
    const to = Math.min(memoryBytes, upToGib * GIB);
    if (to <= from) break;
    reserved += (to - from) * part;
    from = to;
  }
  return Math.round(reserved) + 750 * MIB;
}

function isBefore129(version: string | undefined): boolean {
  const match = /^(\d+)\.(\d+)/.exec(version ?? '');
  return match !== null && Number(match[1]) === 1 && Number(match[2]) < 29;
}

/**
 * Memory of a size that the kernel reports. Firmware and the kernel take 1.5 to 4 % on known machines. The larger fraction is
 * subtracted, since a template with too much memory creates nodes on which the pod does not fit.
 */
export function kernelMemoryBytes(skuMemoryBytes: number): number {
  return Math.floor(skuMemoryBytes * (skuMemoryBytes <= 16 * GIB ? 0.96 : 0.975));
}
