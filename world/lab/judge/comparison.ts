/** The figures of all runs side by side: the first policy is the base, every other one is compared with it seed by seed. Pure. */
import { comparePairs, type PairedDifference } from './paired-difference.ts';
import type { RunFigures, RunResult } from './run-figures.ts';

export type FigureKey =
  | 'costPerDay'
  | 'listPerDay'
  | 'discountedPerDay'
  | 'paidIdlePerDay'
  | 'pendingP50'
  | 'pendingP95'
  | 'pendingMax'
  | 'pendingPerDay'
  | 'evictionsPerDay'
  | 'movedTwicePerDay'
  | 'interruptedPerDay'
  | 'boughtPerDay'
  | 'removedPerDay'
  | 'shortLivedPerDay'
  | 'medianLife'
  | 'vcpuRatio'
  | 'armPerHour'
  | 'violations';

interface Figure {
  readonly key: FigureKey;
  /** With its unit. `$` stands for the currency. */
  readonly label: string;
  readonly of: (figures: RunFigures) => number;
  /** `percent`: the difference is shown as a share of the base. */
  readonly unit: 'percent' | 'count';
  /** Decimals of the values. */
  readonly decimals: number;
  /** Whether less is better. undefined: neither is. */
  readonly lessIsBetter: boolean | undefined;
  /** Whether a run has something to say in it. If absent, each has: else the row is left out if no run has. */
  readonly isTold?: (figures: RunFigures) => boolean;
}

const HOURS = 24;
function perDay(count: (figures: RunFigures) => number): (figures: RunFigures) => number {
  return (figures) => (figures.hours === 0 ? 0 : (count(figures) * HOURS) / figures.hours);
}

/** In the order of reports: harm first. */
export const FIGURES: readonly Figure[] = [
  { key: 'violations', label: 'Unsafe writes', of: ({ violations }) => violations, unit: 'count', decimals: 0, lessIsBetter: true },
  {
    key: 'interruptedPerDay',
    label: 'Interrupted jobs, per day',
    of: perDay(({ jobs }) => jobs.interrupted),
    unit: 'count',
    decimals: 0,
    lessIsBetter: true,
  },
  { key: 'costPerDay', label: 'Cost, $/day', of: ({ costPerDay }) => costPerDay, unit: 'percent', decimals: 1, lessIsBetter: true },
  {
    key: 'listPerDay',
    label: 'At list prices, $/day',
    of: ({ money }) => money.list,
    unit: 'percent',
    decimals: 1,
    lessIsBetter: undefined,
    isTold: ({ money, costPerDay }) => money.list !== costPerDay,
  },
  {
    key: 'discountedPerDay',
    label: 'By the contract, with paid nodes, $/day',
    of: ({ money }) => money.discounted,
    unit: 'percent',
    decimals: 1,
    lessIsBetter: undefined,
    isTold: ({ money, costPerDay }) => money.list !== costPerDay,
  },
  {
    key: 'paidIdlePerDay',
    label: 'Paid and idle, $/day',
    of: ({ money }) => money.paidIdle,
    unit: 'percent',
    decimals: 1,
    lessIsBetter: undefined,
    isTold: ({ money, costPerDay }) => money.paidIdle > 0 || money.discounted !== costPerDay,
  },
  { key: 'pendingP50', label: 'Pending p50, s', of: ({ pending }) => pending.p50Seconds, unit: 'percent', decimals: 0, lessIsBetter: true },
  { key: 'pendingP95', label: 'Pending p95, s', of: ({ pending }) => pending.p95Seconds, unit: 'percent', decimals: 0, lessIsBetter: true },
  {
    key: 'pendingMax',
    label: 'Longest wait, s',
    of: ({ pending }) => pending.maxSeconds,
    unit: 'percent',
    decimals: 0,
    lessIsBetter: true,
  },
  {
    key: 'pendingPerDay',
    label: 'Pending, pod-minutes per day',
    of: perDay(({ pending }) => pending.podSeconds / 60),
    unit: 'percent',
    decimals: 0,
    lessIsBetter: true,
  },
  {
    key: 'evictionsPerDay',
    label: 'Evictions, per day',
    of: perDay(({ evictions }) => evictions),
    unit: 'count',
    decimals: 0,
    lessIsBetter: true,
  },
  {
    key: 'movedTwicePerDay',
    label: 'Pods moved twice within an hour, per day',
    of: perDay(({ movedTwice }) => movedTwice),
    unit: 'count',
    decimals: 0,
    lessIsBetter: true,
  },
  {
    key: 'boughtPerDay',
    label: 'Nodes bought, per day',
    of: perDay(({ nodes }) => nodes.bought),
    unit: 'count',
    decimals: 0,
    lessIsBetter: undefined,
  },
  {
    key: 'removedPerDay',
    label: 'Nodes removed, per day',
    of: perDay(({ nodes }) => nodes.removed),
    unit: 'count',
    decimals: 0,
    lessIsBetter: undefined,
  },
  {
    key: 'shortLivedPerDay',
    label: 'Nodes removed within 20 min, per day',
    of: perDay(({ nodes }) => nodes.shortLived),
    unit: 'count',
    decimals: 0,
    lessIsBetter: true,
  },
  {
    key: 'medianLife',
    label: 'Median life of nodes that are gone, min',
    of: ({ nodes }) => nodes.medianLifeMinutes,
    unit: 'percent',
    decimals: 0,
    lessIsBetter: undefined,
  },
  {
    key: 'vcpuRatio',
    label: 'vCPU bought for each requested',
    of: ({ vcpuHours, requestedVcpuHours }) => (requestedVcpuHours === 0 ? 0 : vcpuHours / requestedVcpuHours),
    unit: 'percent',
    decimals: 2,
    lessIsBetter: true,
  },
  {
    key: 'armPerHour',
    label: 'ARM calls, per hour',
    of: ({ armCalls, hours }) => (hours === 0 ? 0 : armCalls / hours),
    unit: 'percent',
    decimals: 0,
    lessIsBetter: true,
  },
];

