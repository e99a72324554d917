import { describe, expect, it } from 'vitest';
import { type Contract, NO_CONTRACT, PriceList } from '../../../lab/judge/price-list.ts';
import type { LoadPool } from '../../../lab/loads/load.ts';

const POOL: LoadPool = { name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 5, pricePerHour: 10 };
const POOLS: readonly LoadPool[] = [
  POOL,
  { ...POOL, name: 'system' },
  { ...POOL, name: 'spot', priority: 'Spot', pricePerHour: 2 },
  { ...POOL, name: 'large', vmSize: 'Standard_D16s_v5', pricePerHour: 40 },
];
const D4 = 'standard_d4s_v5';

function of(pools: readonly string[], contract: Partial<Contract> = {}) {
  const sizes = new Map(POOLS.map(({ name, vmSize }) => [name, vmSize]));
  const machines = pools.map((pool) => ({ pool, vmSize: sizes.get(pool) ?? '' }));
  return new PriceList({ pools: POOLS, events: [] }, { ...NO_CONTRACT, ...contract }).of(machines);
}

const tenth = { sizes: '*', percent: 10, priority: 'Regular' } as const;

describe('the money of VMs that run at the same time', () => {
  it.each([
    ['at list prices without a contract', {}, { list: 22, discounted: 22, bought: 22, paidIdle: 0 }],
    ['less a discount of regular nodes alone', { priceDiscounts: [tenth] }, { list: 22, discounted: 20, bought: 20, paidIdle: 0 }],
    [
      'with the price that is stated, which has no discount',
      { prices: { [D4]: 7 }, priceDiscounts: [tenth] },
      { list: 22, discounted: 16, bought: 16 },
    ],
    [
      'with one node paid, which a Spot node never uses',
      { paidNodes: [{ size: D4, count: 1 }] },
      { list: 22, discounted: 22, bought: 12, paidIdle: 0 },
    ],
    [
      'with more nodes paid than run, at the discounted price',
      { paidNodes: [{ size: D4, count: 5 }], priceDiscounts: [tenth] },
      { list: 22, discounted: 20, bought: 2, paidIdle: 27 },
    ],
    ['with a paid size that no node has', { paidNodes: [{ size: 'standard_d16s_v5', count: 1 }] }, { bought: 22, paidIdle: 40 }],
  ] satisfies readonly [string, Partial<Contract>, object][])('is counted %s', (_, contract, expected) => {
    expect(of(['general', 'system', 'spot'], contract)).toMatchObject(expected);
  });

  it('has the invented price of a paid size that no pool of the scenario has', () => {
    // 8 vCPU and 32 GiB.
    expect(of([], { paidNodes: [{ size: 'standard_d8s_v5', count: 2 }] }).paidIdle).toBeCloseTo(2 * (8 * 0.048 + 32 * 0.004), 9);
  });
});
