/**
 * Reads the public price list, page by page. It needs no token and is not part of Resource Manager: it has its own
 * address, no budgets that answers tell, and its failures stop nobody.
 */
import {
  createDefaultHttpClient,
  createEmptyPipeline,
  createPipelineRequest,
  tlsPolicy,
  type PipelineResponse,
} from '@azure/core-rest-pipeline';
import { AutoscalerError } from '../../domain/errors.ts';
import type { SizePrices } from '../../domain/retail-prices.ts';
import { isRecord, jsonOf } from './arm-body.ts';
import { pricesOf } from './retail-items.ts';

export interface RetailPriceOptions {
  /** `https://prices.azure.com/api/retail/prices`, unless somebody else answers in its place. */
  readonly endpoint: string;
  /** Such as `USD`. */
  readonly currency: string;
  /** How long a read of one size is good for. */
  readonly refreshMs: number;
}

export interface RetailClientDependencies {
  readonly options: RetailPriceOptions;
  readonly location: string;
  readonly caPem: string | undefined;
  readonly timeoutMs: number;
  readonly clock: { now(): number; sleep(ms: number, signal: AbortSignal): Promise<void> };
}

/** The first version whose answers say which meters are the region's own. */
const API_VERSION = '2023-01-01-preview';
/** A size has a few dozen meters; a list without end is not one. */
const MOST_PAGES = 20;

export class RetailPriceClient {
  readonly #deps: RetailClientDependencies;
  #inFlight = 0;

  constructor(deps: RetailClientDependencies) {
    this.#deps = deps;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * The prices of one size, named as Azure spells it: the filter minds the case.
   * @throws AutoscalerError `unavailable`, `throttled` or `cancelled`; a page that is missing or broken is never an empty one.
   */
  async read(vmSize: string, signal: AbortSignal): Promise<SizePrices> {
    const { options, clock } = this.#deps;
    const items: unknown[] = [];
    const seen = new Set<string>();
    let url: string | undefined = this.#firstPage(vmSize);
    while (url !== undefined) {
      if (seen.has(url) || seen.size >= MOST_PAGES) throw broken('its pages do not end');
      seen.add(url);
      const page: Page = pageOf(await this.#get(url, signal));
      for (const item of page.items) items.push(item);
      url = page.next === undefined ? undefined : this.#onEndpoint(page.next);
    }
    return pricesOf(items, { vmSize, currency: options.currency }, clock.now());
  }

  #firstPage(vmSize: string): string {
    const { options, location } = this.#deps;
    const region = location.replaceAll(' ', '').toLowerCase();
    const is = (field: string, value: string): string => `${field} eq '${value.replaceAll("'", "''")}'`;
    const filter = [
      is('serviceName', 'Virtual Machines'),
      is('armRegionName', region),
      is('armSkuName', vmSize),
      is('priceType', 'Consumption'),
    ].join(' and ');
    const query = new URLSearchParams({ 'api-version': API_VERSION, currencyCode: `'${options.currency}'`, $filter: filter });
    // Spaces as %20: a plus is one only in forms.
    return `${options.endpoint}?${query.toString().replaceAll('+', '%20').replaceAll('%24filter', '$filter')}`;
  }

  /** A link to another host is not followed. */
  #onEndpoint(next: string): string {
    const { endpoint } = this.#deps.options;
    const target = URL.canParse(next, endpoint) ? new URL(next, endpoint) : undefined;
    if (target?.origin !== new URL(endpoint).origin) throw broken('its next page is on another host');
    return target.href;
  }

  async #get(url: string, signal: AbortSignal): Promise<PipelineResponse> {
    const { caPem, clock, timeoutMs } = this.#deps;
    const pipeline = createEmptyPipeline();
    if (caPem !== undefined) pipeline.addPolicy(tlsPolicy({ ca: caPem }));
    const [timeout, done] = [new AbortController(), new AbortController()];
    const timer = clock.sleep(timeoutMs, done.signal).then(
      () => timeout.abort(),
      // The only way a clock rejects is the cancellation below.
      () => undefined,
    );
    this.#inFlight += 1;
    try {
      const abortSignal = AbortSignal.any([signal, timeout.signal]);
      const request = createPipelineRequest({ url, method: 'GET', abortSignal });
      return refuseFailure(await pipeline.sendRequest(createDefaultHttpClient(), request));
    } catch (thrown) {
      if (thrown instanceof AutoscalerError) throw thrown;
      if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'The read of prices was cancelled.', { cause: thrown });
      const why = timeout.signal.aborted ? `no answer within ${timeoutMs / 1000} s` : messageOf(thrown);
      throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The price list could not be read: ${why}.`, { cause: thrown });
    } finally {
      this.#inFlight -= 1;
      done.abort();
      await timer;
    }
  }
}

function refuseFailure(answer: PipelineResponse): PipelineResponse {
  if (answer.status === 200) return answer;
  const message = `The price list could not be read: it answered ${answer.status}.`;
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  if (answer.status !== 429) throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message);
  throw new AutoscalerError({ kind: 'throttled', retryAfterMs: seconds > 0 ? seconds * 1000 : undefined }, message);
}

interface Page {
  readonly items: readonly unknown[];
  readonly next: string | undefined;
}

function pageOf({ bodyAsText }: PipelineResponse): Page {
  const body = jsonOf(bodyAsText ?? '');
  if (!isRecord(body) || !Array.isArray(body['Items'])) throw broken('it is not a list of items');
  const next = body['NextPageLink'];
  const items: unknown[] = body['Items'];
  return { items, next: typeof next === 'string' && next !== '' ? next : undefined };
}

function broken(why: string): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The price list cannot be used: ${why}.`);
}

function messageOf(thrown: unknown): string {
  return (thrown instanceof Error ? thrown.message : String(thrown)).replace(/\.$/, '');
}
