/**
 * The soft mark on unneeded nodes: it asks the scheduler to prefer other nodes, and it carries the timer over a restart.
 * Decides nothing; a mark that could not be written is written in a later loop.
 */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPlan } from '../../domain/plan.ts';
import { candidateSince } from '../../planning/state/after-restart.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import { DELETION_CANDIDATE_TAINT, TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taints.ts';
import type { NodeTainter } from '../../domain/ports/cluster-writes.ts';
import type { Log } from '../../telemetry/log.ts';

export interface SoftTaintInput {
  readonly plan: ScaleDownPlan;
  readonly observation: Observation;
  readonly tainter: NodeTainter;
  /**
   * `softTaintBudget`: most API calls of this loop; 0 turns soft taints off and takes off those that are there, once they are
   * older than `candidateTtlMs`. `softTaintTimeMs`: no call is begun once so much time was spent on them in this loop.
   */
  readonly rules: Pick<ScaleDownPolicy, 'softTaintBudget' | 'softTaintTimeMs' | 'candidateTtlMs'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

interface Change {
  readonly node: NodeName;
  /** Unix seconds to write; undefined: take the mark off. */
  readonly value: string | undefined;
}

/** API calls per loop that take marks off while soft taints are turned off. */
const CLEAN_UP_BUDGET = 10;
/** The Cluster Autoscaler's `--max-bulk-soft-taint-time`. An API server that takes its time must not hold up the loop. */
const LONGEST_MS = 3_000;

/**
 * Unmarks needed nodes first (a wrong mark keeps pods away), then marks unneeded ones, within the budget of calls and time. One node's
 * failure is logged and left for the next loop. Throws only `cancelled`.
 */
export async function updateSoftTaints(input: SoftTaintInput, signal: AbortSignal): Promise<void> {
  const { softTaintBudget, candidateTtlMs = 0 } = input.rules;
  const isOff = softTaintBudget <= 0;
  const plan = isOff ? { ...input.plan, unneeded: youngMarks(input.observation, candidateTtlMs) } : input.plan;
  const changes = softTaintChanges(plan, input.observation).slice(0, isOff ? CLEAN_UP_BUDGET : softTaintBudget);
  const endsAtMs = input.clock.monotonic() + (input.rules.softTaintTimeMs ?? LONGEST_MS);
  for (const change of changes) {
    await apply(change, input, signal);
    if (input.clock.monotonic() >= endsAtMs) return;
  }
}

/** The marks that are still believed: who turned marks off may only do so for a while. */
function youngMarks({ cluster, nowMs }: Observation, ttlMs: number): ReadonlyMap<NodeName, number> {
  const marked = [...cluster.nodes].flatMap(([name, node]): readonly (readonly [NodeName, number])[] => {
    const sinceMs = candidateSince(node);
    return sinceMs === undefined || nowMs - sinceMs >= ttlMs ? [] : [[name, sinceMs]];
  });
  return new Map(marked);
}

/** Every change that is due, in the order in which it should be made. */
export function softTaintChanges(plan: ScaleDownPlan, observation: Observation): readonly Change[] {
  const leaving = new Set(plan.removals.map((removal) => removal.node));
  const removals: Change[] = [];
  const additions: Change[] = [];
  for (const name of [...observation.cluster.nodes.keys()].sort()) {
    const node = observation.cluster.nodes.get(name);
    if (node === undefined || leaving.has(name) || !isOurs(node, observation)) continue;
    const wanted = plan.unneeded.get(name);
    const value = wanted === undefined ? undefined : String(Math.floor(wanted / 1000));
    const present = node.taints.find((taint) => taint.key === DELETION_CANDIDATE_TAINT)?.value;
    if (value === present) continue;
    (value === undefined ? removals : additions).push({ node: name, value });
  }
  return [...removals, ...additions];
}

/** A node that is going needs no mark; a node of nobody's group is not ours to mark. */
function isOurs(node: Node, observation: Observation): boolean {
  return observation.cloud.groupOfNode.has(node.name) && node.deletionAtMs === undefined && !hasTaint(node.taints, TO_BE_DELETED_TAINT);
}

async function apply(change: Change, input: SoftTaintInput, signal: AbortSignal): Promise<void> {
  const { tainter, log } = input;
  const key = DELETION_CANDIDATE_TAINT;
  try {
    if (change.value === undefined) await tainter.untaint(change.node, key, { uncordon: false }, signal);
    else await tainter.taint(change.node, { key, value: change.value, effect: 'PreferNoSchedule' }, { cordon: false }, signal);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    if (error.kind !== 'not-found') log.warn({ node: change.node, err: error }, 'A soft taint could not be changed.');
  }
}
