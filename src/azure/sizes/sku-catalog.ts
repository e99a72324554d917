/**
 * The VM sizes of the region, reduced to what templates need and indexed by folded name. Must not know node groups or how the
 * list is read.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ResourceSku } from '@azure/arm-compute';
import { defined } from '../../lib/defined.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { withoutNulls } from '../../lib/json.ts';
import { parseVmSize } from './size-names.ts';
import { capabilitiesOf } from './sku-capabilities.ts';

/** A restriction of the subscription on a size that the region or zone offers. */
interface SkuRestriction {
  readonly kind: 'location' | 'zone';
  /** Zone numbers. Empty for a restriction of the whole location. */
  readonly zones: readonly string[];
  /** Azure's reason code: `NotAvailableForSubscription` or `QuotaId`. */
  readonly code: string;
}

export interface Sku {
  readonly name: string;
  /** The vCPUs that the guest sees. Constrained sizes have fewer than their `vCPUs`. */
  readonly vcpus: number;
  /** The vCPUs that Azure counts against quotas, including those hidden from the guests of a constrained size. */
  readonly quotaVcpus: number;
  readonly memoryBytes: number;
  readonly gpus: number;
  readonly arch: 'amd64' | 'arm64';
  /** Zone numbers where the size is available to the subscription. */
  readonly zones: readonly string[];
  /** Data disks that can be attached. If absent, Azure does not list the number. */
  readonly maxDataDisks?: number;
  /**
   * Room for an ephemeral OS disk: NVMe disks, else the size's cache, else its temporary disk. If absent, the size does not
   * support one.
   */
  readonly ephemeralOsDiskBytes?: number;
  /** The temporary disk of the instance. If absent, the size has none. */
  readonly tempDiskBytes?: number;
  /** All local NVMe disks together. If absent, the size has none. */
  readonly nvmeDiskBytes?: number;
  /** The family whose quota the size uses. */
  readonly quotaFamily: string;
  /** Restrictions of the subscription, if any. */
  readonly restrictions?: readonly SkuRestriction[];
  /** Azure does not offer the size as Spot. If absent, Azure does not exclude it. */
  readonly neverSpot?: true;
  /** The day on which Azure retires the size, `2028-11-15`. If absent, none is announced. */
  readonly retiresOn?: string;
  /** Unknown feature letters in its name, if any. */
  readonly unknownFeatures?: readonly string[];
  /** The numbers come from the size's name, not from Azure's list, so its availability is unknown. */
  readonly isKnownByName?: true;
}

/** A catalogue that was never read is undefined, not an empty one. */
export interface SkuCatalog {
  readonly observedAtMs: number;
  readonly byName: ReadonlyMap<string, Sku>;
  /** Hash of the sizes. It does not depend on when they were read. */
  readonly version: string;
  /** Another process read it. What it says against a size is checked before it counts. */
  readonly isShared?: true;
}

/** Keeps the VM sizes of the location that have readable numbers. */
export function buildCatalog(skus: readonly ResourceSku[], location: string, observedAtMs: number): SkuCatalog {
  const byName = new Map<string, Sku>();
  for (const raw of skus) {
    const sku = projectReadableSku(raw, location);
    if (sku !== undefined) byName.set(sku.name.toLowerCase(), sku);
  }
  return { observedAtMs, byName, version: versionOf(byName.values()) };
}

/** The hash does not depend on the order in which Azure lists the sizes. */
export function versionOf(skus: Iterable<Sku>): string {
  const hash = createHash('sha256');
  for (const line of Array.from(skus, (sku) => JSON.stringify(sku)).sort()) hash.update(`${line}\n`);
  return hash.digest('hex');
}

/** The newer catalogue, with unchanged sizes as the same objects, so nothing derived from them is rebuilt. */
export function renewCatalog(previous: SkuCatalog | undefined, next: SkuCatalog): SkuCatalog {
  if (previous === undefined) return next;
  if (previous.version === next.version) return { ...next, byName: previous.byName };
  const kept = [...next.byName].map(([name, sku]): [string, Sku] => {
    const before = previous.byName.get(name);
    return [name, before !== undefined && isDeepStrictEqual(before, sku) ? before : sku];
  });
  return { ...next, byName: new Map(kept) };
}

