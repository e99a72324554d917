/** What AKS keeps of a node for itself, after its published formulas. Pure arithmetic. */

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** Millicores the kubelet reserves: 60, 100, 140 (4 cores), 180 (8), then 10 for each further core. */
export function reservedCpuMillis(vcpus: number): number {
  if (vcpus <= 1) return 60;
  if (vcpus <= 2) return 100;
  if (vcpus <= 4) return 100 + 20 * (vcpus - 2);
  return 140 + 10 * (vcpus - 4);
}

export interface MemoryReservationInput {
  readonly memoryBytes: number;
  readonly maxPods: number;
  /** `1.33.2`; undefined: taken to be of today. */
  readonly kubernetesVersion: string | undefined;
  readonly os: 'linux' | 'windows';
}

/** Bytes that pods cannot have: the kubelet's reservation and the hard eviction threshold. */
export function reservedMemoryBytes(question: MemoryReservationInput): number {
  const windows = question.os === 'windows' ? 2 * GIB : 0;
  return windows + (isBefore129(question.kubernetesVersion) ? reservationBefore129(question.memoryBytes) : reservationFrom129(question));
}

/** From 1.29: 20 MB per pod and 50 MB, at most a quarter; eviction below 100 Mi. */
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

/** Before 1.29: a falling part of each further slice; eviction below 750 Mi. */
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
 * What a kernel reports of the memory of a size: firmware and the kernel itself take 1.5 to 4 % on machines we know.
 * A template that promises too much makes nodes on which the pod does not fit, so the larger part is taken off.
 */
export function kernelMemoryBytes(skuMemoryBytes: number): number {
  return Math.floor(skuMemoryBytes * (skuMemoryBytes <= 16 * GIB ? 0.96 : 0.975));
}
