/** Observations of the past, in order of time, given to a recorder as if they happened now. */
import type { LoadRecorder } from '../../lab/recordings/load-recorder.ts';
import type { RecordingLine } from '../../lab/loads/recording-lines.ts';

export interface Step {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly apply: (recorder: LoadRecorder) => void;
}

interface Timeline {
  readonly startMs: number;
  readonly endMs: number;
  readonly steps: readonly Step[];
}

const SLICE_MS = 60_000;

/** What stands at the start is the load at the start. Lines are passed on as they come. */
export async function play(
  { startMs, endMs, steps }: Timeline,
  recorder: LoadRecorder,
  take: (lines: readonly RecordingLine[]) => Promise<void>,
): Promise<void> {
  const ordered = steps.toSorted((left, right) => left.atMs - right.atMs);
  const later = ordered.findIndex(({ atMs }) => atMs > startMs);
  const first = later === -1 ? ordered : ordered.slice(0, later);
  for (const { apply } of first) apply(recorder);
  recorder.begin(startMs);
  let nextMs = startMs + SLICE_MS;
  for (const { atMs, apply } of ordered.slice(first.length)) {
    if (atMs >= nextMs) {
      await take(recorder.take(atMs));
      nextMs = atMs + SLICE_MS;
    }
    apply(recorder);
  }
  await take(recorder.end(endMs));
}
