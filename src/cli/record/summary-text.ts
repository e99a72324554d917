/** What a recording holds, as one sentence after it has ended. Pure. */
import type { RecordedCounts } from '../../lab/recordings/load-recorder.ts';

interface SummaryInput {
  readonly path: string;
  readonly bytes: number;
  readonly counts: RecordedCounts;
  readonly spanMs: number;
}

const MIB = 2 ** 20;
const MINUTE_MS = 60_000;

export function summaryOf({ path, bytes, counts, spanMs }: SummaryInput): string {
  const { workloads, runs, neverStarted, cameAgain } = counts;
  const lines = [
    `${path}: ${spanOf(spanMs)}, ${workloads} workloads, ${runs} runs of jobs and single pods, ${(bytes / MIB).toFixed(1)} MiB.`,
    ...(cameAgain === 0 ? [] : [`${cameAgain} pods were lost and came again; each counts once.`]),
    ...(neverStarted === 0 ? [] : [`${neverStarted} pods ended before they started; they are not in the recording.`]),
  ];
  return `${lines.join('\n')}\n`;
}

function spanOf(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / 1_000)} s`;
  const minutes = Math.round(ms / MINUTE_MS);
  if (minutes < 120) return `${minutes} min`;
  return minutes < 48 * 60 ? `${(minutes / 60).toFixed(1)} h` : `${(minutes / 1_440).toFixed(1)} days`;
}
