/** What a recording holds, as one sentence after it has ended. Pure. */
import type { RecordedCounts } from '../../lab/recordings/load-recorder.ts';
import { formatDuration } from '../../../src/lib/duration.ts';

interface SummaryInput {
  readonly path: string;
  readonly bytes: number;
  readonly counts: RecordedCounts;
  readonly spanMs: number;
}

const MIB = 2 ** 20;

export function summaryOf({ path, bytes, counts, spanMs }: SummaryInput): string {
  const { workloads, runs, neverStarted, cameAgain, refusals, nodeFailures } = counts;
  const lines = [
    `${path}: ${formatDuration(spanMs)}, ${workloads} workloads, ${runs} runs of jobs and single pods, ${(bytes / MIB).toFixed(1)} MiB.`,
    ...(refusals + nodeFailures === 0
      ? []
      : [`Azure refused nodes ${refusals} ${timesText(refusals)}; nodes were not ready ${nodeFailures} ${timesText(nodeFailures)}.`]),
    ...(cameAgain === 0 ? [] : [`${cameAgain} pods were lost and came again; each counts once.`]),
    ...(neverStarted === 0 ? [] : [`${neverStarted} pods ended before they started; they are not in the recording.`]),
  ];
  return `${lines.join('\n')}\n`;
}

function timesText(count: number): string {
  return count === 1 ? 'time' : 'times';
}
