/**
 * Reads the public price list, page by page. It needs no token and is not part of Resource Manager: it has its own address and
 * reports no rate limits. Its failures stop nothing else.
 */
import {
  createDefaultHttpClient,
  createEmptyPipeline,
  proxyPolicy,
  createPipelineRequest,
  tlsPolicy,
  type PipelineResponse,
} from '@azure/core-rest-pipeline';
import type { PriceKind, SizePrices } from '../../domain/quotas-and-prices.ts';
import { AutoscalerError, messageOf } from '../../lib/errors.ts';
import { jsonOf } from '../arm/error-bodies.ts';
import type { RetailPriceOptions } from '../arm/options.ts';
import { limitResponse } from '../arm/response-bodies.ts';
import { diskProductOf, HOURS_OF_MONTH } from '../sizes/disk-skus.ts';
import { isRecord } from '../../lib/json.ts';

interface Meter {
  readonly kind: PriceKind;
  readonly price: number;
  readonly primary: boolean;
  readonly sinceMs: number;
}

/**
 * Reads the hourly prices of one VM size, or of one SKU of managed disks, from the items of the price list. As documented for the retail prices API, the meters
 * of a size differ by `type` (reservations and dev/test are not node costs), by product name (`... Windows`) and by SKU name
 * (`... Spot`, `... Low Priority`). If meters of one kind contradict each other, none is used. @param nowMs prices that start
 * later do not apply yet.
 */
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

/**
 * The newest price of the region's own meters, or of all meters if none is marked so. undefined: the newest meters contradict
 * each other.
 */
function agreedPrice(meters: readonly Meter[]): number | undefined {
  const own = meters.some(({ primary }) => primary) ? meters.filter(({ primary }) => primary) : meters;
  const newest = own.reduce((latest, { sinceMs }) => Math.max(latest, sinceMs), Number.NEGATIVE_INFINITY);
  const prices = new Set(own.filter(({ sinceMs }) => sinceMs === newest).map(({ price }) => price));
  return prices.size === 1 ? [...prices][0] : undefined;
}

function meterOf(item: unknown, { vmSize, currency }: { readonly vmSize: string; readonly currency: string }): Meter | undefined {
  if (!isRecord(item)) return undefined;
  const price = item['retailPrice'];
  const isMeant =
    textOf(item, 'type') === 'Consumption' && (item['tierMinimumUnits'] ?? 0) === 0 && textOf(item, 'currencyCode') === currency;
  // Neither VMs nor disks are ever free; such items are placeholders.
  if (!isMeant || typeof price !== 'number' || !(price > 0) || !Number.isFinite(price)) return undefined;
  const hourly = diskProductOf(vmSize) === undefined ? vmPrice(item, vmSize, price) : diskPrice(item, vmSize, price);
  const sinceMs = Date.parse(textOf(item, 'effectiveStartDate'));
  if (hourly === undefined || Number.isNaN(sinceMs)) return undefined;
  return { ...hourly, primary: item['isPrimaryMeterRegion'] === true, sinceMs };
}

type Hourly = Pick<Meter, 'kind' | 'price'>;

function vmPrice(item: Readonly<Record<string, unknown>>, vmSize: string, price: number): Hourly | undefined {
  if (textOf(item, 'unitOfMeasure') !== '1 Hour' || textOf(item, 'armSkuName').toLowerCase() !== vmSize.toLowerCase()) return undefined;
  const kind = priceKindOf(textOf(item, 'skuName'), textOf(item, 'productName'));
  return kind === undefined ? undefined : { kind, price };
}

/** The meter of the disk itself: others of the SKU are for mounts of shared disks, bursting and operations. */
function diskPrice(item: Readonly<Record<string, unknown>>, sku: string, price: number): Hourly | undefined {
  const isDisk =
    /^1[/ ]Month$/.test(textOf(item, 'unitOfMeasure')) &&
    textOf(item, 'productName') === diskProductOf(sku) &&
    textOf(item, 'skuName') === sku &&
    /^\S+ (?:[LZ]RS )?Disks?$/.test(textOf(item, 'meterName'));
  return isDisk ? { kind: 'disk', price: Math.round((price / HOURS_OF_MONTH) * 1e6) / 1e6 } : undefined;
}

/** undefined: AKS nodes are not billed by this meter. */
function priceKindOf(skuName: string, productName: string): PriceKind | undefined {
  if (/low priority/i.test(skuName) || /cloud ?services/i.test(productName)) return undefined;
  const system = /\bwindows\b/i.test(productName) ? 'windows' : 'linux';
  return /\bspot\b/i.test(skuName) ? `${system}/spot` : system;
}

function textOf(item: Readonly<Record<string, unknown>>, key: string): string {
  const value = item[key];
  return typeof value === 'string' ? value : '';
}

interface RetailPriceClientDeps {
  readonly options: RetailPriceOptions;
  readonly location: string;
  readonly caPem: string | undefined;
  readonly timeoutMs: number;
  readonly clock: { now(): number; sleep(ms: number, signal: AbortSignal): Promise<void> };
}

