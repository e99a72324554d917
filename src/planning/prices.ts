/** What an hour of a group's node costs, from the first source that says so. Nothing is made up: a size may have no price. */
import type { NodeGroup } from '../domain/node-group.ts';
import type { ScaleUpPolicy } from '../domain/policy.ts';

export type PriceSources = Pick<ScaleUpPolicy, 'prices' | 'groupPrices' | 'listPrices'>;
type Priced = Pick<NodeGroup, 'id' | 'vmSize' | 'priority' | 'template'>;

/**
 * What the user states goes before what Azure lists. A spot node has a price of its own or none: the regular price would be
 * a wrong one. Of a Windows node the user's price of the size holds, unless there is one for Windows.
 */
export function priceOf({ groupPrices, prices, listPrices }: PriceSources, group: Priced): number | undefined {
  const size = group.vmSize.toLowerCase();
  const system = group.template?.labels['kubernetes.io/os'] === 'windows' ? 'windows' : 'linux';
  const spot = group.priority === 'Spot' ? '/spot' : '';
  const ofSystem = system === 'windows' ? own(prices, `${size}/windows${spot}`) : undefined;
  const stated = own(groupPrices, group.id) ?? ofSystem ?? own(prices, `${size}${spot}`);
  return stated ?? own(listPrices?.table, size)?.perHour[`${system}${spot}`];
}

/** As people write it: `Standard_D4s_v5`, `Standard_D4s_v5/windows/spot`. */
export function pricedName({ vmSize, priority, template }: Priced): string {
  const system = template?.labels['kubernetes.io/os'] === 'windows' ? '/windows' : '';
  return `${vmSize}${system}${priority === 'Spot' ? '/spot' : ''}`;
}

function own<Value>(table: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}
