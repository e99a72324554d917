/**
 * What the items of the public price list say of one VM size. As documented for the retail prices API, the meters of a size
 * differ by `type` (reservations and dev/test are not what a node costs), by the product's name (`... Windows`) and by the
 * SKU's name (`... Spot`, `... Low Priority`). Where meters of one kind differ in price, none of them is believed.
 */
import type { PriceKind, SizePrices } from '../../domain/retail-prices.ts';
import { isRecord } from './arm-body.ts';

interface Meter {
  readonly kind: PriceKind;
  readonly price: number;
  readonly primary: boolean;
  readonly sinceMs: number;
}

/** @param nowMs prices that begin later do not hold yet. */
export function pricesOf(
  items: readonly unknown[],
  wanted: { readonly vmSize: string; readonly currency: string },
  nowMs: number,
): SizePrices {
  const meters = items.flatMap((item) => meterOf(item, wanted) ?? []).filter(({ sinceMs }) => sinceMs <= nowMs);
  const perHour: Partial<Record<PriceKind, number>> = {};
  for (const kind of new Set(meters.map((meter) => meter.kind))) {
    const price = agreedPrice(meters.filter((meter) => meter.kind === kind));
    if (price !== undefined) perHour[kind] = price;
  }
  return { perHour, readAtMs: nowMs };
}

/** Of the region's own meters, where any is marked as such, the newest; undefined: the newest ones contradict each other. */
function agreedPrice(meters: readonly Meter[]): number | undefined {
  const own = meters.some(({ primary }) => primary) ? meters.filter(({ primary }) => primary) : meters;
  const newest = own.reduce((latest, { sinceMs }) => Math.max(latest, sinceMs), Number.NEGATIVE_INFINITY);
  const prices = new Set(own.filter(({ sinceMs }) => sinceMs === newest).map(({ price }) => price));
  return prices.size === 1 ? [...prices][0] : undefined;
}

function meterOf(item: unknown, { vmSize, currency }: { readonly vmSize: string; readonly currency: string }): Meter | undefined {
  if (!isRecord(item)) return undefined;
  const price = item['retailPrice'];
  const isHourly =
    textOf(item, 'type') === 'Consumption' &&
    textOf(item, 'unitOfMeasure') === '1 Hour' &&
    (item['tierMinimumUnits'] ?? 0) === 0 &&
    textOf(item, 'armSkuName').toLowerCase() === vmSize.toLowerCase() &&
    textOf(item, 'currencyCode') === currency;
  // A machine for nothing does not exist; such rows are placeholders.
  if (!isHourly || typeof price !== 'number' || !(price > 0) || !Number.isFinite(price)) return undefined;
  const kind = kindOf(textOf(item, 'skuName'), textOf(item, 'productName'));
  const sinceMs = Date.parse(textOf(item, 'effectiveStartDate'));
  if (kind === undefined || Number.isNaN(sinceMs)) return undefined;
  return { kind, price, primary: item['isPrimaryMeterRegion'] === true, sinceMs };
}

/** undefined: not what a node of AKS is billed by. */
function kindOf(skuName: string, productName: string): PriceKind | undefined {
  if (/low priority/i.test(skuName) || /cloud ?services/i.test(productName)) return undefined;
  const system = /\bwindows\b/i.test(productName) ? 'windows' : 'linux';
  return /\bspot\b/i.test(skuName) ? `${system}/spot` : system;
}

function textOf(item: Readonly<Record<string, unknown>>, key: string): string {
  const value = item[key];
  return typeof value === 'string' ? value : '';
}
