/**
 * Cores and memory of VM sizes by the documented naming convention, for a file that names a size and no node of which is
 * there to look at. Only series whose memory per core is the same for all their sizes are known; the rest is not guessed.
 */
import type { Sku } from '../../adapters/azure/skus.ts';

const GIB = 2 ** 30;
/** The largest size up to which a series keeps its memory per core. */
const SERIES: readonly { readonly pattern: RegExp; readonly gibPerCore: number; readonly mostCores: number }[] = [
  { pattern: /^D\d+p?l[a-z]*_v[5-7]$/i, gibPerCore: 2, mostCores: 96 },
  { pattern: /^D\d+[a-km-z]*_v[3-7]$/i, gibPerCore: 4, mostCores: 96 },
  { pattern: /^E\d+[a-z]*_v[3-7]$/i, gibPerCore: 8, mostCores: 48 },
  { pattern: /^F\d+s_v2$/i, gibPerCore: 2, mostCores: 72 },
  { pattern: /^B(2|4|8|12|16|20)ms$/i, gibPerCore: 4, mostCores: 20 },
  { pattern: /^L\d+s_v3$/i, gibPerCore: 8, mostCores: 80 },
];
const SINGLE: Readonly<Record<string, readonly [cores: number, gib: number, gpus: number]>> = {
  b2s: [2, 4, 0],
  nc4as_t4_v3: [4, 28, 1],
  nc8as_t4_v3: [8, 56, 1],
  nc16as_t4_v3: [16, 110, 1],
  nc64as_t4_v3: [64, 440, 4],
  nc24ads_a100_v4: [24, 220, 1],
  nc48ads_a100_v4: [48, 440, 2],
  nc96ads_a100_v4: [96, 880, 4],
};

/** undefined: nothing is known of the size here. Any letter case; constrained sizes (`E8-4s_v5`) are not known. */
export function knownSize(vmSize: string): Sku | undefined {
  const name = vmSize.replace(/^standard_/i, '');
  const single = Object.hasOwn(SINGLE, name.toLowerCase()) ? SINGLE[name.toLowerCase()] : undefined;
  if (single !== undefined) return skuOf(vmSize, single);
  const cores = Number(/^[a-z](\d+)/i.exec(name)?.[1] ?? Number.NaN);
  const series = SERIES.find(({ pattern }) => pattern.test(name));
  if (series === undefined || !(cores >= 1 && cores <= series.mostCores)) return undefined;
  return { ...skuOf(vmSize, [cores, cores * series.gibPerCore, 0]), ...diskLimit(name, cores) };
}

/** Data disks by the documented tables of these series: two for each core, 32 at most. */
function diskLimit(name: string, cores: number): Pick<Sku, 'maxDataDisks'> {
  return /^[DEF]\d+[a-z]*_v[2-5]$/i.test(name) ? { maxDataDisks: Math.min(32, 2 * cores) } : {};
}

function skuOf(name: string, [vcpus, gib, gpus]: readonly [number, number, number]): Sku {
  const isArm = /^standard_[a-z]\d+p/i.test(name);
  return { name, vcpus, memoryBytes: gib * GIB, gpus, arch: isArm ? 'arm64' : 'amd64', zones: [], quotaFamily: '', quotaVcpus: vcpus };
}
