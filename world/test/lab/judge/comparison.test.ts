import { describe, expect, it } from 'vitest';
import { compareRuns } from '../../../lab/judge/comparison.ts';
import { aRun } from './builders.ts';

describe('the comparison of runs', () => {
  it('compares seed by seed with the first policy, whatever the order of the runs', () => {
    const runs = [
      aRun('b', 2, { costPerDay: 180 }),
      aRun('a', 1, { costPerDay: 100 }),
      aRun('b', 1, { costPerDay: 90 }),
      aRun('a', 2, { costPerDay: 200 }),
    ];
    const { seeds, figures } = compareRuns(['a', 'b'], runs);
    expect(seeds).toEqual([1, 2]);
    const cost = figures.find(({ key }) => key === 'costPerDay');
    expect(cost).toMatchObject({ values: [150, 135], differences: [{ difference: -15, agreeing: 2, seeds: 2 }] });
  });

  it('leaves out a seed that a policy did not run', () => {
    const { seeds } = compareRuns(['a', 'b'], [aRun('a', 1, {}), aRun('a', 2, {}), aRun('b', 2, {})]);
    expect(seeds).toEqual([2]);
  });

  it.each([
    { key: 'evictionsPerDay', value: 12 },
    { key: 'armPerHour', value: 5 },
    { key: 'vcpuRatio', value: 1.5 },
    { key: 'boughtPerDay', value: 4 },
    { key: 'pendingPerDay', value: 20 },
  ])('$key is $value for a run of 12 hours', ({ key, value }) => {
    const run = aRun('a', 1, {
      hours: 12,
      evictions: 6,
      armCalls: 60,
      vcpuHours: 30,
      requestedVcpuHours: 20,
      nodes: { bought: 2, removed: 1, shortLived: 0, medianLifeMinutes: 50 },
      pending: { pods: 4, podSeconds: 600, p50Seconds: 0, p95Seconds: 90, maxSeconds: 100, unfinished: 0 },
    });
    expect(compareRuns(['a'], [run]).figures.find((figure) => figure.key === key)?.values).toEqual([value]);
  });

  it('has the parts of the money only where a contract makes them differ', () => {
    const keys = (change: Parameters<typeof aRun>[2]) =>
      compareRuns(['a', 'b'], [aRun('a', 1, {}), aRun('b', 1, change)]).figures.flatMap(({ key }) => (key.endsWith('PerDay') ? [key] : []));
    const money = ['listPerDay', 'discountedPerDay', 'paidIdlePerDay'];
    expect(keys({ costPerDay: 80 }).filter((key) => money.includes(key))).toEqual([]);
    expect(keys({ costPerDay: 80, money: { list: 100, discounted: 80, paidIdle: 0 } }).filter((key) => money.includes(key))).toEqual(
      money.slice(0, 2),
    );
    expect(keys({ costPerDay: 60, money: { list: 100, discounted: 80, paidIdle: 5 } }).filter((key) => money.includes(key))).toEqual(money);
  });

  it('finds no difference between a policy and itself', () => {
    const runs = [1, 2, 3].flatMap((seed) => ['a', 'b'].map((policy) => aRun(policy, seed, { costPerDay: 100 + seed, armCalls: seed })));
    const verdicts = compareRuns(['a', 'b'], runs).figures.flatMap(({ differences }) => differences.map(({ verdict }) => verdict));
    expect(new Set(verdicts)).toEqual(new Set(['equal']));
  });
});
