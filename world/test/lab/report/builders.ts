/** A report of two policies, as tests of its forms write it. */
import { compareRuns } from '../../../lab/judge/comparison.ts';
import type { RunFigures, RunResult } from '../../../lab/judge/run-figures.ts';
import type { LabReport } from '../../../lab/report/lab-report.ts';
import { aRun } from '../judge/builders.ts';

/** `others`: what the second policy has instead, for each of the seeds 1, 2, ... */
export function aReport(others: readonly Partial<RunFigures>[], change: Partial<LabReport> = {}): LabReport {
  const runs = others.flatMap((other, at): readonly RunResult[] => [aRun('current', at + 1, {}), aRun('proposed', at + 1, other)]);
  return {
    scenario: {
      name: 'office-week',
      what: 'services that follow office hours',
      startMs: Date.UTC(2026, 0, 5),
      durationMs: 7 * 86_400_000,
      currency: 'USD',
    },
    comparison: compareRuns(['current', 'proposed'], runs),
    runs,
    notes: [],
    ...change,
  };
}
