/**
 * Events about pods that no pool can take are recorded when the verdict, the pools or the fix changed, and once more before the API server
 * forgets them. Numbers that grow from loop to loop are no change. Must not know how events are sent.
 */
import type { AutoscalerEvent, EventRecorder } from '../../domain/ports/records.ts';
import type { Clock } from '../../lib/clock.ts';

/** The API server keeps events for an hour unless it is configured otherwise (`--event-ttl`). */
const REPEAT_MS = 45 * 60_000;
/** A pod that had no such event for this long is gone or helped. */
const FORGOTTEN_MS = 2 * REPEAT_MS;

interface Recorded {
  readonly reasons: string;
  readonly fix: string | undefined;
  readonly atMs: number;
  readonly seenMs: number;
}

/** Passes on every event that has no `verdict`. */
export function changedVerdictsOnly(events: EventRecorder, clock: Pick<Clock, 'monotonic'>): EventRecorder {
  const recorded = new Map<string, Recorded>();
  const isNew = ({ subject, verdict }: AutoscalerEvent): boolean => {
    if (verdict === undefined || !('uid' in subject)) return true;
    const nowMs = clock.monotonic();
    const before = recorded.get(subject.uid);
    // A fix that was not simulated this time is no news.
    const isSame = before?.reasons === verdict.reasons && (verdict.fix === undefined || verdict.fix === before.fix);
    const isRecent = before !== undefined && nowMs - before.atMs < REPEAT_MS;
    recorded.delete(subject.uid);
    const kept = isSame && isRecent ? before : { ...verdict, fix: verdict.fix ?? (isSame ? before?.fix : undefined), atMs: nowMs };
    recorded.set(subject.uid, { ...kept, seenMs: nowMs });
    dropForgotten(recorded, nowMs);
    return !(isSame && isRecent);
  };
  return {
    record: (event) => {
      if (isNew(event)) events.record(event);
    },
    flush: (signal) => events.flush(signal),
  };
}

/** The ones that were not seen for longest come first. */
function dropForgotten(recorded: Map<string, Recorded>, nowMs: number): void {
  for (const [uid, { seenMs }] of recorded) {
    if (nowMs - seenMs < FORGOTTEN_MS) return;
    recorded.delete(uid);
  }
}
