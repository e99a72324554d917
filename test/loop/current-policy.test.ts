import { describe, expect, it } from 'vitest';
import type { PriceTableView } from '../../src/domain/quotas-and-prices.ts';
import { currentPolicy } from '../../src/loop/deps/current-policy.ts';
import { defined } from '../../src/lib/defined.ts';
import { aPolicy } from '../support/policy.ts';

const view = (part: Partial<PriceTableView> = {}): PriceTableView => ({ table: {}, remarks: [], ...part });
const listPrices = (prices: Readonly<Record<string, number>> | undefined, current: PriceTableView) =>
  currentPolicy(aPolicy({ scaleUp: defined({ prices }) }), { priorities: undefined, prices: { current: () => current } }, 0).scaleUp
    .listPrices;

describe('the list prices of a loop', () => {
  it('are those of this moment', () => {
    expect(listPrices(undefined, view())).toEqual(view());
    expect(listPrices(undefined, view({ onlyShown: true }))).toEqual(view({ onlyShown: true }));
  });

  it('that are read by default are left out beside configured prices, which may be in another currency', () => {
    expect(listPrices({ a: 1 }, view({ onlyShown: true }))).toBeUndefined();
    expect(listPrices({ a: 1 }, view())).toEqual(view());
  });
});
