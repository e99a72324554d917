/**
 * The deletion taint (ToBeDeleted) with the name of its owner, and a cordon when the policy demands it. After a crash the taint alone cannot show who
 * cordoned the node. So a node that was cordoned before gets a second, harmless taint first, and its cordon stays when the
 * deletion taint is removed. Must not know why a node is removed.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView, Observation } from '../../domain/observation.ts';
import type { NodeTainter } from '../../domain/ports/cluster-writes.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { deletionTaintOwner } from '../../domain/deletion-owner.ts';
import { CORDONED_BEFORE_TAINT, CORDON_TAINT, REIMAGED_ANNOTATION, TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taints.ts';
import { withTimeout } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import { nodeListFacts } from '../../planning/facts/node-list-facts.ts';
import { hasReimageTaint, mayBeInUse } from '../../planning/state/deletions.ts';
import type { Log } from '../../telemetry/log.ts';
import { compareBy } from '../../lib/comparison.ts';

export interface DeletionTaint {
  readonly node: NodeName;
  /** Whether removing the taint un-cordons the node. */
  readonly uncordon: boolean;
  readonly cordonedBefore: boolean;
  /** The name of the process that wrote it. Empty: its writer left no name. */
  readonly owner: string;
}

/** What an undo must do if the writes are interrupted half-way. Known before the first write. */
export function intendedDeletionTaint(node: Node, { cordon, owner }: { readonly cordon: boolean; readonly owner: string }): DeletionTaint {
  return { node: node.name, uncordon: cordon && !node.unschedulable, cordonedBefore: node.unschedulable, owner };
}

/**
 * Writes the taint and, in the same write, the name of its owner. Returns the other writer if the node has a deletion taint already:
 * then nothing was written. Throws as the tainter does; then the caller removes the intended taint.
 */
export async function applyDeletionTaint(
  intended: DeletionTaint,
  options: { readonly tainter: NodeTainter; readonly cordon: boolean; readonly nowMs: number },
  signal: AbortSignal,
): Promise<DeletionTaint | { readonly heldBy: string }> {
  const { tainter, cordon } = options;
  const owner = deletionTaintOwner(intended.owner);
  if (intended.cordonedBefore && cordon) {
    const taint = { key: CORDONED_BEFORE_TAINT, value: 'true', effect: 'PreferNoSchedule' } as const;
    const { heldBy } = await tainter.taint(intended.node, taint, { cordon: false, owner }, signal);
    if (heldBy !== undefined) return { heldBy };
  }
  const value = String(Math.floor(options.nowMs / 1000));
  const done = await tainter.taint(intended.node, { key: TO_BE_DELETED_TAINT, value, effect: 'NoSchedule' }, { cordon, owner }, signal);
  return done.heldBy === undefined ? { ...intended, uncordon: done.uncordonLater } : { heldBy: done.heldBy };
}

/**
 * Notes that a reimage of the node is sent now, in the same write as its deletion taint, which is as old as the reimage then. Throws as the tainter does,
 * or `conflict` if the taint is another writer's by now.
 */
export async function noteReimage(
  { node, owner }: DeletionTaint,
  { tainter, nowMs }: { readonly tainter: NodeTainter; readonly nowMs: number },
  signal: AbortSignal,
): Promise<void> {
  const value = String(Math.floor(nowMs / 1000));
  const options = { cordon: false, owner: deletionTaintOwner(owner), note: { annotation: REIMAGED_ANNOTATION, value } };
  const { heldBy } = await tainter.taint(node, { key: TO_BE_DELETED_TAINT, value, effect: 'NoSchedule' }, options, signal);
  // guard: a node whose deletion taint is another writer's is not reimaged
  if (heldBy !== undefined)
    throw new AutoscalerError({ kind: 'conflict' }, `its deletion taint now belongs to ${heldBy || 'another writer'}`);
}

