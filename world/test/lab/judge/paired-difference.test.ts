import { describe, expect, it } from 'vitest';
import { comparePairs } from '../../../lab/judge/paired-difference.ts';

const pairs = (base: readonly number[], other: readonly number[]) => base.map((value, at) => ({ base: value, other: other[at]! }));

describe('paired differences', () => {
  it.each([
    { what: 'the same in every seed', base: [5, 7, 9], other: [5, 7, 9], verdict: 'equal', agreeing: 3, difference: 0 },
    {
      what: 'less in every seed, however far the seeds are apart',
      base: [100, 200, 300],
      other: [90, 188, 291],
      verdict: 'sure',
      agreeing: 3,
    },
    { what: 'more and less', base: [100, 100, 100, 100], other: [90, 111, 95, 108], verdict: 'within-spread', agreeing: 2 },
    { what: 'clearly more with one exception', base: [10, 10, 10, 10, 10], other: [14, 15, 13, 9.9, 14], verdict: 'sure', agreeing: 4 },
    { what: 'one seed', base: [100], other: [50], verdict: 'unknown', agreeing: 1, difference: -50 },
    { what: 'two seeds that differ by the same', base: [1, 2], other: [2, 3], verdict: 'sure', agreeing: 2 },
    { what: 'no seed', base: [], other: [], verdict: 'equal', agreeing: 0, difference: 0 },
    {
      what: 'one seed that differs from many that do not',
      base: [0, 0, 0, 0, 0],
      other: [0, 0, 0, 0, 3],
      verdict: 'within-spread',
      agreeing: 1,
    },
  ])('$what: $verdict, $agreeing agree', ({ base, other, verdict, agreeing, difference }) => {
    const found = comparePairs(pairs(base, other));
    expect({ verdict: found.verdict, agreeing: found.agreeing, seeds: found.seeds }).toEqual({ verdict, agreeing, seeds: base.length });
    if (difference !== undefined) expect(found.difference).toBe(difference);
  });

  it('has the interval of Student’s t', () => {
    // Differences 1, 2, 3: mean 2, standard deviation 1, t(2) = 4.303.
    const { interval } = comparePairs(pairs([0, 0, 0], [1, 2, 3]));
    expect(interval?.map((end) => Math.round(end * 1_000) / 1_000)).toEqual([-0.484, 4.484]);
    expect(comparePairs(pairs([1], [2])).interval).toBeUndefined();
  });
});
