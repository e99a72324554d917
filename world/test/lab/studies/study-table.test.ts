import { describe, expect, it } from 'vitest';
import { median, studyFigures, studyProblems, type StudyResults, studyTable } from '../../../lab/studies/study-table.ts';
import { aRun } from '../judge/builders.ts';

type Change = Parameters<typeof aRun>[2];

const pairOf = (without: Change, turnedOn: Change) => ({ without: aRun('a', 1, without).figures, with: aRun('b', 1, turnedOn).figures });
const pending = (podSeconds: number) => ({ pods: 1, podSeconds, p50Seconds: 0, p95Seconds: 0, maxSeconds: 0, unfinished: 0 });
const resultsOf = (name: string, pairs: Parameters<typeof studyFigures>[0]): StudyResults => ({
  command: 'lab savings',
  seeds: [1, 2, 3],
  currency: 'USD',
  studies: [{ name, what: 'repacking', scenario: 'office-week', hours: 24, figures: studyFigures(pairs) }],
});

describe('the table of pairs of runs', () => {
  it('has medians of both sides, and of the differences of the seeds, with their least and most', () => {
    const results = resultsOf('repack', [
      pairOf({ costPerDay: 100, evictions: 3 }, { costPerDay: 90, evictions: 10 }),
      pairOf({ costPerDay: 120, evictions: 5 }, { costPerDay: 96, evictions: 8 }),
      pairOf({ costPerDay: 90, evictions: 4 }, { costPerDay: 91, evictions: 9 }),
    ]);
    expect(studyTable(results).at(-1)).toBe(
      '| repacking | office-week, 24 h, 3 seeds | 100 → 91: -10.0 % (-24.0 to +1.0) | 100, the same | 4 → 9 (+3 to +7) | 0, the same | 2, the same | 120, the same |',
    );
  });

  it('has no percentage of nothing', () => {
    const results = resultsOf('prices', [pairOf({ pending: pending(0) }, { pending: pending(120) })]);
    expect(studyTable(results).at(-1)).toContain('| 0 → 2 |');
  });

  it('takes the mean of the two in the middle for an even number of seeds', () => {
    expect([median([]), median([3]), median([4, 1, 2, 3])]).toEqual([0, 3, 2.5]);
  });
});

describe('what no run may do', () => {
  it.each<[string, string, Change, readonly string[]]>([
    ['nothing', 'repack', {}, []],
    ['an unsafe write', 'prices', { violations: 1 }, ['prices: 1 unsafe writes']],
    ['pods moved twice by repacking', 'repack', { movedTwice: 2 }, ['repack: 2 pods a day were moved twice within an hour']],
    ['pods moved twice without repacking', 'waves', { movedTwice: 2 }, []],
    ['a little more pending', 'repack', { pending: pending(6_500) }, []],
    ['a tenth more pending', 'repack', { pending: pending(6_700) }, ['repack: +12 pod-minutes a day more pending, 100 without']],
  ])('%s', (_, name, turnedOn, problems) => {
    expect(studyProblems(resultsOf(name, [pairOf({}, turnedOn)]))).toEqual(problems);
  });

  it.each([
    ['a little more in each of five days', [6_100, 6_200, 6_100, 6_300, 6_100], ['repack: +2 pod-minutes a day more pending, 100 without']],
    ['a little more in four of five', [6_100, 6_200, 5_900, 6_300, 6_100], []],
  ])('pending pods: %s', (_, days, problems) => {
    expect(
      studyProblems(
        resultsOf(
          'repack',
          days.map((seconds) => pairOf({ pending: pending(6_000) }, { pending: pending(seconds) })),
        ),
      ),
    ).toEqual(problems);
  });
});