/**
 * Changes nothing if the taint has another owner by now. Removes the taint and the cordon first: after a crash in between, the second taint
 * must still show whose cordon it is. Returns whether a taint was removed.
 */
async function removeDeletionTaint(taint: DeletionTaint, tainter: NodeTainter, signal: AbortSignal): Promise<boolean> {
  const owner = deletionTaintOwner(taint.owner);
  const removed = await tainter.untaint(taint.node, TO_BE_DELETED_TAINT, { uncordon: taint.uncordon, owner }, signal);
  if (!taint.cordonedBefore) return removed;
  return (await tainter.untaint(taint.node, CORDONED_BEFORE_TAINT, { uncordon: false, owner }, signal)) || removed;
}

/** Returns the taint that an earlier run left on a node, or undefined. */
function deletionTaintOf(node: Node, cordon: boolean): DeletionTaint | undefined {
  const cordonedBefore = hasTaint(node.taints, CORDONED_BEFORE_TAINT);
  if (!hasTaint(node.taints, TO_BE_DELETED_TAINT) && !cordonedBefore) return undefined;
  return { node: node.name, uncordon: cordon && !cordonedBefore, cordonedBefore, owner: node.deletionOwner };
}

const UNTAINT_ATTEMPTS = 3;
const UNTAINT_RETRY_MS = 1_000;

/** Tries a few times. Returns the last error, or undefined after success. A taint that stays is a leftover for the next loop. */
export async function removeDeletionTaintWithRetry(
  taint: DeletionTaint,
  deps: { readonly tainter: NodeTainter; readonly clock: Clock },
  signal: AbortSignal,
): Promise<AutoscalerError | undefined> {
  let last: AutoscalerError | undefined;
  for (let attempt = 1; attempt <= UNTAINT_ATTEMPTS; attempt++) {
    try {
      if (attempt > 1) await deps.clock.sleep(UNTAINT_RETRY_MS, signal);
      await removeDeletionTaint(taint, deps.tainter, signal);
      return undefined;
    } catch (thrown) {
      last = asAutoscalerError(thrown);
      if (last.kind === 'not-found') return undefined;
      if (signal.aborted) return last;
    }
  }
  return last;
}

export interface LeftoversInput {
  readonly observation: Observation;
  /** After reduceRemovals and reduceObservation. */
  readonly state: LoopState;
  /** `runner.inFlight()`. */
  readonly inFlight: ReadonlySet<NodeName>;
  readonly tainter: NodeTainter;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  /** `policy.drain.cordon`. */
  readonly cordon: boolean;
  /** The name on this process's own deletion taints. */
  readonly self: string;
}

/** The plan counts on the freed nodes, so the loop waits for them, but no longer than this, milliseconds. */
const UNDO_WITHIN_MS = 10_000;
/** Calls that are under way at once. */
const UNDO_AT_ONCE = 10;

/**
 * Removes deletion taints from nodes whose removal is not under way: an earlier run or a late failure left them. Runs in every loop before
 * planning and costs nothing without such nodes. Returns the nodes freed within ten seconds; calls under way are given up then. A failure is
 * logged and tried again in the next loop, which begins with other nodes. Throws only `cancelled`.
 */
export async function undoLeftovers(input: LeftoversInput, signal: AbortSignal): Promise<readonly NodeName[]> {
  const leftovers = findLeftovers(input);
  if (leftovers.length === 0) return [];
  const freed: NodeName[] = [];
  const run = async (within: AbortSignal): Promise<void> => {
    for (let from = 0; from < leftovers.length && !within.aborted; from += UNDO_AT_ONCE) {
      const now = leftovers.slice(from, from + UNDO_AT_ONCE);
      await Promise.all(now.map(async ({ node, taint }) => (await freeNode(node, taint, input, within)) && freed.push(node.name)));
    }
  };
  const ended = await withTimeout(input.clock, { timeoutMs: UNDO_WITHIN_MS, signals: [signal], run });
  if (ended === 'timed-out')
    input.log.warn(
      { left: leftovers.length - freed.length, timeoutMs: UNDO_WITHIN_MS },
      'Deletion taints of earlier removals are left; the next loop goes on',
    );
  return freed;
}

