/** List prices of the pools of a scenario. */
import { linuxPricePerHour } from '../../simulator/arm/other/retail-prices.ts';
import { findVmSize } from '../../simulator/arm/state/vm-sizes.ts';
import type { SimulatedVm } from '../../simulator/base/vm-feed.ts';
import type { LoadPool, Scenario } from '../loads/load.ts';

export class PriceList {
  readonly #pools = new Map<string, LoadPool>();

  constructor({ pools, events }: Scenario) {
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

  /** Of one VM, in the currency of the scenario. */
  perHour({ pool, vmSize }: Pick<SimulatedVm, 'pool' | 'vmSize'>): number {
    const known = this.#pools.get(pool);
    if (known?.pricePerHour !== undefined) return known.pricePerHour;
    const size = findVmSize(vmSize);
    return size === undefined ? 0 : linuxPricePerHour(size, known?.priority === 'Spot');
  }
}
