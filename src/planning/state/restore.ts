import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import { DELETION_CANDIDATE_TAINT } from '../../domain/taint.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import type { Node } from '../../domain/node.ts';

/** A mark older than this says nothing about what happened since, where the policy does not say. */
const OLDEST_MARK_MS = 3_600_000;

/**
 * After a start the soft taints tell since when nodes are unneeded. Only then: later a mark that was not yet taken off
 * must not bring back a timer that was stopped.
 */
export function restoreUnneeded(state: LoopState, observation: Observation, { candidateTtlMs = 0 }: ScaleDownPolicy): LoopState {
  if (state.targets !== undefined) return state;
  const oldestMs = observation.nowMs - (candidateTtlMs > 0 ? candidateTtlMs : OLDEST_MARK_MS);
  const restored = new Map(state.unneededSince);
  for (const [name, node] of observation.cluster.nodes) {
    const sinceMs = candidateSince(node);
    if (sinceMs === undefined || restored.has(name)) continue;
    if (sinceMs <= observation.nowMs && sinceMs >= oldestMs) restored.set(name, sinceMs);
  }
  return { ...state, unneededSince: restored };
}

/** Since when a node is unneeded by its mark, milliseconds since the epoch; undefined: not marked, or not so that it can be read. */
export function candidateSince(node: Node): number | undefined {
  const mark = node.taints.find((taint) => taint.key === DELETION_CANDIDATE_TAINT);
  return mark !== undefined && /^\d{1,12}$/.test(mark.value) ? Number(mark.value) * 1000 : undefined;
}
