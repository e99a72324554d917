/** Whether the public price list can be read. It is never a failure: without prices, only costs are unknown. */
import type { DiagnosedPools } from './azure/pool-diagnosis.ts';
import { RetailPriceClient } from '../../azure/prices/retail-prices-api.ts';
import type { Config } from '../../config/types/config.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { ok, warning, type Check } from './check.ts';

/** A list that does not answer must not take the time of the other checks. */
const MOST_MS = 10_000;

/** Reads the price of one size of the pools. Empty if the list is not configured. @throws AutoscalerError `cancelled` */
export async function priceChecks(
  azure: Config['azure'],
  { pools }: DiagnosedPools,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const { retailPrices, location = '', caPem, requestTimeoutMs } = azure;
  const [pool] = pools;
  if (retailPrices === undefined || pool === undefined) return [];
  const timeoutMs = Math.min(requestTimeoutMs, MOST_MS);
  const client = new RetailPriceClient({ options: retailPrices, location, caPem, timeoutMs, clock });
  try {
    const { perHour } = await client.read(pool.vmSize, signal);
    const price = perHour.linux === undefined ? 'lists no price of' : `lists ${perHour.linux} ${retailPrices.currency} an hour for`;
    return [ok('prices', `${retailPrices.endpoint} ${price} ${pool.vmSize}`)];
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    const effect =
      retailPrices.byDefault === true ? 'costs are unknown, and decisions are the same' : 'the price expander has no list prices';
    return [
      warning('prices', `not reachable: ${error.message} Until it is, ${effect}; scaleUp.retailPrices.enabled: false stops the calls`),
    ];
  }
}
