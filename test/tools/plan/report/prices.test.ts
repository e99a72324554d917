/** One price everywhere: what `plan` prints of an increase is what the expander compared. */
import { describe, expect, it } from 'vitest';
import type { ScaleUpPolicy } from '../../../../src/domain/policy.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { planReport } from '../../../../src/tools/plan/report/plan-report.ts';
import { aCluster, aGroup, anObservation, aPod, aTemplate, resourceNames, START_MS } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { aState } from '../../../support/state.ts';

const SIZES = [
  { vmSize: 'Standard_D4s_v5', cpu: '4', memory: '16Gi' },
  { vmSize: 'Standard_D8s_v5', cpu: '8', memory: '32Gi' },
  { vmSize: 'Standard_E4s_v5', cpu: '4', memory: '32Gi' },
];
const PENDING = { sinceMs: START_MS, message: 'Insufficient cpu' };
const groups = SIZES.flatMap(({ vmSize, ...size }) =>
  (['Regular', 'Spot'] as const).map((priority) =>
    aGroup({ id: `${vmSize}-${priority}`.toLowerCase(), vmSize, priority, target: 0, maxSize: 20, template: aTemplate(size) }),
  ),
);

function reportOf(scaleUp: Partial<ScaleUpPolicy>, pods: number) {
  const pending = Array.from({ length: pods }, (_, at) => aPod({ name: `p-${at}`, cpu: '3', memory: '6Gi', unschedulable: PENDING }));
  const observation = anObservation(groups, aCluster({ pods: pending }));
  return planReport({
    observation,
    state: aState(),
    policy: aPolicy({ scaleUp: { expanders: ['price'], ...scaleUp } }),
    names: resourceNames,
  });
}

function randomPrices(seed: number): Partial<ScaleUpPolicy> {
  const random = seededRandom(seed);
  const price = (most: number) => Math.round(random() * most * 1e6) / 1e6 + 0.01;
  const table = Object.fromEntries(
    SIZES.filter(() => random() < 0.9).map(({ vmSize }) => [
      vmSize.toLowerCase(),
      { perHour: { linux: price(1), ...(random() < 0.7 ? { 'linux/spot': price(0.5) } : {}) }, readAtMs: 0 },
    ]),
  );
  return {
    listPrices: { table, remarks: [] },
    priceDiscounts: random() < 0.5 ? [{ sizes: '*_d*', priority: 'Regular', percent: Math.floor(random() * 99) }] : [],
    paidNodes: random() < 0.5 ? [{ size: 'standard_d8s_v5', count: 1 + Math.floor(random() * 4) }] : [],
  };
}

describe('the price of an increase', () => {
  it('is the one that the expander compared, whatever the prices, discounts and paid nodes', () => {
    let compared = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const { scaleUp, pools } = reportOf(randomPrices(seed), 1 + (seed % 7));
      const [increase, ...more] = scaleUp.increases;
      const option = scaleUp.options.find(({ group }) => group === increase?.group);
      if (increase === undefined || more.length > 0 || option?.nodes !== increase.to - increase.from) continue;
      compared += 1;
      expect(increase.perHour, `seed ${seed}`).toBe(
        option.perHour === undefined ? undefined : Math.round(option.perHour * 10_000) / 10_000,
      );
      const { perHour } = pools.find(({ group }) => group === increase.group) ?? {};
      if (perHour !== undefined) expect(increase.perHour).toBeLessThanOrEqual(perHour * option.nodes + 1e-4);
    }
    expect(compared).toBeGreaterThan(40);
  });

  const prices = { standard_d4s_v5: 0.2, standard_d8s_v5: 0.5, standard_e4s_v5: 0.3 };
  it.each([
    ['nothing while nodes are paid', 2, 1, [['standard_d8s_v5-regular', 0]]],
    [
      'the price of the next size once they are used up',
      3,
      1,
      [
        ['standard_d4s_v5-regular', 0.2],
        ['standard_d8s_v5-regular', 0],
      ],
    ],
    ['the price without paid nodes', 1, 0, [['standard_d4s_v5-regular', 0.2]]],
  ] as const)('is %s', (_, pods, count, expected) => {
    const paidNodes = count === 0 ? [] : [{ size: 'standard_d8s_v5', count }];
    const { scaleUp } = reportOf({ prices, paidNodes, maxNodesPerScaleUp: 0 }, pods);
    expect(scaleUp.increases.map(({ group, perHour }) => [group, perHour])).toEqual(expected);
  });
});
