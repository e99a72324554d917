/** When a node that is on its way for a pod is expected, from how long earlier increases of the same pool took. */
import { summarizeDurations } from '../../../domain/history.ts';
import type { NodeGroupId, PodUid } from '../../../domain/ids.ts';
import type { AcceptedIncrease } from '../../../domain/loop-state.ts';
import { defined } from '../../../lib/defined.ts';
import { ownIncreases } from '../../state/increases/increase-records.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';

export interface ExpectedNode {
  readonly pool: string;
  /** When it was requested. */
  readonly requestedAt: string;
  /** With the time that half of the earlier increases took. Absent if none was seen. */
  readonly readyAt?: string;
  /** With the time that nine of ten took. */
  readonly lateAfter?: string;
  /** How many earlier increases were seen. */
  readonly seen: number;
  readonly p50Ms?: number;
  readonly p90Ms?: number;
}

type StateInput = Pick<ScaleUpInput, 'state' | 'observation'>;

/** A pod that this decision itself requests a node for has none in the memory yet. */
export function expectedNode(uid: PodUid, group: NodeGroupId, { state, observation }: StateInput): ExpectedNode {
  const increase = increaseFor(uid, ownIncreases(state, group));
  const requestedMs = increase?.acceptedAtMs ?? observation.nowMs;
  const { p50Ms, p90Ms, count: seen } = summarizeDurations(state.readyTimes.get(group) ?? []) ?? { count: 0 };
  const times = { readyAt: isoAfter(requestedMs, p50Ms), lateAfter: isoAfter(requestedMs, p90Ms) };
  return { pool: group, requestedAt: new Date(requestedMs).toISOString(), seen, ...defined({ ...times, p50Ms, p90Ms }) };
}

/** The pod's own increase, else the last one whose nodes have not all joined. */
function increaseFor(uid: PodUid, increases: readonly AcceptedIncrease[]): AcceptedIncrease | undefined {
  const own = increases.findLast(({ pods }) => pods.some(({ uids }) => uids?.includes(uid) === true));
  return own ?? increases.findLast(({ joinedAtMs }) => joinedAtMs === undefined);
}

function isoAfter(startMs: number, ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(startMs + ms).toISOString();
}
