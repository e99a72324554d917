/** The sizes of the region, projected to what templates need and indexed by folded name. */
import { createHash } from 'node:crypto';
import type { ResourceSku } from '@azure/arm-compute';
import type { NodeGroup } from '../../domain/node-group.ts';
import { withoutNulls } from '../../lib/without-nulls.ts';
import { isRecord, jsonOf } from '../arm/error-bodies.ts';
import { parseVmSize } from './size-names.ts';
import { capabilitiesOf } from './sku-capabilities.ts';

/** Where the subscription may not have a size, although the region or zone has it. */
export interface SkuRestriction {
  readonly kind: 'location' | 'zone';
  /** Zone numbers; of a restriction of the whole location, none. */
  readonly zones: readonly string[];
  /** Azure's reason code: `NotAvailableForSubscription` or `QuotaId`. */
  readonly code: string;
}

export interface Sku {
  readonly name: string;
  /** What the guest sees: constrained sizes have fewer than their `vCPUs`. */
  readonly vcpus: number;
  /** What Azure counts against quotas: all of a constrained size, hidden ones included. */
  readonly quotaVcpus: number;
  readonly memoryBytes: number;
  readonly gpus: number;
  readonly arch: 'amd64' | 'arm64';
  /** Zone numbers where the size can be had, restrictions taken off. */
  readonly zones: readonly string[];
  /** Data disks that can be attached; undefined: Azure does not say. */
  readonly maxDataDisks?: number;
  /** What an ephemeral OS disk has room for: NVMe disks, else the size's cache, else its temporary disk. Absent: it takes none. */
  readonly ephemeralOsDiskBytes?: number;
  /** The disk that comes and goes with the machine. Absent: it has none. */
  readonly tempDiskBytes?: number;
  /** Local NVMe disks, all together. Absent: it has none. */
  readonly nvmeDiskBytes?: number;
  /** The family whose quota it draws from. */
  readonly quotaFamily: string;
  /** Absent: none. */
  readonly restrictions?: readonly SkuRestriction[];
  /** Azure says that machines of the size cannot be had as Spot. Absent: it does not say so. */
  readonly neverSpot?: true;
  /** The day on which Azure ends the size, `2028-11-15`. Absent: none is announced. */
  readonly retiresOn?: string;
  /** Feature letters of its name that nobody explained to us; absent: none. */
  readonly unknownFeatures?: readonly string[];
  /** Its numbers are those of its name, not of Azure's list: nothing is said of where it can be had. */
  readonly isKnownByName?: true;
}

/** A catalogue that was never read is not an empty one. */
export interface SkuCatalog {
  readonly observedAtMs: number;
  readonly byName: ReadonlyMap<string, Sku>;
  /** Hash of the sizes: equal where nothing changed, whenever it was read. */
  readonly version: string;
}

/** Keeps virtual machine sizes of the location whose numbers can be read. */
export function buildCatalog(skus: readonly ResourceSku[], location: string, observedAtMs: number): SkuCatalog {
  const byName = new Map<string, Sku>();
  for (const raw of skus) {
    const sku = raw.resourceType?.toLowerCase() === 'virtualmachines' ? projectSku(raw, location) : undefined;
    if (sku !== undefined) byName.set(sku.name.toLowerCase(), sku);
  }
  return { observedAtMs, byName, version: versionOf(byName.values()) };
}

/** The order in which Azure lists is no content. */
export function versionOf(skus: Iterable<Sku>): string {
  const hash = createHash('sha256');
  for (const line of Array.from(skus, (sku) => JSON.stringify(sku)).sort()) hash.update(`${line}\n`);
  return hash.digest('hex');
}

/** The newer catalogue with every size that did not change as the same object, so that nothing derived from it is made anew. */
export function renewCatalog(previous: SkuCatalog | undefined, next: SkuCatalog): SkuCatalog {
  if (previous === undefined) return next;
  if (previous.version === next.version) return { ...next, byName: previous.byName };
  const kept = [...next.byName].map(([name, sku]): [string, Sku] => {
    const before = previous.byName.get(name);
    return [name, before !== undefined && JSON.stringify(before) === JSON.stringify(sku) ? before : sku];
  });
  return { ...next, byName: new Map(kept) };
}

/**
 * Why no machine of a size can be had in these zones (numbers; none: regional) at this priority, with Azure's reason code. A
 * zone that is closed is no reason while another of the group's zones is open.
 */
export function unavailableBecause(
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
    return `Azure does not offer ${name} in zone ${zones.join(', ')}, but in ${sku.zones.join(', ')}`;
  return priority === 'Spot' && sku.neverSpot === true ? `Azure does not offer ${name} as Spot` : undefined;
}

/** Zone numbers where the subscription may not have the size, with Azure's reason code. */
export function closedZonesOf(sku: Sku | undefined): ReadonlyMap<string, string> {
  return new Map((sku?.restrictions ?? []).flatMap(({ zones, code }) => zones.map((zone) => [zone, code] as const)));
}

/** Said to people: Azure goes on selling a size until it does not. */
export function retirementOf(sku: Sku | undefined): readonly string[] {
  return sku?.retiresOn === undefined ? [] : [`Azure retires ${sku.name} on ${sku.retiresOn}`];
}

/** Looks a size up in any letter case; `_Promo` sizes are the size they promote. */
export function findSku(catalog: SkuCatalog | undefined, vmSize: string): Sku | undefined {
  const name = vmSize.toLowerCase();
  return catalog?.byName.get(name) ?? catalog?.byName.get(name.replace(/_promo$/, ''));
}

