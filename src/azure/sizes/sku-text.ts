/** VM sizes as text, for processes that share them. What others published is bounded. Pure. */
import type { TextReading } from '../../cache/agents/shared-load.ts';
import { jsonOf } from '../arm/error-bodies.ts';
import { versionOf, type Sku, type SkuCatalog } from './sku-catalog.ts';
import { isRecord } from '../../lib/json.ts';

/** Version of the text format. It grows when the meaning of a field changes; other versions are not read. */
const SCHEMA = 1;
/** A clock may be ahead by this much. */
const CLOCK_SKEW_MS = 60_000;
/** A region offers about 1,000 sizes. The largest has 1,920 vCPUs and 32 TiB. */
const MOST_SIZES = 5_000;
const MOST_VCPUS = 4_096;
const MOST_MEMORY_BYTES = 128 * 2 ** 40;
const MOST_GPUS = 64;

/** Restrictions differ between subscriptions, so a stored catalogue is valid for one subscription and one region. */
export interface CatalogKey {
  readonly subscriptionId: string;
  readonly location: string;
}

/** The catalogue as text, for keeping it across processes. It holds only sizes, which change over months. */
export function writeCatalog({ observedAtMs, version, byName }: SkuCatalog, scope: CatalogKey): string {
  return JSON.stringify({ schema: SCHEMA, ...foldKey(scope), observedAtMs, version, skus: [...byName.values()] });
}

export function readCatalog(text: string, scope: CatalogKey, nowMs: number): TextReading<SkuCatalog> {
  const raw = jsonOf(text);
  const bad = (reason: string): TextReading<SkuCatalog> => ({ ok: false, reason });
  if (!isRecord(raw)) return bad('it is not a JSON object');
  if (raw['schema'] !== SCHEMA) return bad(`its schema is ${JSON.stringify(raw['schema'])}, not ${SCHEMA}`);
  const { subscriptionId, location } = foldKey(scope);
  if (raw['location'] !== location) return bad(`it is for region ${JSON.stringify(raw['location'])}, not ${location}`);
  if (raw['subscriptionId'] !== subscriptionId) return bad('it is for another subscription');
  const { observedAtMs, skus } = raw;
  if (typeof observedAtMs !== 'number' || !Array.isArray(skus)) return bad('observedAtMs or skus is missing');
  if (!(observedAtMs > 0) || observedAtMs > nowMs + CLOCK_SKEW_MS) return bad('its time is no time in the past');
  if (skus.length === 0 || skus.length > MOST_SIZES) return bad('it has no sizes, or too many');
  const readable: unknown[] = skus;
  const sizes = readable.filter(isSku);
  const version = versionOf(sizes);
  if (sizes.length !== readable.length || version !== raw['version']) return bad('its content does not match its hash');
  return { ok: true, value: { observedAtMs, version, byName: new Map(sizes.map((sku) => [sku.name.toLowerCase(), sku])) } };
}

/** Checks the required fields and their bounds. The hash proves that the rest is as written, not that it is true. */
function isSku(value: unknown): value is Sku {
  if (!isRecord(value) || typeof value['name'] !== 'string' || !Array.isArray(value['zones'])) return false;
  const { vcpus, quotaVcpus, memoryBytes, gpus } = value;
  const inBounds = ([number, most]: readonly [unknown, number]): boolean => typeof number === 'number' && number >= 0 && number <= most;
  const bounds: readonly (readonly [unknown, number])[] = [
    [vcpus, MOST_VCPUS],
    [quotaVcpus, MOST_VCPUS],
    [memoryBytes, MOST_MEMORY_BYTES],
    [gpus, MOST_GPUS],
  ];
  return bounds.every(inBounds);
}

/** Azure writes both in any case, and regions with spaces. */
export function foldKey({ subscriptionId, location }: CatalogKey): CatalogKey {
  return { subscriptionId: subscriptionId.toLowerCase(), location: location.replaceAll(' ', '').toLowerCase() };
}
