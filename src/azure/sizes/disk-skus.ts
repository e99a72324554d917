/**
 * The SKU under which Azure bills a managed disk: by its kind and the next larger of fixed sizes (learn.microsoft.com/azure/virtual-machines/disks-types).
 * Pure.
 */

/** Prices of disks are per month; Azure computes a month as 730 hours. */
export const HOURS_OF_MONTH = 730;

/** GiB, with the number of the SKU. */
const SIZES: readonly (readonly [gib: number, number: number])[] = [
  [4, 1],
  [8, 2],
  [16, 3],
  [32, 4],
  [64, 6],
  [128, 10],
  [256, 15],
  [512, 20],
  [1024, 30],
  [2048, 40],
  [4096, 50],
];
/** Standard HDDs begin here. */
const LEAST_HDD_GIB = 32;

const KINDS: Readonly<Record<string, { readonly letter: string; readonly product: string }>> = {
  premium: { letter: 'P', product: 'Premium SSD Managed Disks' },
  standardssd: { letter: 'E', product: 'Standard SSD Managed Disks' },
  standard: { letter: 'S', product: 'Standard HDD Managed Disks' },
};

/** `P10 LRS` of 128 GiB of `Premium_LRS`. undefined: the disk is not billed by size alone, or its kind or size is not known. */
export function diskSkuOf(tier: string | undefined, gib: number | undefined): string | undefined {
  const [, kind = '', copies = ''] = /^([a-z]+)_([lz]rs)$/.exec(tier?.toLowerCase() ?? '') ?? [];
  const letter = Object.hasOwn(KINDS, kind) ? KINDS[kind]?.letter : undefined;
  if (letter === undefined || gib === undefined || gib <= 0) return undefined;
  const least = letter === 'S' ? Math.max(gib, LEAST_HDD_GIB) : gib;
  const size = SIZES.find(([most]) => least <= most);
  return size === undefined ? undefined : `${letter}${size[1]} ${copies.toUpperCase()}`;
}

/** The product of the price list that a SKU of disks belongs to. undefined: not such a SKU, but a VM size. */
export function diskProductOf(sku: string): string | undefined {
  const [, letter] = /^([PES])\d+ [LZ]RS$/.exec(sku) ?? [];
  return letter === undefined ? undefined : Object.values(KINDS).find((kind) => kind.letter === letter)?.product;
}
