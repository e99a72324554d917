/**
 * How many nodes one group may request per minute, and how many it did. An atomic group has no such limit, since a part of it is of no use. A restart starts a
 * new minute.
 * Idea: increase, allowance.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { AcceptedIncrease, LoopState } from '../../../domain/loop-state.ts';
import { isWhole, type NodeGroup } from '../../../domain/node-group.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import type { SkipReason } from '../../../domain/reasons.ts';

const MINUTE_MS = 60_000;

/** Nodes that we requested of a group at one time. */
export interface RequestedNodes {
  readonly atMs: number;
  readonly nodes: number;
}

/** The nodes that we requested within a minute, by group: the oldest first. */
export function requestedLastMinute({ increases }: Pick<LoopState, 'increases'>, nowMs: number): RequestsByGroup {
  const recent = [...increases].map(([group, records]) => [group, requestedOf(records, nowMs)] as const);
  const first = (requests: readonly RequestedNodes[]): number => requests[0]?.atMs ?? Infinity;
  return new Map(recent.filter(([, requests]) => requests.length > 0).sort(([, left], [, right]) => first(left) - first(right)));
}

export type RequestsByGroup = ReadonlyMap<NodeGroupId, readonly RequestedNodes[]>;

function requestedOf(records: readonly AcceptedIncrease[], nowMs: number): readonly RequestedNodes[] {
  return records.filter((record) => isRecentRequest(record, nowMs)).map(({ acceptedAtMs: atMs, nodes }) => ({ atMs, nodes }));
}

/** Whether the increase counts in the rate. */
export function isRecentRequest({ by, acceptedAtMs, nodes }: AcceptedIncrease, nowMs: number): boolean {
  return by === 'us' && nodes > 0 && isRecent(acceptedAtMs, nowMs);
}

export interface IncreaseCeiling {
  /** The size up to which the group may grow now. */
  readonly ceiling: number;
  /** Why the ceiling is below the maximum size. undefined: it is not. */
  readonly reason: SkipReason | undefined;
}

export function rateCeiling(
  group: NodeGroup,
  { maxNodesPerGroupPerMinute: most }: Pick<ScaleUpPolicy, 'maxNodesPerGroupPerMinute'>,
  { increases }: Pick<LoopState, 'increases'>,
  nowMs: number,
): IncreaseCeiling {
  if (most <= 0 || isWhole(group) || !group.target.known) return { ceiling: group.maxSize, reason: undefined };
  const recent = requestedOf(increases.get(group.id) ?? [], nowMs);
  const room = Math.max(0, most - recent.reduce((sum, { nodes }) => sum + nodes, 0));
  const ceiling = group.target.value + room;
  if (ceiling >= group.maxSize) return { ceiling: group.maxSize, reason: undefined };
  const untilMs = Math.min(...recent.map(({ atMs }) => atMs), nowMs) + MINUTE_MS;
  return { ceiling, reason: { kind: 'ramp', perMinute: most, untilMs } };
}

/** If the clock was set back, the limit must not hold for ever. */
export function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < MINUTE_MS;
}
