/**
 * What a process takes over from an earlier one: its saved memory, without the time in which no process watched. Pure.
 * Idea: saved memory.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState, SavedMemory } from '../../domain/loop-state.ts';
import type { ClusterView, Observation } from '../../domain/observation.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taints.ts';
import { deletionTaintedAtMs } from './deletions.ts';
import { withTimes } from './state-times.ts';

/**
 * Takes in what an earlier process saved. Call it once, with the first observation. Idle timers count only if they were saved within
 * `candidateTtlMs`, and the time since then, in which no process watched, does not count.
 */
export function recallMemory(
  state: LoopState,
  saved: SavedMemory,
  { nowMs, cluster }: Observation,
  { candidateTtlMs }: ScaleDownPolicy,
): LoopState {
  // If the clock of the earlier process was ahead, its times would seem to lie in the future.
  const aheadMs = Math.max(0, saved.savedAtMs - nowMs);
  const { savedAtMs, ...rest } = saved;
  const memory = afterClockShift({ ...state, ...rest }, -aheadMs);
  return {
    ...memory,
    lastScaleUpMs: Math.max(state.lastScaleUpMs, memory.lastScaleUpMs),
    lastScaleDownMs: Math.max(state.lastScaleDownMs, memory.lastScaleDownMs),
    lastScaleDownFailureMs: Math.max(state.lastScaleDownFailureMs, memory.lastScaleDownFailureMs),
    // guard: idle timers count only if they were saved lately
    unneededSince: Math.abs(nowMs - savedAtMs) > candidateTtlMs ? state.unneededSince : resumedTimers(saved, cluster, nowMs),
  };
}

/** The timers, each with the duration that it had when it was saved. A node that joined later under the same name is another node. */
function resumedTimers({ savedAtMs, unneededSince }: SavedMemory, { nodes }: ClusterView, nowMs: number): LoopState['unneededSince'] {
  // guard: a node of the same name that joined later is another node
  const timers = [...unneededSince].filter(([name, sinceMs]) => (nodes.get(name)?.createdAtMs ?? Infinity) <= sinceMs);
  // guard: time in which no process watched is not idle time
  return new Map(timers.map(([name, sinceMs]) => [name, sinceMs + nowMs - savedAtMs]));
}

type RemovalWindow = Pick<ScaleDownPolicy, 'maxRemovalsPerWindow' | 'removalWindowMs'>;

/**
 * When the previous process started removals within the window, as far as can be known: milliseconds since the epoch, oldest first.
 * Taints show the nodes that are still there, and instances in deletion show some of the others. Completed removals leave no trace.
 * Therefore up to half of the window's limit counts as used just now. Repeated restarts then do not each get a whole window, and one
 * restart does not stop removals.
 */
export function removalsBeforeRestart(observation: Observation, rules: RemovalWindow): readonly number[] {
  const { nowMs, cluster } = observation;
  const seen = [...taintedForDeletion(observation, rules), ...Array.from({ length: countDeletingInstances(observation) }, () => nowMs)];
  const half = Math.min(Math.floor(rules.maxRemovalsPerWindow / 2), cluster.nodes.size);
  const assumed = Array.from({ length: Math.max(0, half - seen.length) }, () => nowMs);
  return [...seen, ...assumed].sort((left, right) => left - right);
}

/** Nodes of our groups whose removal began within the window, by their taints, and when. */
export function groupsOfTaintedNodes(
  { cluster, cloud, nowMs }: Observation,
  { removalWindowMs }: Pick<RemovalWindow, 'removalWindowMs'>,
): readonly { readonly group: NodeGroupId; readonly atMs: number }[] {
  return [...cluster.nodes.values()].flatMap(({ name, taints }) => {
    const group = hasTaint(taints, TO_BE_DELETED_TAINT) ? cloud.groupOfNode.get(name) : undefined;
    const atMs = Math.min(nowMs, deletionTaintedAtMs(taints) ?? nowMs);
    return group === undefined || atMs <= nowMs - removalWindowMs ? [] : [{ group, atMs }];
  });
}

/** The time in the taint. A value that cannot be parsed counts as now. */
function taintedForDeletion({ cluster, nowMs }: Observation, { removalWindowMs }: RemovalWindow): readonly number[] {
  const begun: number[] = [];
  for (const { taints } of cluster.nodes.values()) {
    if (!hasTaint(taints, TO_BE_DELETED_TAINT)) continue;
    const atMs = Math.min(nowMs, deletionTaintedAtMs(taints) ?? nowMs);
    if (atMs > nowMs - removalWindowMs) begun.push(atMs);
  }
  return begun;
}

/** Instances in deletion whose node is gone or has no deletion taint. */
function countDeletingInstances({ cloud, cluster }: Observation): number {
  const counted = new Set<string>();
  for (const [name, key] of cloud.instanceOfNode) {
    const isTainted = cluster.nodes.get(name)?.taints.some((taint) => taint.key === TO_BE_DELETED_TAINT) === true;
    if (isTainted) counted.add(key);
  }
  const instances = cloud.groups.flatMap((group) => group.instances ?? []);
  return instances.filter(({ key, state }) => state === 'deleting' && !counted.has(key)).length;
}

// LoopState holds wall clock times, since it is compared with times of the cluster. If that clock is set, all times move with it. A
// backoff then neither ends early nor lasts for hours, and no node seems unneeded for longer than this process saw.

/** A smaller shift is normal clock synchronisation, and nothing here is that precise. */
const MIN_SHIFT_MS = 1_000;

/** Moves every time of the state by `shiftMs`. Returns the same state if the shift is too small to matter. */
export function afterClockShift(state: LoopState, shiftMs: number): LoopState {
  if (Math.abs(shiftMs) < MIN_SHIFT_MS) return state;
  return withTimes(state, (atMs) => atMs + shiftMs);
}
