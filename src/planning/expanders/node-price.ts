/**
 * What an hour of a group's node costs: a price is read through the port of list prices (`quotas-and-prices.ts`), and a discount is a function
 * over it. Everything that compares or shows money reads it here, so that the price in a text is the price that
 * was compared. Pure.
 */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { PriceSources } from '../../domain/policy.ts';
import { matchesGlob } from '../../lib/glob.ts';
import { paidUses, type PaidUse, type Seen } from '../facts/paid-nodes.ts';

/** What of a group decides its price. */
type PricedGroup = Pick<NodeGroup, 'vmSize' | 'priority'> & Partial<Pick<NodeGroup, 'id' | 'template'>>;

/** The price of a node, and how it came about. */
export interface NodePrice {
  /** In the currency of the prices. */
  readonly perHour: number;
  /** What the configuration takes off the list price. Absent if the price is not a list price, or nothing is taken off. */
  readonly discount?: { readonly listPerHour: number; readonly percent: number };
}

/**
 * Prices of the user precede list prices of Azure, less the configured discount. A Spot node never has the regular price, which would be
 * wrong. A Windows node has the user's price of its size, unless the user states one for Windows. undefined: the price is unknown.
 */
export function nodePrice({ groupPrices, prices, listPrices, priceDiscounts }: PriceSources, group: PricedGroup): NodePrice | undefined {
  const size = group.vmSize.toLowerCase();
  const system = group.template?.labels['kubernetes.io/os'] === 'windows' ? 'windows' : 'linux';
  const spot = group.priority === 'Spot' ? '/spot' : '';
  const ofSystem = system === 'windows' ? own(prices, `${size}/windows${spot}`) : undefined;
  const stated = own(groupPrices, group.id ?? '') ?? ofSystem ?? own(prices, `${size}${spot}`);
  if (stated !== undefined) return { perHour: stated };
  const listPerHour = own(listPrices?.table, size)?.perHour[`${system}${spot}`];
  if (listPerHour === undefined) return undefined;
  const discount = priceDiscounts.find(({ sizes, priority }) => priority === group.priority && matchesGlob(sizes, size));
  if (discount === undefined || discount.percent === 0) return { perHour: listPerHour };
  return { perHour: discounted(listPerHour, discount.percent), discount: { listPerHour, percent: discount.percent } };
}

/** What the disk of a stopped instance costs per hour, by its SKU (`P10 LRS`). Discounts are of VM sizes. undefined: the price is unknown. */
export function diskPrice({ prices, listPrices }: PriceSources, sku: string | undefined): number | undefined {
  const name = sku?.toLowerCase() ?? '';
  return own(prices, name) ?? own(listPrices?.table, name)?.perHour.disk;
}

/** The price alone. */
export function priceOf(prices: PriceSources, group: PricedGroup): number | undefined {
  return nodePrice(prices, group)?.perHour;
}

/** List prices have six digits after the point; so have discounted ones. */
function discounted(listPerHour: number, percent: number): number {
  return Math.round(listPerHour * (100 - percent) * 1e4) / 1e6;
}

/** The prices that decisions use: without those that are only shown. */
export function decisivePrices(prices: PriceSources): PriceSources {
  // guard: list prices that are read by default change no order of removals
  return prices.listPrices?.onlyShown === true ? { ...prices, listPrices: undefined } : prices;
}

/**
 * What each removal saves per hour, in this order: a removal saves nothing once all nodes of a size that are left are paid. undefined: the price
 * is unknown.
 */
export function savedByRemovals(removed: readonly PricedGroup[], prices: PriceSources, observation: Seen): readonly (number | undefined)[] {
  const bought = new Map(paidUses(prices.paidNodes, observation).map(({ size, count, running }) => [size, running - count]));
  return removed.map((group) => {
    const size = group.vmSize.toLowerCase();
    const left = group.priority === 'Spot' ? undefined : bought.get(size);
    if (left === undefined) return priceOf(prices, group);
    bought.set(size, left - 1);
    return left > 0 ? priceOf(prices, group) : 0;
  });
}

/** What idle paid nodes cost per hour, at the price of a Linux node. undefined: the size has no price. */
export function idleCost({ size, idle }: Pick<PaidUse, 'size' | 'idle'>, prices: PriceSources): number | undefined {
  const price = priceOf(prices, { vmSize: size, priority: 'Regular' });
  return price === undefined ? undefined : idle * price;
}

/** As users write it: `Standard_D4s_v5`, `Standard_D4s_v5/windows/spot`. */
export function pricedName({ vmSize, priority, template }: PricedGroup): string {
  const system = template?.labels['kubernetes.io/os'] === 'windows' ? '/windows' : '';
  return `${vmSize}${system}${priority === 'Spot' ? '/spot' : ''}`;
}

function own<Value>(table: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}