/**
 * What another process published, beside the sizes that only this one knows. Absence from such a list is no news: another process may
 * see fewer sizes. Presence is.
 */
export function addSharedSizes(own: SkuCatalog | undefined, shared: SkuCatalog): SkuCatalog {
  const missing = [...(own?.byName ?? [])].filter(([name]) => !shared.byName.has(name));
  // guard: a list of another process removes no size
  if (missing.length === 0) return { ...shared, isShared: true };
  const byName = new Map([...shared.byName, ...missing]);
  return { ...shared, byName, version: versionOf(byName.values()), isShared: true };
}

/**
 * Why no instance of a size is available in these zones at this priority, with Azure's reason code. `zones` are numbers; empty
 * means regional. A closed zone is no reason while another of the group's zones is open.
 */
export function unavailableReason(
  sku: Sku | undefined,
  zones: readonly string[],
  priority: 'Regular' | 'Spot' = 'Regular',
): string | undefined {
  if (sku === undefined) return undefined;
  const { name, restrictions = [] } = sku;
  const everywhere = restrictions.find(({ kind }) => kind === 'location');
  if (everywhere !== undefined) return `Azure restricts ${name} for this subscription in the whole region (${everywhere.code})`;
  const closed = closedZonesOf(sku);
  if (zones.length > 0 && zones.every((zone) => closed.has(zone)))
    return `Azure restricts ${name} for this subscription in zone ${zones.join(', ')} (${[...new Set(zones.map((zone) => closed.get(zone)))].join(', ')})`;
  if (zones.length > 0 && sku.zones.length > 0 && !zones.some((zone) => sku.zones.includes(zone)))
    return `Azure offers ${name} not in zone ${zones.join(', ')}, only in ${sku.zones.join(', ')}`;
  return priority === 'Spot' && sku.neverSpot === true ? `Azure does not offer ${name} as Spot` : undefined;
}

/** Zone numbers in which the subscription cannot use the size, with Azure's reason code. */
export function closedZonesOf(sku: Sku | undefined): ReadonlyMap<string, string> {
  return new Map((sku?.restrictions ?? []).flatMap(({ zones, code }) => zones.map((zone) => [zone, code] as const)));
}

/** A warning for people. Azure sells the size until it retires. */
export function retirementWarnings(sku: Sku | undefined): readonly string[] {
  return sku?.retiresOn === undefined ? [] : [`Azure retires ${sku.name} on ${sku.retiresOn}`];
}

/** Finds a size in any letter case. `_Promo` sizes are looked up without the suffix. */
export function findSku(catalog: SkuCatalog | undefined, vmSize: string): Sku | undefined {
  const name = vmSize.toLowerCase();
  return catalog?.byName.get(name) ?? catalog?.byName.get(name.replace(/_promo$/, ''));
}

/** The name as Azure's list spells it, if the names match. Users may write sizes in another letter case. */
export function azureSpelling(sku: Pick<Sku, 'name'> | undefined, vmSize: string): string {
  return sku?.name.toLowerCase() === vmSize.toLowerCase() ? sku.name : vmSize;
}

/** undefined: another resource, or an entry in an undocumented form. The other sizes stay readable. */
function projectReadableSku(raw: ResourceSku, location: string): Sku | undefined {
  try {
    return raw.resourceType?.toLowerCase() === 'virtualmachines' ? projectSku(raw, location) : undefined;
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    return undefined;
  }
}