/** The first version whose responses mark the region's own meters. */
const API_VERSION = '2023-01-01-preview';
/** A size has a few dozen meters; a longer list is taken to be circular. */
const MOST_PAGES = 20;

export class RetailPriceClient {
  readonly #deps: RetailPriceClientDeps;
  #inFlight = 0;

  constructor(deps: RetailPriceClientDeps) {
    this.#deps = deps;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Reads the prices of one size, or of one SKU of disks, in Azure's spelling: the filter is case-sensitive. @throws AutoscalerError `unavailable`,
   * `throttled` or `cancelled`; a missing or broken page never counts as an empty one.
   */
  async read(vmSize: string, signal: AbortSignal): Promise<SizePrices> {
    const { options, clock } = this.#deps;
    const items: unknown[] = [];
    const seen = new Set<string>();
    let url: string | undefined = this.#firstPage(vmSize);
    while (url !== undefined) {
      if (seen.has(url) || seen.size >= MOST_PAGES) throw unusableList('its pages do not end');
      seen.add(url);
      const page: Page = parsePage(await this.#get(url, signal));
      for (const item of page.items) items.push(item);
      url = page.next === undefined ? undefined : this.#onEndpoint(page.next);
    }
    return pricesOf(items, { vmSize, currency: options.currency }, clock.now());
  }

  #firstPage(vmSize: string): string {
    const { options, location } = this.#deps;
    const region = location.replaceAll(' ', '').toLowerCase();
    const equals = (field: string, value: string): string => `${field} eq '${value.replaceAll("'", "''")}'`;
    const product = diskProductOf(vmSize);
    const what =
      product === undefined
        ? [equals('serviceName', 'Virtual Machines'), equals('armSkuName', vmSize)]
        : [equals('serviceName', 'Storage'), equals('productName', product), equals('skuName', vmSize)];
    const filter = [...what, equals('armRegionName', region), equals('priceType', 'Consumption')].join(' and ');
    const query = new URLSearchParams({ 'api-version': API_VERSION, currencyCode: `'${options.currency}'`, $filter: filter });
    // Spaces as %20: a plus sign means a space only in forms.
    return `${options.endpoint}?${query.toString().replaceAll('+', '%20').replaceAll('%24filter', '$filter')}`;
  }

  /** Refuses links to another host. */
  #onEndpoint(next: string): string {
    const { endpoint } = this.#deps.options;
    const target = URL.canParse(next, endpoint) ? new URL(next, endpoint) : undefined;
    if (target?.origin !== new URL(endpoint).origin) throw unusableList('its next page is on another host');
    return target.href;
  }

  async #get(url: string, signal: AbortSignal): Promise<PipelineResponse> {
    const { caPem, clock, timeoutMs } = this.#deps;
    const pipeline = createEmptyPipeline();
    // HTTPS_PROXY and NO_PROXY, as for the calls to ARM.
    pipeline.addPolicy(proxyPolicy());
    if (caPem !== undefined) pipeline.addPolicy(tlsPolicy({ ca: caPem }));
    const [timeout, done] = [new AbortController(), new AbortController()];
    const timer = clock.sleep(timeoutMs, done.signal).then(
      () => timeout.abort(),
      // The clock rejects only for the cancellation below.
      () => undefined,
    );
    this.#inFlight += 1;
    try {
      const abortSignal = AbortSignal.any([signal, timeout.signal]);
      const request = createPipelineRequest({ url, method: 'GET', abortSignal });
      limitResponse(request, 'The price list');
      return checkStatus(await pipeline.sendRequest(createDefaultHttpClient(), request));
    } catch (thrown) {
      if (thrown instanceof AutoscalerError) throw thrown;
      if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'The read of prices was cancelled.', { cause: thrown });
      const why = timeout.signal.aborted ? `no response within ${timeoutMs / 1000} s` : messageOf(thrown).replace(/\.$/, '');
      throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The price list could not be read: ${why}.`, { cause: thrown });
    } finally {
      this.#inFlight -= 1;
      done.abort();
      await timer;
    }
  }
}

function checkStatus(response: PipelineResponse): PipelineResponse {
  if (response.status === 200) return response;
  const message = `The price list could not be read: it returned HTTP ${response.status}.`;
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  if (response.status !== 429) throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message);
  throw new AutoscalerError({ kind: 'throttled', retryAfterMs: seconds > 0 ? seconds * 1000 : undefined }, message);
}

interface Page {
  readonly items: readonly unknown[];
  readonly next: string | undefined;
}

function parsePage({ bodyAsText }: PipelineResponse): Page {
  const body = jsonOf(bodyAsText ?? '');
  if (!isRecord(body) || !Array.isArray(body['Items'])) throw unusableList('it is not a list of items');
  const next = body['NextPageLink'];
  const items: unknown[] = body['Items'];
  return { items, next: typeof next === 'string' && next !== '' ? next : undefined };
}

function unusableList(why: string): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The price list cannot be used: ${why}.`);
}
