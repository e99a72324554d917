/**
 * How many nodes one group may request per minute. An atomic group has no such limit, since a part of it is of no use. A restart starts a
 * new minute.
 * Idea: allowance.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { LoopState } from '../../../domain/loop-state.ts';
import { isWhole, type NodeGroup } from '../../../domain/node-group.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import type { SkipReason } from '../../../domain/reasons.ts';

const MINUTE_MS = 60_000;

type RecentIncreases = LoopState['requestedLastMinute'];

/** Records nodes that were just requested. */
export function addRecentIncrease(
  recent: RecentIncreases,
  group: NodeGroupId,
  request: { readonly atMs: number; readonly nodes: number },
): RecentIncreases {
  if (request.nodes < 1) return recent;
  return new Map([...recent, [group, [...(recent.get(group) ?? []), request]]]);
}

/** Drops requests that are older than a minute. */
export function recentIncreases(before: RecentIncreases, nowMs: number): RecentIncreases {
  const left = [...before].map(([group, requests]) => [group, requests.filter(({ atMs }) => isRecent(atMs, nowMs))] as const);
  return new Map(left.filter(([, requests]) => requests.length > 0));
}

export interface IncreaseCeiling {
  /** The size up to which the group may grow now. */
  readonly ceiling: number;
  /** Why the ceiling is below the maximum size. undefined: it is not. */
  readonly reason: SkipReason | undefined;
}

export function rateCeiling(
  group: NodeGroup,
  { maxNodesPerGroupPerMinute: most = 0 }: Pick<ScaleUpPolicy, 'maxNodesPerGroupPerMinute'>,
  { requestedLastMinute }: Pick<LoopState, 'requestedLastMinute'>,
  nowMs: number,
): IncreaseCeiling {
  if (most <= 0 || isWhole(group) || !group.target.known) return { ceiling: group.maxSize, reason: undefined };
  const recent = (requestedLastMinute.get(group.id) ?? []).filter(({ atMs }) => isRecent(atMs, nowMs));
  const room = Math.max(0, most - recent.reduce((sum, { nodes }) => sum + nodes, 0));
  const ceiling = group.target.value + room;
  if (ceiling >= group.maxSize) return { ceiling: group.maxSize, reason: undefined };
  const untilMs = Math.min(...recent.map(({ atMs }) => atMs), nowMs) + MINUTE_MS;
  return { ceiling, reason: { kind: 'ramp', perMinute: most, untilMs } };
}

/** If the clock was set back, the limit must not hold for ever. */
function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < MINUTE_MS;
}
