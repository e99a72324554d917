/** Results of runs, as tests of comparisons and reports write them. */
import type { RunFigures, RunResult } from '../../../lab/judge/run-figures.ts';

const FIGURES: Omit<RunFigures, 'money'> = {
  hours: 24,
  costPerDay: 100,
  vcpuHours: 480,
  requestedVcpuHours: 240,
  pending: { pods: 100, podSeconds: 6_000, p50Seconds: 0, p95Seconds: 90, maxSeconds: 200, unfinished: 0 },
  nodes: { bought: 20, removed: 18, shortLived: 1, medianLifeMinutes: 120 },
  evictions: 30,
  movedTwice: 0,
  jobs: { finished: 50, interrupted: 2 },
  armCalls: 2_400,
  violations: 0,
};

/** Without other parts of the money, list prices hold. */
export function aRun(policy: string, seed: number, change: Partial<RunFigures>): RunResult {
  const { costPerDay = FIGURES.costPerDay } = change;
  const figures = { ...FIGURES, money: { list: costPerDay, discounted: costPerDay, paidIdle: 0 }, ...change };
  const samples = [0, 1, 2, 3].map((at) => ({
    atMs: at * 6 * 3_600_000,
    nodes: { general: 3 + at, system: 2 },
    vcpus: 20 + 4 * at,
    requestedVcpus: 10 + at,
    pending: at % 2,
    costPerHour: 1.28 + at * 0.256,
  }));
  const waitQuantiles = Array.from({ length: 101 }, (_, percent) => (percent < 60 ? 0 : percent));
  return { policy, seed, figures, samples, waitQuantiles, notes: [] };
}
