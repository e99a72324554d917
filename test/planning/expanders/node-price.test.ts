import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import { NO_PRICES, type PriceSources } from '../../../src/domain/policy.ts';
import { nodePrice } from '../../../src/planning/expanders/node-price.ts';
import { describeDiscount } from '../../../src/planning/explain/amounts.ts';
import { aGroup } from '../../support/builders.ts';

const D4 = 'Standard_D4s_v5';
const listPrices: PriceSources['listPrices'] = {
  table: {
    standard_d4s_v5: { perHour: { linux: 0.27, 'linux/spot': 0.05 }, readAtMs: 0 },
    standard_e4s_v5: { perHour: { 'linux/spot': 1 }, readAtMs: 0 },
  },
  remarks: [],
};
const group = (part: Partial<NodeGroup> = {}) => ({ ...aGroup({ id: 'a', vmSize: D4 }), ...part });
const off = (sizes: string, percent: number, priority: 'Regular' | 'Spot' = 'Regular') => ({ sizes, percent, priority });
const thirty = { listPerHour: 0.27, percent: 30 };

describe('the price of a node', () => {
  it.each<[string, Partial<PriceSources>, Partial<NodeGroup>, unknown]>([
    ['is the list price without a discount', { listPrices }, {}, { perHour: 0.27 }],
    [
      'is less by the discount of its size',
      { listPrices, priceDiscounts: [off('standard_d4s_v5', 30)] },
      {},
      { perHour: 0.189, discount: thirty },
    ],
    [
      'is less by the discount of its family',
      { listPrices, priceDiscounts: [off('standard_d*s_v5', 30)] },
      {},
      { perHour: 0.189, discount: thirty },
    ],
    ['is less by the discount of all', { listPrices, priceDiscounts: [off('*', 30)] }, {}, { perHour: 0.189, discount: thirty }],
    [
      'takes the first discount that matches',
      { listPrices, priceDiscounts: [off('*_e4*', 9), off('*', 30), off('*', 50)] },
      {},
      { perHour: 0.189, discount: thirty },
    ],
    ['is not less by a discount of another size', { listPrices, priceDiscounts: [off('standard_d4s', 30)] }, {}, { perHour: 0.27 }],
    [
      'of Spot is not less by a discount of regular nodes',
      { listPrices, priceDiscounts: [off('*', 30)] },
      { priority: 'Spot' },
      { perHour: 0.05 },
    ],
    [
      'of Spot is less by its own discount',
      { listPrices, priceDiscounts: [off('*', 10, 'Spot')] },
      { priority: 'Spot' },
      { perHour: 0.045, discount: { listPerHour: 0.05, percent: 10 } },
    ],
    [
      'that is configured is paid as it is',
      { listPrices, prices: { standard_d4s_v5: 0.2 }, priceDiscounts: [off('*', 30)] },
      {},
      { perHour: 0.2 },
    ],
    [
      'of a size that is sold as Spot alone is unknown',
      { listPrices, priceDiscounts: [off('*', 30)] },
      { vmSize: 'Standard_E4s_v5' },
      undefined,
    ],
    ['of an unlisted size is unknown', { listPrices, priceDiscounts: [off('*', 30)] }, { vmSize: 'constructor' }, undefined],
  ])('%s', (_, prices, part, expected) => {
    expect(nodePrice({ ...NO_PRICES, ...prices }, group(part))).toEqual(expected);
  });
});

describe('a discount in a text', () => {
  it('names the list price and what is taken off', () => {
    expect(describeDiscount(thirty)).toBe(': list price 0.27, 30 % off by configuration');
    expect(describeDiscount(undefined)).toBe('');
  });
});
