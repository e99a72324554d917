/** List prices as text, for keeping them longer than a process lives. */
import type { PriceKind, PriceTable, SizePrices } from '../../domain/retail-prices.ts';
import { isRecord, jsonOf } from './arm-body.ts';

/** Grows when the meaning of a field changes; what has another number is not read. */
const SCHEMA = 1;
const KINDS: ReadonlySet<string> = new Set<PriceKind>(['linux', 'windows', 'linux/spot', 'windows/spot']);

/** Prices hold for one region and in one currency. */
export interface PriceScope {
  readonly location: string;
  readonly currency: string;
}

/** Expected: a file of an older program, of another region or currency, or half written. */
export type PriceReading = { readonly ok: true; readonly table: PriceTable } | { readonly ok: false; readonly reason: string };

export function writePriceText(table: PriceTable, scope: PriceScope): string {
  const sizes = Object.entries(table).sort(([left], [right]) => (left < right ? -1 : 1));
  return `${JSON.stringify({ schema: SCHEMA, ...fold(scope), sizes: Object.fromEntries(sizes) }, undefined, 1)}\n`;
}

export function readPriceText(text: string, scope: PriceScope): PriceReading {
  const raw = jsonOf(text);
  const bad = (reason: string): PriceReading => ({ ok: false, reason });
  if (!isRecord(raw)) return bad('it is not a JSON object');
  if (raw['schema'] !== SCHEMA) return bad(`its schema is ${JSON.stringify(raw['schema'])}, not ${SCHEMA}`);
  const { location, currency } = fold(scope);
  if (raw['location'] !== location) return bad(`it is of region ${JSON.stringify(raw['location'])}, not ${location}`);
  if (raw['currency'] !== currency) return bad(`it is in ${JSON.stringify(raw['currency'])}, not ${currency}`);
  if (!isRecord(raw['sizes'])) return bad('it lists no sizes');
  const sizes = Object.entries(raw['sizes']);
  const readable = sizes.flatMap(([name, value]) => (isSizePrices(value) ? [[name, value] as const] : []));
  return readable.length === sizes.length ? { ok: true, table: Object.fromEntries(readable) } : bad('a price in it is none');
}

function isSizePrices(value: unknown): value is SizePrices {
  if (!isRecord(value) || typeof value['readAtMs'] !== 'number' || !isRecord(value['perHour'])) return false;
  return Object.entries(value['perHour']).every(([kind, price]) => KINDS.has(kind) && typeof price === 'number' && price > 0);
}

function fold({ location, currency }: PriceScope): PriceScope {
  return { location: location.replaceAll(' ', '').toLowerCase(), currency };
}
