/**
 * What an option costs against the work that it takes on. The ratio is the Cluster Autoscaler's (price of the nodes over
 * price of the pods, a small constant evening out small numbers); the price of a pod is what it would cost on the cheapest
 * of the options, so that no price has to be made up. Unlike there, how well the nodes' size suits the cluster only
 * decides between options of the same value: who states prices expects that the cheaper option is taken.
 */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { OptionCost, ScoredOption } from '../../domain/plan.ts';
import type { PriceSources } from '../../domain/policy.ts';
import { CPU, MEMORY, type Resources } from '../../domain/resources.ts';

/** How many GiB weigh as much as a core. A ratio to compare mixed requests by, close to what providers charge; no price. */
const GIB_PER_CORE = 7.5;
const GIB = 2 ** 30;
/** Half a core and 500 MiB: evens out options for very small pods. */
const SMALL_POD_WEIGHT = 0.5 + 500 / 1024 / GIB_PER_CORE;
/** Nodes with devices are for pods that ask for devices. */
const DEVICE_FACTOR = 1000;
/** With this many new nodes at once the size of one hardly matters any more. */
const MANY_NODES = 15;
/** Up to so many nodes in the cluster, nodes of so many cores are the right size. */
const RIGHT_CORES: readonly (readonly [number, number])[] = [
  [2, 1],
  [6, 2],
  [20, 4],
  [60, 8],
  [200, 16],
];
const RIGHT_CORES_BEYOND = 32;

/** Keeps the best value for money; ties are kept. An option without a price is not used while another has one. */
export function keepBestPriced(options: readonly ScoredOption[]): readonly ScoredOption[] {
  const priced = options.flatMap((option) => (option.cost === undefined ? [] : [{ option, cost: option.cost }]));
  if (priced.length === 0) return options;
  const unitPrice = priced.reduce((least, { cost }) => Math.min(least, cost.perHour / cost.nodeWeight), Number.POSITIVE_INFINITY);
  const scored = priced.map(({ option, cost }) => ({ option, score: scoreOf(cost, unitPrice), misfit: cost.misfit }));
  const cheapest = keepLeast(scored, ({ score }) => score);
  return keepLeast(cheapest, ({ misfit }) => misfit).map(({ option }) => option);
}

/** `unitPrice`: per hour and unit of weight. Zero when a node is free: then weights alone decide. */
function scoreOf(cost: OptionCost, unitPrice: number): number {
  const unit = unitPrice > 0 ? unitPrice : 1;
  const constant = unit * SMALL_POD_WEIGHT;
  const score = (cost.perHour + constant) / (unit * cost.podWeight + constant);
  return cost.hasDevices ? DEVICE_FACTOR * score : score;
}

/** Sums of prices in binary fractions: the last bits mean nothing. */
function keepLeast<Item>(items: readonly Item[], measure: (item: Item) => number): readonly Item[] {
  const least = items.reduce((best, item) => Math.min(best, measure(item)), Number.POSITIVE_INFINITY);
  return items.filter((item) => measure(item) <= least * (1 + 1e-9));
}

/** CPU and memory in cores' worth. */
export function weightOf(resources: Resources): number {
  return (resources[CPU] ?? 0) / 1000 + (resources[MEMORY] ?? 0) / GIB / GIB_PER_CORE;
}

/** 1 for nodes of the right size for a cluster of `clusterNodes`, more for bigger and smaller ones, less so for many of them. */
export function misfitOf(option: { readonly nodes: number; readonly nodeCores: number; readonly clusterNodes: number }): number {
  const right = RIGHT_CORES.find(([most]) => option.clusterNodes <= most)?.[1] ?? RIGHT_CORES_BEYOND;
  const unfit = Math.max(right / option.nodeCores, option.nodeCores / right);
  return (unfit - 1) * (1 - Math.tanh((option.nodes - 1) / MANY_NODES)) + 1;
}
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
