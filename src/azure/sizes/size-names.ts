/**
 * Parses the name of a VM size by Azure's naming convention: family, number, constrained vCPUs, feature letters, accelerator,
 * version. New names appear faster than any table of them, so unknown parts are kept and reported, never refused. Decisions
 * use the numbers of the capabilities: the number in a name is not always the count of vCPUs.
 */
interface VmSizeName {
  /** As given. */
  readonly raw: string;
  readonly tier: 'Standard' | 'Basic';
  readonly family: string;
  readonly subfamily: string;
  readonly number: number | undefined;
  /** The remaining vCPUs of a constrained size (`Standard_M8-2ms`: 2). */
  readonly constrained: number | undefined;
  /** Lower-case letters in the order of the name, including unknown ones. */
  readonly features: readonly string[];
  readonly unknownFeatures: readonly string[];
  /** Such as `A100`. Empty if the size has none. */
  readonly accelerator: string;
  /** Further parts: `flex`, `xl`, the disk generation of M sizes. */
  readonly variant: string;
  /** Whether guests may have confidential child VMs (`cc`). */
  readonly confidentialChild: boolean;
  /** Such as `v5`. Empty for the first version. */
  readonly version: string;
  readonly promo: boolean;
  /** Whether every part was understood. */
  readonly exact: boolean;
  /** The series as Azure's documentation names it: family, features and version. For people. */
  readonly series: string;
  /** Equal for sizes of the same hardware: the series with the accelerator. */
  readonly groupKey: string;
}

/**
 * a AMD, b block storage, c confidential, d local disk, e TDX, i isolated, l low memory, m much memory, n network or NVMe, o
 * NVMe optimized, p Arm, r RDMA, s premium storage, t tiny memory.
 */
const KNOWN_FEATURES = new Set('abcdeilmnoprst');

const HEAD = /^([a-z])([a-z]{0,2})(\d+)(?:-(\d+))?([a-z]*)$/i;
const VERSION = /^v\d{1,2}$/i;
const ACCELERATOR = /^(?:[a-z]{1,4}\d{1,4}[a-z]{0,2}|rtx[a-z]*\d+[a-z]*)$/i;

/** Accepts names with or without `Standard_`, in any letter case. Never throws. */
export function parseVmSize(raw: string): VmSizeName {
  const [head = '', ...parts] = raw.replace(/^(standard|basic)_/i, '').split('_');
  const found = HEAD.exec(head);
  const [, family = '', subfamily = '', number, constrained, letters = ''] = found ?? [];
  const features = Array.from(letters.toLowerCase());
  const unknownFeatures = features.filter((letter) => !KNOWN_FEATURES.has(letter));
  const rest = parts.filter((part) => !VERSION.test(part) && !/^(promo|cc)$/i.test(part));
  const accelerator = rest.find((part) => ACCELERATOR.test(part)) ?? '';
  const variants = rest.filter((part) => part !== accelerator);
  const version = parts.find((part) => VERSION.test(part))?.toLowerCase() ?? '';
  const make = `${family.toUpperCase()}${subfamily.toUpperCase()}${features.join('')}`;
  return {
    raw,
    tier: /^basic_/i.test(raw) ? 'Basic' : 'Standard',
    family: family.toUpperCase(),
    subfamily: subfamily.toUpperCase(),
    number: number === undefined ? undefined : Number(number),
    constrained: constrained === undefined ? undefined : Number(constrained),
    features,
    unknownFeatures,
    accelerator: accelerator.toUpperCase(),
    variant: variants.join('_'),
    confidentialChild: parts.some((part) => /^cc$/i.test(part)),
    version,
    promo: parts.some((part) => /^promo$/i.test(part)),
    exact: found !== null && unknownFeatures.length === 0 && variants.length <= 1,
    series: [make, version].filter((part) => part !== '').join('_'),
    groupKey: [make, accelerator.toUpperCase(), version].filter((part) => part !== '').join('_'),
  };
}