/** The name as Azure's list spells it, where the two are one: a person may have named the size in another letter case. */
export function asListed(sku: Pick<Sku, 'name'> | undefined, vmSize: string): string {
  return sku?.name.toLowerCase() === vmSize.toLowerCase() ? sku.name : vmSize;
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
    ...told('maxDataDisks', rest.maxDataDisks),
    ...told('ephemeralOsDiskBytes', rest.ephemeralOsDisk?.bytes),
    ...told('tempDiskBytes', rest.tempDiskBytes),
    ...told('nvmeDiskBytes', rest.nvmeDiskBytes),
    quotaFamily: raw.family ?? '',
    ...filled('restrictions', restrictionsOf(raw, location)),
    ...(rest.capability('LowPriorityCapable')?.trim().toLowerCase() === 'false' ? { neverSpot: true } : {}),
    ...retirement(rest.retirement),
    ...filled('unknownFeatures', parseVmSize(raw.name).unknownFeatures),
  };
}

/** Azure writes `11/15/2028`; what is no date is not told. */
function retirement(text: string | undefined): Pick<Sku, 'retiresOn'> {
  const [, month = '', day = '', year = ''] = /^\s*(\d{1,2})\/(\d{1,2})\/(\d{4})/.exec(text ?? '') ?? [];
  const iso = year === '' ? /^\s*(\d{4}-\d\d-\d\d)/.exec(text ?? '')?.[1] : `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return iso === undefined ? {} : { retiresOn: iso };
}

function told<Key extends string>(key: Key, value: number | undefined): { readonly [K in Key]?: number } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [K in Key]?: number });
}

function zonesOf(raw: ResourceSku, location: string): readonly string[] {
  const here = raw.locationInfo?.find((place) => sameLocation(place.location, location));
  const restricted = new Set(restrictionsOf(raw, location).flatMap(({ zones }) => zones));
  return (here?.zones ?? []).filter((zone) => !restricted.has(zone)).sort();
}

/** A restriction that names other locations is theirs; one that names none is of every place. */
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

/** `East US 2` and `eastus2` are one place. */
function sameLocation(left: string | undefined, right: string): boolean {
  const fold = (text: string): string => text.replaceAll(' ', '').toLowerCase();
  return left !== undefined && fold(left) === fold(right);
}

/** The resource name of a size's devices. The SKU list counts field-programmable arrays as GPUs. */
export function deviceOf(vmSize: string): string {
  if (/^standard_np/i.test(vmSize)) return 'xilinx.com/fpga-xilinx_u250_gen3x16_xdma_shell_2_1-0';
  return isAmdGpu(vmSize) ? 'amd.com/gpu' : 'nvidia.com/gpu';
}

function isAmdGpu(vmSize: string): boolean {
  return /mi300x|^standard_nv\d+as_v4$|^standard_ng/i.test(vmSize);
}

/** The family that quotas are counted by is what shares its hardware; where Azure tells none, sizes of one make do. */
export function familyOf(sku: Sku | undefined): Pick<NodeGroup, 'sizeFamily'> {
  const name = (sku?.quotaFamily || parseVmSize(sku?.name ?? '').groupKey).toLowerCase();
  return sku === undefined || name === '' ? {} : { sizeFamily: { name, vcpus: sku.vcpus } };
}

// The catalogue of VM sizes as text, for keeping it longer than a process lives. Sizes change over months; nothing that
// changes faster has a place here: what a snapshot says is never a size of a group or a reason to remove a machine.

/** Grows when the meaning of a field changes; what has another number is not read. */
const SCHEMA = 1;

/** Restrictions differ between subscriptions, so a catalogue is good for one of them and one region. */
export interface SkuScope {
  readonly subscriptionId: string;
  readonly location: string;
}

/** Expected: a file of an older program, of another region, or half written. */
export type SnapshotReading = { readonly ok: true; readonly catalog: SkuCatalog } | { readonly ok: false; readonly reason: string };

export function writeSnapshot({ observedAtMs, version, byName }: SkuCatalog, scope: SkuScope): string {
  return JSON.stringify({ schema: SCHEMA, ...fold(scope), observedAtMs, version, skus: [...byName.values()] });
}

export function readSnapshot(text: string, scope: SkuScope): SnapshotReading {
  const raw = jsonOf(text);
  const bad = (reason: string): SnapshotReading => ({ ok: false, reason });
  if (!isRecord(raw)) return bad('it is not a JSON object');
  if (raw['schema'] !== SCHEMA) return bad(`its schema is ${JSON.stringify(raw['schema'])}, not ${SCHEMA}`);
  const { subscriptionId, location } = fold(scope);
  if (raw['location'] !== location) return bad(`it is of region ${JSON.stringify(raw['location'])}, not ${location}`);
  if (raw['subscriptionId'] !== subscriptionId) return bad('it is of another subscription');
  const { observedAtMs, skus } = raw;
  if (typeof observedAtMs !== 'number' || !Array.isArray(skus)) return bad('a part of it is missing');
  const readable: unknown[] = skus;
  const sizes = readable.filter(isSku);
  const version = versionOf(sizes);
  if (sizes.length !== readable.length || version !== raw['version']) return bad('its content does not match its hash');
  return { ok: true, catalog: { observedAtMs, version, byName: new Map(sizes.map((sku) => [sku.name.toLowerCase(), sku])) } };
}

/** Enough to be used without harm: the hash says that the rest is as it was written. */
function isSku(value: unknown): value is Sku {
  return (
    isRecord(value) &&
    typeof value['name'] === 'string' &&
    [value['vcpus'], value['quotaVcpus'], value['memoryBytes'], value['gpus']].every((number) => typeof number === 'number') &&
    Array.isArray(value['zones'])
  );
}

function fold({ subscriptionId, location }: SkuScope): SkuScope {
  return { subscriptionId: subscriptionId.toLowerCase(), location: location.replaceAll(' ', '').toLowerCase() };
}
