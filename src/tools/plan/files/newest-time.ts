/** When a Kubernetes object last changed or reported. Pure. */
import type { NodeJson, PodJson } from '../../../kubernetes/api/core-json.ts';

interface DatedCondition {
  readonly lastHeartbeatTime?: unknown;
  readonly lastTransitionTime?: unknown;
}

/** Milliseconds since the epoch; 0 if the object has no time. */
export function newestTime({ metadata, status }: PodJson & NodeJson, kind: string): number {
  const created = timeOrZero(metadata?.creationTimestamp);
  if (kind !== 'Node' && kind !== 'Pod') return created;
  const conditions = (status?.conditions ?? []) as readonly DatedCondition[];
  return conditions.reduce(
    (newest, { lastHeartbeatTime, lastTransitionTime }) => Math.max(newest, timeOrZero(lastHeartbeatTime), timeOrZero(lastTransitionTime)),
    created,
  );
}

/** Returns 0 if the value is not a time. */
function timeOrZero(text: unknown): number {
  return typeof text === 'string' ? Date.parse(text) || 0 : 0;
}
