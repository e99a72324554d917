/**
 * What an hour of a group's node costs. Everything that compares or shows money reads it here, so that the price in a text is the price that
 * was compared. Pure.
 */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { PriceSources } from '../../domain/policy.ts';

/** What of a group decides its price. */
type PricedGroup = Pick<NodeGroup, 'id' | 'vmSize' | 'priority' | 'template'>;

/**
 * Prices of the user precede list prices of Azure. A Spot node never has the regular price, which would be wrong. A Windows node
 * has the user's price of its size, unless the user states one for Windows.
 */
export function priceOf({ groupPrices, prices, listPrices }: PriceSources, group: PricedGroup): number | undefined {
  const size = group.vmSize.toLowerCase();
  const system = group.template?.labels['kubernetes.io/os'] === 'windows' ? 'windows' : 'linux';
  const spot = group.priority === 'Spot' ? '/spot' : '';
  const ofSystem = system === 'windows' ? own(prices, `${size}/windows${spot}`) : undefined;
  const stated = own(groupPrices, group.id) ?? ofSystem ?? own(prices, `${size}${spot}`);
  return stated ?? own(listPrices?.table, size)?.perHour[`${system}${spot}`];
}

/** The prices that decisions use: without those that are only shown. */
export function decisivePrices(prices: PriceSources): PriceSources {
  const { listPrices: _listPrices, ...stated } = prices;
  // guard: list prices that are read by default change no order of removals
  return prices.listPrices?.onlyShown === true ? stated : prices;
}

/** As users write it: `Standard_D4s_v5`, `Standard_D4s_v5/windows/spot`. */
export function pricedName({ vmSize, priority, template }: PricedGroup): string {
  const system = template?.labels['kubernetes.io/os'] === 'windows' ? '/windows' : '';
  return `${vmSize}${system}${priority === 'Spot' ? '/spot' : ''}`;
}

function own<Value>(table: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}
