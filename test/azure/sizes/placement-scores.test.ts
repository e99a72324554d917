/** Azure's placement scores: the questions for the sizes of Spot pools, and what an answer says. */
import { describe, expect, it } from 'vitest';
import { PlacementScores } from '../../../src/azure/sizes/spot-placements.ts';
import { placementBody, placementQuestions, projectPlacements } from '../../../src/azure/sizes/placement-scores.ts';

const MINUTE = 60_000;
const places = (count: number, isZonal: boolean) => Array.from({ length: count }, (_, index) => ({ vmSize: `size${index}`, isZonal }));

describe('questions', () => {
  it.each([
    { what: 'no Spot pool', given: [], sizes: [] },
    { what: 'one size in two pools', given: [...places(1, true), ...places(1, true)], sizes: [['size0']] },
    {
      what: 'six sizes: Azure takes five at once',
      given: places(6, true),
      sizes: [['size0', 'size1', 'size2', 'size3', 'size4'], ['size5']],
    },
    { what: 'a zonal and a regional pool of a size', given: [...places(1, false), ...places(1, true)], sizes: [['size0'], ['size0']] },
  ])('$what', ({ given, sizes }) => expect(placementQuestions(given).map((each) => each.sizes)).toEqual(sizes));

  it('have the fields that Azure takes', () => {
    expect(placementBody({ sizes: ['Standard_D2_v2'], isZonal: true }, 'eastus2')).toEqual({
      desiredLocations: ['eastus2'],
      desiredSizes: [{ sku: 'Standard_D2_v2' }],
      desiredCount: 10,
      availabilityZones: true,
    });
  });
});

/** As Azure's CLI recorded it in July 2025, with other scores. */
const row = (zone: string | undefined, score: unknown, sku: unknown = 'Standard_D2_v2') => ({
  sku,
  region: 'eastus2',
  ...(zone === undefined ? {} : { availabilityZone: zone }),
  score,
  isQuotaAvailable: true,
});
const rowsOf = (...placementScores: readonly unknown[]) => projectPlacements({ placementScores });

describe('an answer', () => {
  it.each([
    ['High', 'High'],
    ['medium', 'Medium'],
    ['Low', 'Low'],
    ['RestrictedSkuNotAvailable', 'Restricted'],
    ['DataNotFoundOrStale', undefined],
    ['Excellent', undefined],
    [7, undefined],
  ])('%s', (score, known) => expect(rowsOf(row('1', score))).toEqual([{ vmSize: 'standard_d2_v2', zone: '1', score: known }]));

  it.each([[undefined], [null], ['text'], [{}], [{ placementScores: 'none' }], [{ placementScores: [null, 7, {}, row('1', 'High', 7)] }]])(
    'of another form has no rows: %j',
    (body) => expect(projectPlacements(body)).toEqual([]),
  );
});

describe('what is known of a pool', () => {
  const pool =
    (...zones: readonly string[]) =>
    () => ({ vmSize: 'Standard_D2_v2', zones });
  const known = new PlacementScores(() => []);
  known.keep(rowsOf(row('1', 'Low'), row('2', 'Medium'), row('3', 'DataNotFoundOrStale'), row(undefined, 'High')), 0);

  it.each([
    { what: 'its zone', pool: pool('1'), score: 'Low' },
    { what: 'the best of its zones', pool: pool('1', '2', '3'), score: 'Medium' },
    { what: 'a zone that Azure has no data of', pool: pool('3'), score: undefined },
    { what: 'the region, if it is not zonal', pool: pool(), score: 'High' },
    { what: 'nothing of a pool that is no Spot pool', pool: () => undefined, score: undefined },
  ])('$what', ({ pool: asked, score }) => expect(known.scoreOf(asked, MINUTE)).toBe(score));

  it('is forgotten after an hour, and after a clock that was set back as far', () => {
    expect([60, 61, -60, -61].map((minutes) => known.scoreOf(pool('1'), minutes * MINUTE))).toEqual(['Low', undefined, 'Low', undefined]);
  });

  it('ends with an answer that has no score any more', () => {
    const scores = new PlacementScores(() => []);
    scores.keep(rowsOf(row('1', 'High')), 0);
    scores.keep(rowsOf(row('1', 'DataNotFoundOrStale')), MINUTE);
    expect(scores.scoreOf(pool('1'), MINUTE)).toBeUndefined();
  });
});