/** The cluster with nodes that {@link undoLeftovers} freed as they are now: else a plan would request nodes for pods that fit on them. */
export function withFreedNodes(cluster: ClusterView, freed: readonly NodeName[], cordon: boolean): ClusterView {
  if (freed.length === 0) return cluster;
  const nodes = new Map(cluster.nodes);
  for (const name of freed) {
    const node = nodes.get(name);
    const taint = node === undefined ? undefined : deletionTaintOf(node, cordon);
    if (node === undefined || taint === undefined) continue;
    const gone = new Set([TO_BE_DELETED_TAINT, CORDONED_BEFORE_TAINT, ...(taint.uncordon ? [CORDON_TAINT.key] : [])]);
    const taints = node.taints.filter(({ key }) => !gone.has(key));
    nodes.set(name, { ...node, taints, unschedulable: node.unschedulable && !taint.uncordon, deletionOwner: '' });
  }
  return { ...cluster, nodes };
}

interface Leftover {
  readonly node: Node;
  readonly taint: DeletionTaint;
}

/** Finds all leftovers before any is changed. Each loop begins with other nodes, so that none whose write hangs holds the others. */
function findLeftovers(input: LeftoversInput): readonly Leftover[] {
  const found: Leftover[] = [];
  for (const node of nodeListFacts(input.observation.cluster.nodes).deletionTainted) {
    const taint = deletionTaintOf(node, input.cordon);
    if (taint !== undefined && isAbandoned(node, input)) found.push({ node, taint });
  }
  const { loopId } = input.observation;
  // guard: deletion taints that cannot be removed hold no others, loop after loop
  const first = found.length === 0 ? 0 : (loopId * UNDO_AT_ONCE) % found.length;
  const sorted = found.sort(compareBy((item) => item.node.name));
  return [...sorted.slice(first), ...sorted.slice(0, first)];
}

/**
 * Whether the taint may be removed. It stays on nodes of unmanaged groups, nodes under removal by us, nodes whose owner may still be at
 * work, nodes whose instance Azure is deleting, and nodes whose instance is unknown.
 */
function isAbandoned(node: Node, input: LeftoversInput): boolean {
  const { cloud } = input.observation;
  if (input.inFlight.has(node.name) || input.state.deleting.has(node.name) || node.deletionAtMs !== undefined) return false;
  // Its writer ended with the request: the state has it as long as it may come back.
  if (!hasReimageTaint(node) && mayBeInUse(node, input.state, input)) return false;
  const group = cloud.groups.find((candidate) => candidate.id === cloud.groupOfNode.get(node.name));
  const key = cloud.instanceOfNode.get(node.name);
  const instance = group?.instances?.find((candidate) => candidate.key === key);
  return instance !== undefined && instance.state !== 'deleting';
}

async function freeNode(node: Node, taint: DeletionTaint, input: LeftoversInput, signal: AbortSignal): Promise<boolean> {
  const subject = { kind: 'Node', name: node.name, uid: node.uid } as const;
  try {
    // guard: a node counts as freed only if its taint was removed
    if (!(await removeDeletionTaint(taint, input.tainter, signal))) return false;
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    input.log.warn({ node: node.name, err: error }, 'Deletion taint of an earlier removal could not be removed');
    const message = 'could not remove the deletion taint of an earlier run';
    input.events.record({ subject, type: 'Warning', reason: 'ClusterAutoscalerCleanup', message });
    return false;
  }
  input.log.info({ node: node.name, uncordoned: taint.uncordon }, 'Deletion taint of an earlier removal removed');
  const message = 'removed the deletion taint of an earlier run';
  input.events.record({ subject, type: 'Normal', reason: 'ClusterAutoscalerCleanup', message });
  return true;
}
