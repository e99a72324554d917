import { describe, expect, it } from 'vitest';
import type { RunFigures } from '../../../lab/judge/run-figures.ts';
import { extentText, strengths, verdicts } from '../../../lab/report/verdict.ts';
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
      says: 'proposed compared with current: 11.0 % less cost (sure, 5 of 5 seeds); no sure difference in waiting; 2 more evictions a day (sure, 5 of 5 seeds).',
    },
    {
      what: 'waiting for sure',
      others: [120, 121, 119].map((each) => ({ costPerDay: 100, ...p95(each) })),
      says: 'proposed compared with current: the same cost; 95 % of pods wait at most 120 s instead of 90 s (sure, 3 of 3 seeds).',
    },
    {
      what: 'the sum of waits',
      others: [3_000, 3_100, 2_900].map((each) => p95(90, each)),
      says: 'proposed compared with current: the same cost; 50.0 % less waiting in sum (sure, 3 of 3 seeds).',
    },
    { what: 'nothing', others: [{}, {}], says: 'No difference shown: proposed and current have the same figures in each of 2 seeds.' },
    {
      what: 'nothing in one seed',
      others: [{}],
      says: 'No difference shown: proposed and current have the same figures in the one seed that ran.',
    },
    {
      what: 'one seed',
      others: [{ costPerDay: 80, ...p95(100) }],
      says: 'One seed ran, so nothing is sure. proposed compared with current: 20.0 % less cost; 95 % of pods wait at most 100 s instead of 90 s.',
    },
    {
      what: 'a cost that goes both ways',
      others: [90, 110, 95].map((costPerDay) => ({ costPerDay })),
      says: 'proposed compared with current: no sure difference in cost (1.7 % less on average); the same waiting.',
    },
    {
      what: 'unsafe writes and interrupted jobs first',
      others: [1, 1, 1].map((violations) => ({ violations, costPerDay: 90, jobs: { finished: 50, interrupted: 5 } })),
      says: 'proposed compared with current: 1 unsafe writes a run instead of 0 (sure, 3 of 3 seeds); 3 more interrupted jobs a day (sure, 3 of 3 seeds); 10.0 % less cost (sure, 3 of 3 seeds); the same waiting.',
    },
    {
      what: 'a single unsafe write, although the seeds do not agree',
      others: [1, 0, 0].map((violations) => ({ violations })),
      says: 'proposed compared with current: 0.3 unsafe writes a run instead of 0; the same cost; the same waiting.',
    },
    {
      what: 'interrupted jobs that differ by chance',
      others: [1, 4, 2].map((interrupted) => ({ jobs: { finished: 50, interrupted } })),
      says: 'proposed compared with current: no sure difference in interrupted jobs; the same cost; the same waiting.',
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
    { what: 'days', change: {}, says: '7 virtual days, 2 seeds, 0 unsafe writes in both' },
    {
      what: 'hours',
      change: { scenario: { name: 'x', what: 'x', startMs: 0, durationMs: 5_400_000, currency: 'USD' } },
      says: '90 virtual minutes, 2 seeds, 0 unsafe writes in both',
    },
    {
      what: 'more hours',
      change: { scenario: { name: 'x', what: 'x', startMs: 0, durationMs: 9_000_000, currency: 'USD' } },
      says: '2.5 virtual hours, 2 seeds, 0 unsafe writes in both',
    },
    { what: 'real time', change: { realTime: { speed: 1, minutes: 45 } }, says: '45 min in real time, 2 seeds, 0 unsafe writes in both' },
    {
      what: 'a faster world',
      change: { realTime: { speed: 5, minutes: 45 } },
      says: '45 min in real time, the world 5 times faster, 2 seeds, 0 unsafe writes in both',
    },
    {
      what: 'violations',
      change: { runs: [aRun('current', 1, { violations: 2 }), aRun('proposed', 1, {})] },
      says: '7 virtual days, 2 seeds, unsafe writes: current 2, proposed 0',
    },
  ])('of $what: $says', ({ change, says }) => {
    expect(extentText(aReport([{}, {}], change))).toBe(says);
  });
});
