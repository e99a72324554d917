/**
 * The public price list (`/api/retail/prices`): no token, an OData filter of comparisons joined by `and`, and pages that name the next
 * one by an absolute link. The prices are invented. Must not know scale sets or pools.
 */
import type { Json } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import { VM_SIZES, type VmSize } from '../state/vm-sizes.ts';
import type { WorldSpec } from '../../base/world-spec.ts';
import type { ArmWorld } from '../state/arm-state.ts';

const SINCE = '2024-01-01T00:00:00Z';
/** US dollars per core and hour; other currencies use these factors. */
const PER_CORE = 0.048;
const PER_GIB = 0.004;
const PER_GPU = 0.35;
const WINDOWS_PER_CORE = 0.046;
const SPOT_SHARE = 0.25;
const RATES: Readonly<Record<string, number>> = { USD: 1, EUR: 0.9, GBP: 0.8 };
const COMPARISON = /^\s*(\w+)\s+eq\s+'((?:[^']|'')*)'\s*$/;

/** US dollars. */
export function linuxPricePerHour(size: VmSize, isSpot: boolean): number {
  const regular = size.vcpus * PER_CORE + size.memoryGiB * PER_GIB + size.gpus * PER_GPU;
  return isSpot ? regular * SPOT_SHARE : regular;
}

export function listRetailPrices(world: ArmWorld, request: ArmRequest): ArmReply {
  const currency = (request.query['currencycode'] ?? 'USD').replaceAll("'", '');
  const rate = RATES[currency];
  const wanted = comparisons(request.query['$filter']);
  const skip = Number(request.query['$skip'] ?? 0);
  if (rate === undefined || wanted === undefined || !Number.isInteger(skip) || skip < 0) {
    return { status: 400, body: { Error: { Code: 'BadRequest', Message: 'Invalid OData parameters supplied' } } };
  }
  const all = [...VM_SIZES.values()]
    .flatMap((size) => metersOf(world.spec, size, { currency, rate }))
    .concat(diskMeters(world.spec, { currency, rate }));
  const matching = all.filter((item) => wanted.every(([field, value]) => item[field === 'priceType' ? 'type' : field] === value));
  const page = matching.slice(skip, skip + world.knobs.retailPageSize);
  const end = skip + page.length;
  return {
    status: 200,
    body: {
      BillingCurrency: currency,
      CustomerEntityId: 'Default',
      CustomerEntityType: 'Retail',
      Items: page,
      NextPageLink: end < matching.length ? nextPage(request, end) : null,
      Count: page.length,
    },
  };
}

/** The comparisons of a filter. undefined: the filter is not supported. Values are case-sensitive. */
function comparisons(filter: string | undefined): readonly (readonly [string, string])[] | undefined {
  if (filter === undefined) return [];
  const parts = filter.split(/\s+and\s+/).map((part) => COMPARISON.exec(part));
  return parts.every((part) => part !== null) ? parts.map(([, field = '', value = '']) => [field, value.replaceAll("''", "'")]) : undefined;
}

function nextPage(request: ArmRequest, skip: number): string {
  const query = new URLSearchParams(request.query);
  query.set('$skip', String(skip));
  return `${request.base}${request.path}?${query.toString().replaceAll('%24', '$').replaceAll('currencycode', 'currencyCode')}`;
}

/**
 * Linux and Windows, each regular, Spot and Low Priority. Also a reservation and a dev/test row, which are not the price of a
 * node.
 */
function metersOf(
  { location: region, listPrices = {} }: Pick<WorldSpec, 'location' | 'listPrices'>,
  size: VmSize,
  money: { readonly currency: string; readonly rate: number },
): readonly Readonly<Record<string, Json>>[] {
  const linux = given(listPrices[size.name], money) ?? linuxPricePerHour(size, false);
  const spotShare = (given(listPrices[`${size.name}/spot`], money) ?? linux * SPOT_SHARE) / linux;
  const windows = linux + size.vcpus * WINDOWS_PER_CORE;
  const short = size.name.replace(/^Standard_/, '').replaceAll('_', ' ');
  const series = `Virtual Machines ${short.replace(/\d+/, '')} Series`;
  const meter = (productName: string, suffix: string, price: number, part: Readonly<Record<string, Json>> = {}): Record<string, Json> => ({
    currencyCode: money.currency,
    tierMinimumUnits: 0,
    retailPrice: rounded(price * money.rate),
    unitPrice: rounded(price * money.rate),
    armRegionName: region,
    location: region,
    effectiveStartDate: SINCE,
    meterName: `${short}${suffix}`,
    productName,
    skuName: `${short}${suffix}`,
    serviceName: 'Virtual Machines',
    serviceFamily: 'Compute',
    unitOfMeasure: '1 Hour',
    type: 'Consumption',
    isPrimaryMeterRegion: true,
    armSkuName: size.name,
    ...part,
  });
  const discounted = (suffix: string): readonly Record<string, Json>[] =>
    size.spotCapable ? [meter(series, suffix, linux * spotShare), meter(`${series} Windows`, suffix, windows * spotShare)] : [];
  return [
    meter(series, '', linux),
    meter(`${series} Windows`, '', windows),
    ...discounted(' Spot'),
    ...discounted(' Low Priority'),
    meter(series, '', linux * 8760 * 0.6, { type: 'Reservation', reservationTerm: '1 Year' }),
    meter(`${series} Windows`, '', linux, { type: 'DevTestConsumption' }),
  ];
}

/** US dollars per month of premium SSDs with local redundancy, by SKU. */
const DISKS: readonly (readonly [sku: string, price: number])[] = [
  ['P4', 5.28],
  ['P6', 10.21],
  ['P10', 19.71],
  ['P15', 38.02],
  ['P20', 73.22],
  ['P30', 135.17],
];

/** A managed disk has a meter by the month, and others of the same SKU that are not its price. */
function diskMeters(
  { location: region }: Pick<WorldSpec, 'location'>,
  { currency, rate }: { readonly currency: string; readonly rate: number },
): readonly Readonly<Record<string, Json>>[] {
  const productName = 'Premium SSD Managed Disks';
  return DISKS.flatMap(([sku, price]) =>
    [
      { meterName: `${sku} LRS Disk`, unitOfMeasure: '1/Month', price },
      { meterName: `${sku} LRS Disk Mount`, unitOfMeasure: '1/Month', price: price / 10 },
    ].map(({ price: inDollars, ...meter }) => ({
      currencyCode: currency,
      tierMinimumUnits: 0,
      retailPrice: rounded(inDollars * rate),
      unitPrice: rounded(inDollars * rate),
      armRegionName: region,
      location: region,
      effectiveStartDate: SINCE,
      productName,
      skuName: `${sku} LRS`,
      serviceName: 'Storage',
      serviceFamily: 'Storage',
      type: 'Consumption',
      isPrimaryMeterRegion: true,
      ...meter,
    })),
  );
}

/** A price in the currency of the request, as US dollars. */
function given(price: number | undefined, { rate }: { readonly rate: number }): number | undefined {
  return price === undefined ? undefined : price / rate;
}

function rounded(price: number): number {
  return Math.round(price * 1e6) / 1e6;
}