function projectSku(given: ResourceSku, location: string): Sku | undefined {
  const raw = withoutNulls(given);
  const { vcpus, vcpusAvailable, memoryBytes, gpus, arch, ...rest } = capabilitiesOf(raw);
  const seen = vcpusAvailable ?? vcpus;
  if (raw.name === undefined || seen === undefined || memoryBytes === undefined) return undefined;
  return {
    name: raw.name,
    vcpus: seen,
    quotaVcpus: vcpus ?? seen,
    memoryBytes,
    gpus: gpus ?? 0,
    arch: arch ?? 'amd64',
    zones: zonesOf(raw, location),
    ...defined({
      maxDataDisks: rest.maxDataDisks,
      ephemeralOsDiskBytes: rest.ephemeralOsDisk?.bytes,
      tempDiskBytes: rest.tempDiskBytes,
      nvmeDiskBytes: rest.nvmeDiskBytes,
    }),
    quotaFamily: raw.family ?? '',
    ...filled('restrictions', restrictionsOf(raw, location)),
    ...(rest.capability('LowPriorityCapable')?.trim().toLowerCase() === 'false' ? { neverSpot: true } : {}),
    ...retirement(rest.retirement),
    ...filled('unknownFeatures', parseVmSize(raw.name).unknownFeatures),
  };
}

/** Azure writes `11/15/2028`. A text that is not a date is dropped. */
function retirement(text: string | undefined): Pick<Sku, 'retiresOn'> {
  const [, month = '', day = '', year = ''] = /^\s*(\d{1,2})\/(\d{1,2})\/(\d{4})/.exec(text ?? '') ?? [];
  const iso = year === '' ? /^\s*(\d{4}-\d\d-\d\d)/.exec(text ?? '')?.[1] : `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return iso === undefined ? {} : { retiresOn: iso };
}

function zonesOf(raw: ResourceSku, location: string): readonly string[] {
  const here = raw.locationInfo?.find((place) => sameLocation(place.location, location));
  const restricted = new Set(restrictionsOf(raw, location).flatMap(({ zones }) => zones));
  return (here?.zones ?? []).filter((zone) => !restricted.has(zone)).sort();
}

/** A restriction with locations applies only to them; one without applies everywhere. */
function restrictionsOf(raw: ResourceSku, location: string): readonly SkuRestriction[] {
  return (raw.restrictions ?? []).flatMap(({ type, values, restrictionInfo, reasonCode }): SkuRestriction[] => {
    const places = restrictionInfo?.locations ?? values ?? [];
    if (places.length > 0 && !places.some((place) => sameLocation(place, location))) return [];
    const code = reasonCode ?? 'no reason given';
    if (type === 'Location') return [{ kind: 'location', zones: [], code }];
    return type === 'Zone' ? [{ kind: 'zone', zones: [...(restrictionInfo?.zones ?? [])].sort(), code }] : [];
  });
}

function filled<Key extends string, Item>(key: Key, list: readonly Item[]): { readonly [K in Key]?: readonly Item[] } {
  return list.length === 0 ? {} : ({ [key]: list } as { readonly [K in Key]?: readonly Item[] });
}

/** `East US 2` and `eastus2` are the same location. */
function sameLocation(left: string | undefined, right: string): boolean {
  const fold = (text: string): string => text.replaceAll(' ', '').toLowerCase();
  return left !== undefined && fold(left) === fold(right);
}

/** The resource name of a size's devices. The SKU list counts field-programmable arrays as GPUs. */
export function deviceResourceName(vmSize: string): string {
  if (/^standard_np/i.test(vmSize)) return 'xilinx.com/fpga-xilinx_u250_gen3x16_xdma_shell_2_1-0';
  return isAmdGpu(vmSize) ? 'amd.com/gpu' : 'nvidia.com/gpu';
}

function isAmdGpu(vmSize: string): boolean {
  return /mi300x|^standard_nv\d+as_v4$|^standard_ng/i.test(vmSize);
}

/** Sizes with the same quota family share hardware. Without a quota family, the series and accelerator in the name are used. */
export function sizeFamilyOf(sku: Sku | undefined): NodeGroup['sizeFamily'] {
  const name = (sku?.quotaFamily || parseVmSize(sku?.name ?? '').groupKey).toLowerCase();
  return sku === undefined || name === '' ? undefined : { name, vcpus: sku.vcpus };
}