export interface ComparedFigure extends Omit<Figure, 'of' | 'isTold'> {
  /** Means over the seeds, in the order of the policies. */
  readonly values: readonly number[];
  /** For each policy but the first, in their order. */
  readonly differences: readonly PairedDifference[];
}

export interface Comparison {
  /** The base first. */
  readonly policies: readonly string[];
  readonly seeds: readonly number[];
  readonly figures: readonly ComparedFigure[];
}

/** Only seeds that every policy ran are compared. `policies`: at least one, the base first. */
export function compareRuns(policies: readonly string[], runs: readonly RunResult[]): Comparison {
  const byPolicy = new Map(policies.map((policy) => [policy, runsBySeed(runs.filter((run) => run.policy === policy))]));
  const seeds = [...(byPolicy.get(policies[0] ?? '')?.keys() ?? [])].filter((seed) =>
    policies.every((policy) => byPolicy.get(policy)?.has(seed) === true),
  );
  const told = FIGURES.filter(({ isTold }) => isTold === undefined || runs.some(({ figures }) => isTold(figures)));
  return { policies, seeds, figures: told.map((figure) => compareFigure(figure, { policies, seeds, byPolicy })) };
}

function runsBySeed(runs: readonly RunResult[]): ReadonlyMap<number, RunFigures> {
  return new Map(runs.toSorted((left, right) => left.seed - right.seed).map(({ seed, figures }) => [seed, figures]));
}

interface ComparisonInput {
  readonly policies: readonly string[];
  readonly seeds: readonly number[];
  readonly byPolicy: ReadonlyMap<string, ReadonlyMap<number, RunFigures>>;
}

function compareFigure({ of, isTold: _isTold, ...figure }: Figure, { policies, seeds, byPolicy }: ComparisonInput): ComparedFigure {
  const valuesOf = (policy: string): readonly number[] =>
    seeds.map((seed) => {
      const figures = byPolicy.get(policy)?.get(seed);
      return figures === undefined ? 0 : of(figures);
    });
  const [first = '', ...others] = policies;
  const base = valuesOf(first);
  const differences = others.map((policy) => {
    const other = valuesOf(policy);
    return comparePairs(base.map((value, at) => ({ base: value, other: other[at] ?? 0 })));
  });
  return {
    ...figure,
    values: [comparePairs(base.map((value) => ({ base: value, other: value }))).base, ...differences.map(({ other }) => other)],
    differences,
  };
}
