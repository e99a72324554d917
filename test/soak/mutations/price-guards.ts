/** Guards of money: which prices are read and shown, which ones decide, and what is paid for already. */
import type { GuardTable } from './guard.ts';

export const PRICE_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/config/load.test.ts',
    guards: [
      {
        title: 'the price list is not read by default with an Azure that is not the public cloud',
        row: 'the public price list',
        change: ['(url !== undefined || isPublicCloud)', 'true'],
      },
    ],
  },
  {
    test: 'test/contract/azure-retail-prices.test.ts',
    guards: [
      {
        title: 'a price list that is read by default is tried again only rarely',
        row: 'tried again only rarely',
        change: ['this.#deps.onlyShown === true', 'false'],
      },
    ],
  },
  {
    test: 'test/loop/current-policy.test.ts',
    quick: true,
    guards: [
      {
        title: 'list prices that are read by default are not mixed with configured prices',
        change: ['policy.scaleUp.prices !== undefined', 'false'],
      },
    ],
  },
  {
    test: 'test/planning/scale-down/plan.test.ts',
    quick: true,
    guards: [
      {
        title: 'list prices that are read by default change no order of removals',
        change: ['prices.listPrices?.onlyShown === true', 'false'],
      },
    ],
  },
  {
    test: 'test/planning/scale-up/packing/option-score.test.ts',
    quick: true,
    guards: [
      {
        title: 'list prices that are read by default separate no groups that are planned as one',
        change: ['decisivePrices(policy)', 'policy'],
      },
    ],
  },
  {
    test: 'test/azure/sizes/placement-scores.test.ts',
    quick: true,
    guards: [{ title: 'an old placement score counts as none', row: 'forgotten', change: [' && isValid(known.atMs, nowMs)', ''] }],
  },
  {
    test: 'test/planning/expanders/expander.test.ts',
    quick: true,
    guards: [{ title: 'an option without a placement score is not dropped for its placement', change: ['score === undefined || ', ''] }],
  },
  {
    test: 'test/planning/facts/paid-nodes.test.ts',
    quick: true,
    guards: ['a Spot node uses no paid node'],
  },
  {
    test: 'test/tools/plan/report/prices.test.ts',
    quick: true,
    guards: [
      { title: 'an option of paid nodes buys no others', change: ['free > 0', 'false'] },
      { title: 'two pools do not both use the same paid nodes', change: ['takePaid(paid, group, count)', 'paid'] },
    ],
  },
  {
    test: 'test/azure/view/cache-metrics.test.ts',
    quick: true,
    guards: [
      {
        title: 'a price list that is read by default and cannot be reached is one line of the log',
        change: ['!isKnown', 'true'],
      },
    ],
  },
];
