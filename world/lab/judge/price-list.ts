/**
 * What the VMs of a scenario cost: list prices of its pools, less what a contract takes off, and without the nodes that are paid already. Counted
 * by the code by which the daemon counts.
 */
import { NO_PRICES, type PriceSources } from '../../../src/domain/policy.ts';
import { idleCost, priceOf } from '../../../src/planning/expanders/node-price.ts';
import { coveredByPaid } from '../../../src/planning/facts/paid-nodes.ts';
import { linuxPricePerHour } from '../../simulator/arm/other/retail-prices.ts';
import { findVmSize } from '../../simulator/arm/state/vm-sizes.ts';
import type { SimulatedVm } from '../../simulator/base/vm-feed.ts';
import type { LoadPool, Scenario } from '../loads/load.ts';

/** What is known of the contract by which nodes are paid: settings of `scaleUp`, as the daemon reads them. */
export type Contract = Pick<PriceSources, 'prices' | 'priceDiscounts' | 'paidNodes'>;

/** List prices hold, and nothing is paid already. */
export const NO_CONTRACT: Contract = NO_PRICES;

/** Money per hour, in the currency of the scenario. */
export interface Money {
  /** All VMs at list prices. */
  readonly list: number;
  /** All VMs at the prices of the contract, those that are paid already included. */
  readonly discounted: number;
  /** The VMs that are not paid already, at the prices of the contract: what is to pay. */
  readonly bought: number;
  /** Paid already, and used by no VM. */
  readonly paidIdle: number;
}

type Priced = Pick<SimulatedVm, 'pool' | 'vmSize'>;

export class PriceList {
  readonly #pools = new Map<string, LoadPool>();
  readonly #contract: Contract;
  /** Prices by pool and size: neither changes within a run. */
  readonly #known = new Map<string, number>();

  constructor({ pools, events }: Pick<Scenario, 'pools' | 'events'>, contract: Contract = NO_CONTRACT) {
    this.#contract = contract;
    for (const pool of pools) this.#pools.set(pool.name, pool);
    for (const event of events)
      if (event.kind === 'pool') this.#pools.set(event.pool.name, { ...this.#pools.get(event.pool.name), ...event.pool });
  }

  /** Sentences about pools whose price the scenario does not have. */
  get notes(): readonly string[] {
    const unpriced = [...this.#pools.values()].filter(({ pricePerHour }) => pricePerHour === undefined).map(({ name }) => name);
    if (unpriced.length === 0) return [];
    return [`The scenario has no price of ${unpriced.join(', ')}: the invented price of the simulated list counts there.`];
  }

  /** What VMs that run at the same time cost together. */
  of(machines: readonly Priced[]): Money {
    const prices = machines.map((machine) => ({ list: this.#listPrice(machine), paid: this.#contractPrice(machine) }));
    const discounted = prices.reduce((sum, { paid }) => sum + paid, 0);
    const uses = this.#contract.paidNodes.map((paid) => this.#useOf(paid, machines));
    return {
      list: prices.reduce((sum, { list }) => sum + list, 0),
      discounted,
      bought: discounted - uses.reduce((sum, { coveredCost }) => sum + coveredCost, 0),
      paidIdle: uses.reduce((sum, { idle }) => sum + idle, 0),
    };
  }

  #useOf(paid: Contract['paidNodes'][number], machines: readonly Priced[]): { readonly coveredCost: number; readonly idle: number } {
    const regular = machines.filter((machine) => machine.vmSize.toLowerCase() === paid.size && !this.#isSpot(machine));
    const groups = [...Map.groupBy(regular, ({ pool }) => pool)].map(([id, { length }]) => ({ id, nodes: length }));
    const use = coveredByPaid(paid, groups, 0);
    const vmSize = findVmSize(paid.size)?.name ?? paid.size;
    const coveredCost = [...use.covered].reduce((sum, [pool, nodes]) => sum + nodes * this.#contractPrice({ pool, vmSize }), 0);
    const [known = ''] = [...this.#pools.values()].flatMap(({ name, vmSize: size, priority }) =>
      size.toLowerCase() === paid.size && priority !== 'Spot' ? [name] : [],
    );
    return { coveredCost, idle: idleCost(use, this.#sources({ pool: known, vmSize })) ?? 0 };
  }

  #isSpot({ pool }: Pick<Priced, 'pool'>): boolean {
    return this.#pools.get(pool)?.priority === 'Spot';
  }

  #contractPrice(machine: Priced): number {
    const key = `${machine.pool} ${machine.vmSize}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const price = this.#countPrice(machine);
    this.#known.set(key, price);
    return price;
  }

  #countPrice(machine: Priced): number {
    return priceOf(this.#sources(machine), { vmSize: machine.vmSize, priority: this.#isSpot(machine) ? 'Spot' : 'Regular' }) ?? 0;
  }

  #sources(machine: Priced): PriceSources {
    const perHour = { [this.#isSpot(machine) ? 'linux/spot' : 'linux']: this.#listPrice(machine) };
    const table = { [machine.vmSize.toLowerCase()]: { perHour, readAtMs: 0 } };
    return { ...NO_PRICES, ...this.#contract, listPrices: { table, remarks: [] } };
  }

  #listPrice({ pool, vmSize }: Priced): number {
    const known = this.#pools.get(pool);
    if (known?.pricePerHour !== undefined) return known.pricePerHour;
    const size = findVmSize(vmSize);
    return size === undefined ? 0 : linuxPricePerHour(size, known?.priority === 'Spot');
  }
}
