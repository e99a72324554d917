/** What the plots show: for each policy the mean over its seeds, and the lowest and highest seed. Pure. */
import type { RunResult, RunSample } from '../judge/run-figures.ts';
import { round } from '../judge/pod-waits.ts';
import type { LabReport } from './lab-report.ts';

export interface Band {
  readonly mean: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

export interface PolicyPlots {
  readonly name: string;
  readonly cost: Band;
  readonly nodes: Band;
  readonly pending: Band;
  readonly vcpus: Band;
  readonly requested: Band;
  /** Mean number of nodes by pool. */
  readonly pools: Readonly<Record<string, readonly number[]>>;
  /** Seconds that 0 %, 1 %, ... 100 % of the pods waited at most; means of the seeds. */
  readonly waits: readonly number[];
}

export interface PlotData {
  readonly currency: string;
  /** Seconds since the epoch, as the plots count them. */
  readonly times: readonly number[];
  readonly policies: readonly PolicyPlots[];
}

export function plotData({ scenario, comparison, runs }: Pick<LabReport, 'scenario' | 'comparison' | 'runs'>): PlotData {
  const byPolicy = comparison.policies.map((name) => ({ name, runs: runs.filter((run) => run.policy === name) }));
  const longest = runs
    .map(({ samples }) => samples)
    .reduce<readonly RunSample[]>((best, each) => (each.length > best.length ? each : best), []);
  return {
    currency: scenario.currency,
    times: longest.map(({ atMs }) => (scenario.startMs + atMs) / 1_000),
    policies: byPolicy.map((policy) => policyPlots(policy, longest.length)),
  };
}

function policyPlots({ name, runs }: { readonly name: string; readonly runs: readonly RunResult[] }, length: number): PolicyPlots {
  const band = (of: (sample: RunSample) => number): Band => bandOf(runs, length, of);
  const pools = [...new Set(runs.flatMap(({ samples }) => samples.flatMap(({ nodes }) => Object.keys(nodes))))].sort();
  return {
    name,
    cost: band(({ costPerHour }) => costPerHour),
    nodes: band(({ nodes }) => Object.values(nodes).reduce((sum, count) => sum + count, 0)),
    pending: band(({ pending }) => pending),
    vcpus: band(({ vcpus }) => vcpus),
    requested: band(({ requestedVcpus }) => requestedVcpus),
    pools: Object.fromEntries(pools.map((pool) => [pool, band(({ nodes }) => nodes[pool] ?? 0).mean])),
    waits: Array.from({ length: 101 }, (_, percent) => round(meanOf(runs.map(({ waitQuantiles }) => waitQuantiles[percent] ?? 0)))),
  };
}

function bandOf(runs: readonly RunResult[], length: number, of: (sample: RunSample) => number): Band {
  const at = (index: number): readonly number[] =>
    runs.flatMap(({ samples }) => {
      const sample = samples[index];
      return sample === undefined ? [] : [of(sample)];
    });
  const columns = Array.from({ length }, (_, index) => at(index));
  return {
    mean: columns.map((values) => round(meanOf(values))),
    low: columns.map((values) => round(values.length === 0 ? 0 : Math.min(...values))),
    high: columns.map((values) => round(values.length === 0 ? 0 : Math.max(...values))),
  };
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
