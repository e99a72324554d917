/**
 * The soft taint on unneeded nodes. It makes the scheduler prefer other nodes, and it shows people since when. A taint that could not be written is written in a later loop. Must not decide which nodes are unneeded.
 */
import { withTimeout } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { NodeName } from '../../domain/ids.ts';
import { isBeingRemoved, type Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPlan } from '../../domain/plan.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import { DELETION_CANDIDATE_TAINT } from '../../domain/taints.ts';
import type { NodeTainter } from '../../domain/ports/cluster-writes.ts';
import { nodeListFacts } from '../../planning/facts/node-list-facts.ts';
import type { Log } from '../../telemetry/log.ts';

interface SoftTaintInput {
  readonly plan: ScaleDownPlan;
  readonly observation: Observation;
  readonly tainter: NodeTainter;
  /**
   * `softTaintBudget`: the maximum of API calls in this loop. 0 turns soft taints off; present ones are removed once they are
   * older than `candidateTtlMs`. `softTaintTimeMs`: after this time the loop goes on, and the calls under way are given up.
   */
  readonly rules: Pick<ScaleDownPolicy, 'softTaintBudget' | 'softTaintTimeMs' | 'candidateTtlMs'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface TaintChange {
  readonly node: NodeName;
  /** Unix seconds to write; undefined removes the taint. */
  readonly value: string | undefined;
}

/** API calls per loop that remove taints while soft taints are turned off. */
const CLEAN_UP_CALLS = 10;
/** Calls that are under way at once. The loop waits for them, and with it a pod that turns unschedulable meanwhile. */
const AT_ONCE = 10;

/**
 * Removes taints of needed nodes first, since a wrong taint keeps pods away. Then taints unneeded nodes, within the limits of
 * calls and time. A failure is logged and tried again in the next loop. Throws only `cancelled`.
 */
export async function updateSoftTaints(input: SoftTaintInput, signal: AbortSignal): Promise<void> {
  const { softTaintBudget, candidateTtlMs } = input.rules;
  const isOff = softTaintBudget <= 0;
  const plan = isOff ? { ...input.plan, unneeded: recentCandidates(input.observation, candidateTtlMs) } : input.plan;
  const changes = softTaintChanges(plan, input.observation).slice(0, isOff ? CLEAN_UP_CALLS : softTaintBudget);
  if (changes.length === 0) return;
  const run = async (within: AbortSignal): Promise<void> => {
    for (let from = 0; from < changes.length && !within.aborted; from += AT_ONCE)
      await Promise.all(changes.slice(from, from + AT_ONCE).map((change) => applyChange(change, input, within)));
  };
  const timeoutMs = input.rules.softTaintTimeMs;
  // guard: the loop waits for soft taints no longer than their time
  const ended = await withTimeout(input.clock, { timeoutMs, signals: [signal], run });
  if (ended === 'timed-out') input.log.debug({ changes: changes.length, timeoutMs }, 'Soft taints take too long; the next loop goes on');
}

/** Candidates whose taint is recent. After soft taints are turned off, these keep their taint for a while. */
function recentCandidates({ cluster, nowMs }: Observation, ttlMs: number): ReadonlyMap<NodeName, number> {
  const candidates = [...cluster.nodes].flatMap(([name, node]): readonly (readonly [NodeName, number])[] => {
    const sinceMs = softTaintedSinceMs(node);
    return sinceMs === undefined || nowMs - sinceMs >= ttlMs ? [] : [[name, sinceMs]];
  });
  return new Map(candidates);
}

/** Since when a node is unneeded by its soft taint, milliseconds since the epoch. undefined: no such taint, or its value cannot be parsed. */
function softTaintedSinceMs(node: Node): number | undefined {
  const found = node.taints.find((taint) => taint.key === DELETION_CANDIDATE_TAINT);
  return found !== undefined && /^\d{1,12}$/.test(found.value) ? Number(found.value) * 1000 : undefined;
}

/** Returns every change that is due, in the order of the calls. */
function softTaintChanges(plan: ScaleDownPlan, observation: Observation): readonly TaintChange[] {
  const leaving = new Set(plan.removals.map((removal) => removal.node));
  const removals: TaintChange[] = [];
  const additions: TaintChange[] = [];
  const { nodes } = observation.cluster;
  const tainted = nodeListFacts(nodes).tainted.map(({ name }) => name);
  // No other node has the taint, or should have it.
  for (const name of [...new Set([...tainted, ...plan.unneeded.keys()])].sort()) {
    const node = nodes.get(name);
    if (node === undefined || leaving.has(name) || !isManaged(node, observation)) continue;
    const wanted = plan.unneeded.get(name);
    const value = wanted === undefined ? undefined : String(Math.floor(wanted / 1000));
    const present = node.taints.find((taint) => taint.key === DELETION_CANDIDATE_TAINT)?.value;
    if (value === present) continue;
    (value === undefined ? removals : additions).push({ node: name, value });
  }
  return [...removals, ...additions];
}

/** Nodes under removal need no soft taint, and nodes of unmanaged groups are not tainted. */
function isManaged(node: Node, observation: Observation): boolean {
  return observation.cloud.groupOfNode.has(node.name) && !isBeingRemoved(node);
}

async function applyChange(change: TaintChange, input: SoftTaintInput, signal: AbortSignal): Promise<void> {
  const { tainter, log } = input;
  const key = DELETION_CANDIDATE_TAINT;
  try {
    if (change.value === undefined) await tainter.untaint(change.node, key, { uncordon: false }, signal);
    else await tainter.taint(change.node, { key, value: change.value, effect: 'PreferNoSchedule' }, { cordon: false }, signal);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    if (error.kind !== 'not-found') log.warn({ node: change.node, err: error }, 'Soft taint could not be changed');
  }
}
