/** The sizes of the region, projected to what templates need and indexed by folded name. */
import type { ResourceSku } from '@azure/arm-compute';

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
  /** The family whose quota it draws from. */
  readonly quotaFamily: string;
}

/** A catalogue that was never read is not an empty one. */
export interface SkuCatalog {
  readonly observedAtMs: number;
  readonly byName: ReadonlyMap<string, Sku>;
}

const GIB = 2 ** 30;

/** Keeps virtual machine sizes of the location whose numbers can be read. */
export function buildCatalog(skus: readonly ResourceSku[], location: string, observedAtMs: number): SkuCatalog {
  const byName = new Map<string, Sku>();
  for (const raw of skus) {
    const sku = raw.resourceType?.toLowerCase() === 'virtualmachines' ? projectSku(raw, location) : undefined;
    if (sku !== undefined) byName.set(sku.name.toLowerCase(), sku);
  }
  return { observedAtMs, byName };
}

/** Looks a size up in any letter case; `_Promo` sizes are the size they promote. */
export function findSku(catalog: SkuCatalog | undefined, vmSize: string): Sku | undefined {
  const name = vmSize.toLowerCase();
  return catalog?.byName.get(name) ?? catalog?.byName.get(name.replace(/_promo$/, ''));
}

function projectSku(raw: ResourceSku, location: string): Sku | undefined {
  const capability = new Map((raw.capabilities ?? []).map(({ name, value }) => [name?.toLowerCase() ?? '', value ?? '']));
  const vcpus = positive(capability.get('vcpusavailable')) ?? positive(capability.get('vcpus'));
  const quotaVcpus = positive(capability.get('vcpus')) ?? vcpus;
  const memoryGib = positive(capability.get('memorygb'));
  if (raw.name === undefined || vcpus === undefined || quotaVcpus === undefined || memoryGib === undefined) return undefined;
  return {
    name: raw.name,
    vcpus,
    quotaVcpus,
    memoryBytes: Math.floor(memoryGib * GIB),
    gpus: positive(capability.get('gpus')) ?? 0,
    arch: capability.get('cpuarchitecturetype')?.toLowerCase() === 'arm64' ? 'arm64' : 'amd64',
    zones: zonesOf(raw, location),
    quotaFamily: raw.family ?? '',
  };
}

function positive(text: string | undefined): number | undefined {
  const value = text === undefined || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

function zonesOf(raw: ResourceSku, location: string): readonly string[] {
  const here = raw.locationInfo?.find((place) => sameLocation(place.location, location));
  const restricted = new Set(
    (raw.restrictions ?? []).filter((rule) => rule.type === 'Zone').flatMap((rule) => rule.restrictionInfo?.zones ?? []),
  );
  return (here?.zones ?? []).filter((zone) => !restricted.has(zone)).sort();
}

/** `East US 2` and `eastus2` are one place. */
function sameLocation(left: string | undefined, right: string): boolean {
  const fold = (text: string): string => text.replaceAll(' ', '').toLowerCase();
  return left !== undefined && fold(left) === fold(right);
}
