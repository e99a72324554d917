import { describe, expect, it } from 'vitest';
import type { RunFigures } from '../../../src/lab/judge/run-figures.ts';
import { extentText, strengths, verdicts } from '../../../src/lab/report/verdict.ts';
import { aRun } from '../judge/builders.ts';
import { aReport } from './builders.ts';

const p95 = (p95Seconds: number, podSeconds = 6_000) => ({
  pending: { pods: 100, podSeconds, p50Seconds: 0, p95Seconds, maxSeconds: 200, unfinished: 0 },
});

describe('the verdict', () => {
  it.each<{ what: string; others: readonly Partial<RunFigures>[]; says: string }>([
    {
      what: 'cheaper for sure, waiting open, more evictions',
      others: [89, 88.9, 89.1, 89, 89].map((costPerDay, at) => ({ costPerDay, ...p95(at % 2 === 0 ? 92 : 87), evictions: 32 })),
      says: 'proposed costs 11.0 % less (sure); waiting is equal within the spread; 2 more evictions a day.',
    },
    {
      what: 'waiting for sure',
      others: [120, 121, 119].map((each) => ({ costPerDay: 100, ...p95(each) })),
      says: 'proposed costs the same; the slowest 5 % of pods wait 33.3 % longer (sure).',
    },
    {
      what: 'the sum of waits',
      others: [3_000, 3_100, 2_900].map((each) => p95(90, each)),
      says: 'proposed costs the same; pods wait 50.0 % less in sum (sure).',
    },
    { what: 'nothing', others: [{}, {}], says: 'proposed and current are equal: no figure differs in any of 2 seeds.' },
    { what: 'nothing in one seed', others: [{}], says: 'proposed and current are equal: no figure differs in the seed.' },
    {
      what: 'one seed',
      others: [{ costPerDay: 80, ...p95(100) }],
      says: 'proposed costs 20.0 % less (one seed, not sure); waiting cannot be judged by one seed.',
    },
    {
      what: 'a cost that goes both ways',
      others: [90, 110, 95].map((costPerDay) => ({ costPerDay })),
      says: 'proposed costs the same within the spread; waiting is the same.',
    },
    {
      what: 'unsafe writes and interrupted jobs',
      others: [1, 1, 1].map((violations) => ({ violations, jobs: { finished: 50, interrupted: 1 } })),
      says: 'proposed costs the same; waiting is the same; 1 fewer interrupted job a day; 1 more unsafe write a run.',
    },
  ])('says about $what: $says', ({ others, says }) => {
    expect(verdicts(aReport(others))).toEqual([says]);
  });

  it('has a sentence for each policy but the first', () => {
    const report = aReport([{}]);
    const alone = { ...report, comparison: { ...report.comparison, policies: ['current'] } };
    expect(verdicts(alone)).toEqual(['Only current ran; a second policy gives a comparison.']);
  });

  it('lists what is better, worse and open', () => {
    const others = [80, 81, 79].map((costPerDay, at) => ({ costPerDay, ...p95(120 + at), armCalls: 2_400 + (at - 1) * 100 }));
    expect(strengths(aReport(others))).toEqual([
      {
        policy: 'proposed',
        better: ['Cost, USD/day (-20.0 %)'],
        worse: ['Pending p95, s (+34.4 %)'],
        unsure: ['ARM calls, per hour'],
      },
    ]);
  });
});

describe('the extent', () => {
  it.each([
    { what: 'days', change: {}, says: '7 virtual days, 2 seeds, 0 violations in both' },
    {
      what: 'hours',
      change: { scenario: { name: 'x', what: 'x', startMs: 0, durationMs: 5_400_000, currency: 'USD' } },
      says: '90 virtual minutes, 2 seeds, 0 violations in both',
    },
    {
      what: 'more hours',
      change: { scenario: { name: 'x', what: 'x', startMs: 0, durationMs: 9_000_000, currency: 'USD' } },
      says: '2.5 virtual hours, 2 seeds, 0 violations in both',
    },
    { what: 'real time', change: { realTime: { speed: 1, minutes: 45 } }, says: '45 min in real time, 2 seeds, 0 violations in both' },
    {
      what: 'a faster world',
      change: { realTime: { speed: 5, minutes: 45 } },
      says: '45 min in real time, the world 5 times faster, 2 seeds, 0 violations in both',
    },
    {
      what: 'violations',
      change: { runs: [aRun('current', 1, { violations: 2 }), aRun('proposed', 1, {})] },
      says: '7 virtual days, 2 seeds, violations: current 2, proposed 0',
    },
  ])('of $what: $says', ({ change, says }) => {
    expect(extentText(aReport([{}, {}], change))).toBe(says);
  });
});
