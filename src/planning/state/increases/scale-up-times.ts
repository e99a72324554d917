/**
 * When groups were last increased, which starts the cooldown of removals. An increase that ended without a node took that time back:
 * nothing was added that could be removed too early. The times are no views of the increases: a cooldown may last longer than the record of
 * an increase does, and a dry run takes over the times of increases that others made. Pure.
 * Idea: cooldown.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { GroupTimes, LoopState } from '../../../domain/loop-state.ts';
import type { Observation } from '../../../domain/observation.ts';
import { defined } from '../../../lib/defined.ts';
import { inFlight } from './increase-records.ts';

/** Notes which increases brought a node, and takes back the times of those that ended without one. `before`: the state until now. */
export function settleScaleUpTimes(state: LoopState, before: Pick<LoopState, 'increases'>, observation: Observation): LoopState {
  const open = [...state.groupTimes].filter(([, { scaleUpMs, nodeCameMs }]) => scaleUpMs !== undefined && scaleUpMs !== nodeCameMs);
  if (open.length === 0) return state;
  const newest = newestNodes(observation);
  return open.reduce((next, [group, times]) => {
    if ((newest.get(group) ?? -Infinity) >= (times.scaleUpMs ?? Infinity)) return withGroupTimes(next, group, proven(times));
    // guard: an increase that brought no node leaves no cooldown
    return inFlight(before, group) !== undefined && inFlight(state, group) === undefined ? takenBack(next, group, times) : next;
  }, state);
}

/** Takes back the time of an increase that was not made. A later one of the group stays. */
export function withoutScaleUpTime(state: LoopState, group: NodeGroupId, atMs: number): LoopState {
  const times = state.groupTimes.get(group);
  return times?.scaleUpMs === atMs ? takenBack(state, group, times) : state;
}

/** Increases by another writer that a dry run follows: its own increases would have started the cooldown. */
export function noteFollowedWriters(state: LoopState, { cloud }: Observation): LoopState {
  return cloud.events.reduce((next, event) => {
    if (event.kind !== 'external-change' || event.followed !== true || event.to <= event.from) return next;
    const { group, atMs: scaleUpMs } = event;
    const times = { ...next.groupTimes.get(group), scaleUpMs };
    return withGroupTimes({ ...next, lastScaleUpMs: Math.max(next.lastScaleUpMs, scaleUpMs) }, group, times);
  }, state);
}

/** When the newest node of each group was created. */
function newestNodes({ cluster, cloud }: Observation): ReadonlyMap<NodeGroupId, number> {
  const newest = new Map<NodeGroupId, number>();
  for (const [name, group] of cloud.groupOfNode) {
    const createdAtMs = cluster.nodes.get(name)?.createdAtMs ?? -Infinity;
    if (createdAtMs > (newest.get(group) ?? -Infinity)) newest.set(group, createdAtMs);
  }
  return newest;
}

function proven(times: GroupTimes): GroupTimes {
  return { ...times, ...defined({ nodeCameMs: times.scaleUpMs }) };
}

/** The group's time before the increase, and the time of all groups if this increase was the last. */
function takenBack(state: LoopState, group: NodeGroupId, { scaleUpMs: failedMs, ...times }: GroupTimes): LoopState {
  const next = withGroupTimes(state, group, { ...times, ...defined({ scaleUpMs: times.nodeCameMs }) });
  if (failedMs !== state.lastScaleUpMs) return next;
  const others = [...next.groupTimes].flatMap(([, { scaleUpMs }]) => (scaleUpMs === undefined ? [] : [scaleUpMs]));
  return { ...next, lastScaleUpMs: Math.max(failedMs - LONG_AGO_MS, ...others) };
}

function withGroupTimes(state: LoopState, group: NodeGroupId, times: GroupTimes): LoopState {
  return { ...state, groupTimes: new Map([...state.groupTimes, [group, times]]) };
}

/** At a start the "last" times lie this long ago, so that a start is not a cooldown. */
export const LONG_AGO_MS = 3_600_000;
