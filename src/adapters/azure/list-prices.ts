/** The public price list as this adapter reads it: a client of its own, and the book that keeps what it answers. */
import type { Clock } from '../../domain/clock.ts';
import type { KeptText } from '../../ports/kept-text.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AzureOptions } from './options.ts';
import { PriceBook } from './price-book.ts';
import { RetailPriceClient } from './retail-price-client.ts';

export interface ListPricesParts {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly log: Log;
  /** undefined: list prices are forgotten with the process. */
  readonly keptPrices?: KeptText | undefined;
}

export interface ListPrices {
  readonly book: PriceBook;
  /** Reads of prices under way. */
  readonly inFlight: () => number;
}

/** undefined: prices are not read. `sizes`: those in use, spelled as Azure does. */
export function listPrices(parts: ListPricesParts, sizes: () => readonly string[]): ListPrices | undefined {
  const { options, clock, log, keptPrices: kept } = parts;
  const { retailPrices, location, caPem, requestTimeoutMs: timeoutMs } = options;
  if (retailPrices === undefined) return undefined;
  const client = new RetailPriceClient({ options: retailPrices, location, caPem, timeoutMs, clock });
  const { currency, refreshMs } = retailPrices;
  const book = new PriceBook({
    scope: { location, currency },
    refreshMs,
    clock,
    log,
    read: (vmSize, signal) => client.read(vmSize, signal),
    sizes,
    kept,
  });
  return { book, inFlight: () => client.inFlight };
}
