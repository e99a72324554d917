/**
 * Azure's public price list: whether it is read, from where, and in which currency. A default that reaches one more host is a fallback (as
 * `azure.caFile` and the discovery by tags are): it holds only where nothing else is configured, and it decides nothing.
 */
import * as z from 'zod';
import { duration, endpoint, HOUR_MS, MINUTE_MS, text } from './value-types.ts';
import { defined } from '../../lib/defined.ts';

const CURRENCY_ACCEPTS = 'a currency of three letters, such as USD';
const ENABLED_ACCEPTS = 'true, false or auto';
const PRICE_LIST = 'https://prices.azure.com/api/retail/prices';

/**
 * `true`: prices are read, and decide between pools. `auto`: prices are read where that is certain to be the right list, and are only shown.
 */
export const retailPrices = z
  .strictObject({
    enabled: z.union([z.boolean(), z.literal('auto')], { error: ENABLED_ACCEPTS }).default('auto'),
    endpoint: endpoint().optional(),
    currency: z
      .string({ error: CURRENCY_ACCEPTS })
      .regex(/^[A-Z]{3}$/, { error: CURRENCY_ACCEPTS })
      .default('USD'),
    file: text('a file path').optional(),
    refresh: duration(24 * HOUR_MS, { leastMs: MINUTE_MS }),
  })
  .prefault({});

/** How the public price list is read. */
export interface RetailPricesConfig {
  readonly endpoint: string;
  /** Three letters. */
  readonly currency: string;
  /** Stores the last prices for later processes. */
  readonly file: string | undefined;
  readonly refreshMs: number;
  /** Present if `auto` turned it on: prices are shown, and decide nothing. */
  readonly byDefault?: true;
}

interface Given {
  readonly retailPrices: z.infer<typeof retailPrices>;
  /** The chosen chain. */
  readonly expanders: readonly string[];
  readonly prices?: object | undefined;
}

/**
 * undefined: the list is not read. `auto` reads it for a chain that names `price`, and else where no prices are configured and either the
 * endpoint is, or Azure is the public cloud: lists of other clouds are elsewhere, and an imitated Azure must not reach the real list.
 */
export function priceListOf({ retailPrices: given, expanders, prices }: Given, isPublicCloud: boolean): RetailPricesConfig | undefined {
  const { enabled, endpoint: url, currency, file, refresh: refreshMs } = given;
  const decides = enabled === true || (enabled === 'auto' && prices === undefined && expanders.includes('price'));
  // guard: the price list is not read by default with an Azure that is not the public cloud
  const isShown = enabled === 'auto' && prices === undefined && (url !== undefined || isPublicCloud);
  if (!decides && !isShown) return undefined;
  return { endpoint: url ?? PRICE_LIST, currency, file, refreshMs, ...defined({ byDefault: decides ? undefined : (true as const) }) };
}
