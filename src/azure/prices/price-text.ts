/** List prices as text: in a file that outlives the process, and for processes that share them. What is read is bounded. Pure. */
import type { TextReading } from '../../cache/agents/shared-load.ts';
import type { PriceKind, PriceTable, SizePrices } from '../../domain/quotas-and-prices.ts';
import { compareBy } from '../../lib/comparison.ts';
import { jsonOf } from '../arm/error-bodies.ts';
import { isRecord } from '../../lib/json.ts';

/** Version of the text format. It grows when the meaning of a field changes; other versions are not read. */
const SCHEMA = 1;
/** A region sells about 1,000. */
const MOST_SIZES = 5_000;
/** Per hour, in any currency. The dearest size costs a few hundred dollars. */
const MOST_PRICE = 10_000_000;
/** A clock may be ahead by this much. A reading from the future would never grow old. */
const CLOCK_SKEW_MS = 60_000;
const KINDS: ReadonlySet<string> = new Set<PriceKind>(['linux', 'windows', 'linux/spot', 'windows/spot', 'disk']);

/** Prices are valid for one region and one currency. */
export interface PriceListKey {
  readonly location: string;
  readonly currency: string;
}

/** The prices as text, for keeping them across processes. */
export function writePriceText(table: PriceTable, scope: PriceListKey): string {
  const sizes = Object.entries(table).sort(compareBy(([key]) => key));
  return `${JSON.stringify({ schema: SCHEMA, ...foldKey(scope), sizes: Object.fromEntries(sizes) }, undefined, 1)}\n`;
}

export function readPriceText(text: string, scope: PriceListKey, nowMs: number): TextReading<PriceTable> {
  const raw = jsonOf(text);
  const bad = (reason: string): TextReading<PriceTable> => ({ ok: false, reason });
  if (!isRecord(raw)) return bad('it is not a JSON object');
  if (raw['schema'] !== SCHEMA) return bad(`its schema is ${JSON.stringify(raw['schema'])}, not ${SCHEMA}`);
  const { location, currency } = foldKey(scope);
  if (raw['location'] !== location) return bad(`it is for region ${JSON.stringify(raw['location'])}, not ${location}`);
  if (raw['currency'] !== currency) return bad(`it is in ${JSON.stringify(raw['currency'])}, not ${currency}`);
  if (!isRecord(raw['sizes'])) return bad('it lists no sizes');
  const sizes = Object.entries(raw['sizes']);
  if (sizes.length > MOST_SIZES) return bad('it lists too many sizes');
  const readable = sizes.flatMap(([name, value]) => (isSizePrices(value, nowMs) ? [[name, value] as const] : []));
  return readable.length === sizes.length ? { ok: true, value: Object.fromEntries(readable) } : bad('one of its prices is not valid');
}

function isSizePrices(value: unknown, nowMs: number): value is SizePrices {
  if (!isRecord(value) || typeof value['readAtMs'] !== 'number' || !isRecord(value['perHour'])) return false;
  if (value['readAtMs'] > nowMs + CLOCK_SKEW_MS) return false;
  const isPrice = (price: unknown): boolean => typeof price === 'number' && price > 0 && price <= MOST_PRICE;
  return Object.entries(value['perHour']).every(([kind, price]) => KINDS.has(kind) && isPrice(price));
}

function foldKey({ location, currency }: PriceListKey): PriceListKey {
  return { location: location.replaceAll(' ', '').toLowerCase(), currency };
}
