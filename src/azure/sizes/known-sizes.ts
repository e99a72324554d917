/**
 * Cores and memory of VM sizes by Azure's naming convention and documentation, for use without Azure's list: at a start
 * without it, and for a file that names a size. A series is known by name only if all its sizes have the same memory per core;
 * other sizes are listed one by one. No size is guessed. Pure.
 */
import type { Sku } from './sku-catalog.ts';

const GIB = 2 ** 30;
/** Each series with the largest number of cores up to which its memory per core is constant. */
const SERIES: readonly { readonly pattern: RegExp; readonly gibPerCore: number; readonly mostCores: number }[] = [
  { pattern: /^D\d+[ap]?l[a-z]*_v[5-7]$/i, gibPerCore: 2, mostCores: 96 },
  { pattern: /^D\d+[a-km-z]*_v[3-7]$/i, gibPerCore: 4, mostCores: 96 },
  { pattern: /^E\d+[a-z]*_v[3-7]$/i, gibPerCore: 8, mostCores: 48 },
  { pattern: /^F\d+s_v2$/i, gibPerCore: 2, mostCores: 72 },
  { pattern: /^B(2|4|8|12|16|20)ms$/i, gibPerCore: 4, mostCores: 20 },
  { pattern: /^B(2|4|8|16)[ap]?s_v2$/i, gibPerCore: 4, mostCores: 16 },
  { pattern: /^B(2|4|8|16)[ap]?ls_v2$/i, gibPerCore: 2, mostCores: 16 },
  { pattern: /^L\d+s_v3$/i, gibPerCore: 8, mostCores: 80 },
];
/** Sizes by name without `Standard_`. `DS2_v2` and `D2_v2` differ only in their disks. */
const SINGLE: Readonly<Record<string, readonly [cores: number, gib: number, gpus: number]>> = {
  b2s: [2, 4, 0],
  d2_v2: [2, 7, 0],
  d3_v2: [4, 14, 0],
  d4_v2: [8, 28, 0],
  d5_v2: [16, 56, 0],
  d11_v2: [2, 14, 0],
  d12_v2: [4, 28, 0],
  d13_v2: [8, 56, 0],
  d14_v2: [16, 112, 0],
  nc6s_v3: [6, 112, 1],
  nc12s_v3: [12, 224, 2],
  nc24s_v3: [24, 448, 4],
  nc4as_t4_v3: [4, 28, 1],
  nc8as_t4_v3: [8, 56, 1],
  nc16as_t4_v3: [16, 110, 1],
  nc64as_t4_v3: [64, 440, 4],
  nc24ads_a100_v4: [24, 220, 1],
  nc48ads_a100_v4: [48, 440, 2],
  nc96ads_a100_v4: [96, 880, 4],
  nc40ads_h100_v5: [40, 320, 1],
  nc80adis_h100_v5: [80, 640, 2],
};

/** The size by its name, in any letter case. undefined: an unknown size; constrained sizes (`E8-4s_v5`) are unknown. */
export function knownSize(vmSize: string): Sku | undefined {
  const name = vmSize.replace(/^standard_/i, '').replace(/_promo$/i, '');
  const key = name.toLowerCase().replace(/^ds(\d+_v2)$/, 'd$1');
  const single = Object.hasOwn(SINGLE, key) ? SINGLE[key] : undefined;
  if (single !== undefined) return skuOf(vmSize, single);
  const cores = Number(/^[a-z](\d+)/i.exec(name)?.[1] ?? Number.NaN);
  const series = SERIES.find(({ pattern }) => pattern.test(name));
  if (series === undefined || !(cores >= 1 && cores <= series.mostCores)) return undefined;
  return { ...skuOf(vmSize, [cores, cores * series.gibPerCore, 0]), ...diskLimit(name, cores) };
}

/** Data disks by the documentation of these series: two per core, at most 32. */
function diskLimit(name: string, cores: number): Pick<Sku, 'maxDataDisks'> {
  return /^[DEF]\d+[a-z]*_v[2-5]$/i.test(name) ? { maxDataDisks: Math.min(32, 2 * cores) } : {};
}

function skuOf(name: string, [vcpus, gib, gpus]: readonly [number, number, number]): Sku {
  const arch = /^standard_[a-z]\d+p/i.test(name) ? 'arm64' : 'amd64';
  return { name, vcpus, memoryBytes: gib * GIB, gpus, arch, zones: [], quotaFamily: '', quotaVcpus: vcpus, isKnownByName: true };
}
