/**
 * What an option costs for the work that it does. The ratio is the Cluster Autoscaler's: the price of the nodes over the price
 * of the pods, with a small constant that evens out small numbers. The price of a pod is what it would cost on the cheapest of
 * the options, so that no price has to be invented. One difference: how well the nodes' size suits the cluster only decides
 * between options of the same value, since users who state prices expect the cheaper option.
 */
import type { OptionCost, ScoredOption } from '../../domain/plan.ts';
import { CPU, MEMORY, type Resources } from '../../domain/resources.ts';

/** How many GiB weigh as much as a core. It compares mixed requests and is close to what providers charge, but is not a price. */
const GIB_PER_CORE = 7.5;
const GIB = 2 ** 30;
/** Half a core and 500 MiB. Evens out options for very small pods. */
const SMALL_POD_WEIGHT = 0.5 + 500 / 1024 / GIB_PER_CORE;
/** Nodes with devices are for pods that request devices. */
const DEVICE_FACTOR = 1000;
/** With this many new nodes at once, the size of one node hardly matters. */
const MANY_NODES = 15;
/** Up to a number of nodes in the cluster, the number of cores of a node of the right size. */
const RIGHT_CORES: readonly (readonly [number, number])[] = [
  [2, 1],
  [6, 2],
  [20, 4],
  [60, 8],
  [200, 16],
];
const RIGHT_CORES_BEYOND = 32;

/** Keeps the best value for money, and ties. An option without a price is kept only if no option has one. */
export function keepBestPriced(options: readonly ScoredOption[]): readonly ScoredOption[] {
  const scores = priceScores(options);
  if (scores.size === 0) return options;
  const scored = [...scores].map(([option, score]) => ({ option, score, misfit: option.cost?.misfit ?? 0 }));
  const cheapest = keepLeast(scored, ({ score }) => score);
  return keepLeast(cheapest, ({ misfit }) => misfit).map(({ option }) => option);
}

/** What each option with a price costs for the work that it does; the least is best. */
export function priceScores(options: readonly ScoredOption[]): ReadonlyMap<ScoredOption, number> {
  const priced = options.flatMap((option) => (option.cost === undefined ? [] : [{ option, cost: option.cost }]));
  const unitPrice = priced.reduce((least, { cost }) => Math.min(least, cost.perHour / cost.nodeWeight), Number.POSITIVE_INFINITY);
  return new Map(priced.map(({ option, cost }) => [option, scoreOf(cost, unitPrice)]));
}

/** `unitPrice` is per hour and unit of weight. It is 0 if a node is free; then weights alone decide. */
function scoreOf(cost: OptionCost, unitPrice: number): number {
  const unit = unitPrice > 0 ? unitPrice : 1;
  const constant = unit * SMALL_POD_WEIGHT;
  const score = (cost.perHour + constant) / (unit * cost.podWeight + constant);
  return cost.hasDevices ? DEVICE_FACTOR * score : score;
}

/** Compares with a tolerance: the last bits of sums of prices mean nothing. */
function keepLeast<Item>(items: readonly Item[], measure: (item: Item) => number): readonly Item[] {
  const least = items.reduce((best, item) => Math.min(best, measure(item)), Number.POSITIVE_INFINITY);
  return items.filter((item) => measure(item) <= least * (1 + 1e-9));
}

/** CPU and memory, in cores. */
export function weightOf(resources: Resources): number {
  return (resources[CPU] ?? 0) / 1000 + (resources[MEMORY] ?? 0) / GIB / GIB_PER_CORE;
}

/** 1 for nodes of the right size for a cluster of `clusterNodes`; more for bigger and smaller nodes, but less so for many nodes. */
export function misfitOf(option: { readonly nodes: number; readonly nodeCores: number; readonly clusterNodes: number }): number {
  const right = RIGHT_CORES.find(([most]) => option.clusterNodes <= most)?.[1] ?? RIGHT_CORES_BEYOND;
  const unfit = Math.max(right / option.nodeCores, option.nodeCores / right);
  return (unfit - 1) * (1 - Math.tanh((option.nodes - 1) / MANY_NODES)) + 1;
}
