/**
 * The deletion taint (ToBeDeleted), with a cordon when the policy demands it. After a crash the taint alone cannot show who
 * cordoned the node. So a node that was cordoned before gets a second, harmless taint first, and its cordon stays when the
 * deletion taint is removed. Must not know why a node is removed.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { NodeTainter } from '../../domain/ports/cluster-writes.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taints.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import { isForeignDeletionTaint } from '../../planning/state/deletions.ts';
import type { Log } from '../../telemetry/log.ts';
import { compareBy } from '../../lib/comparison.ts';

/** On nodes that were cordoned before the deletion taint was added. Its effect is PreferNoSchedule. */
export const CORDONED_BEFORE_TAINT = 'aks-autoscaler/cordoned-before';

export interface DeletionTaint {
  readonly node: NodeName;
  /** Whether removing the taint un-cordons the node. */
  readonly uncordon: boolean;
  readonly cordonedBefore: boolean;
}

/** What an undo must do if the writes are interrupted half-way. Known before the first write. */
export function intendedDeletionTaint(node: Node, cordon: boolean): DeletionTaint {
  return { node: node.name, uncordon: cordon && !node.unschedulable, cordonedBefore: node.unschedulable };
}

/** Writes the taint. Throws as the tainter does; then the caller removes the intended taint. */
export async function applyDeletionTaint(
  intended: DeletionTaint,
  options: { readonly tainter: NodeTainter; readonly cordon: boolean; readonly nowMs: number },
  signal: AbortSignal,
): Promise<DeletionTaint> {
  const { tainter, cordon } = options;
  if (intended.cordonedBefore && cordon) {
    await tainter.taint(
      intended.node,
      { key: CORDONED_BEFORE_TAINT, value: 'true', effect: 'PreferNoSchedule' },
      { cordon: false },
      signal,
    );
  }
  const value = String(Math.floor(options.nowMs / 1000));
  const done = await tainter.taint(intended.node, { key: TO_BE_DELETED_TAINT, value, effect: 'NoSchedule' }, { cordon }, signal);
  return { ...intended, uncordon: done.uncordonLater };
}

/** Removes the taint and the cordon first. After a crash in between, the second taint must still show whose cordon it is. */
async function removeDeletionTaint(taint: DeletionTaint, tainter: NodeTainter, signal: AbortSignal): Promise<void> {
  await tainter.untaint(taint.node, TO_BE_DELETED_TAINT, { uncordon: taint.uncordon }, signal);
  if (taint.cordonedBefore) await tainter.untaint(taint.node, CORDONED_BEFORE_TAINT, { uncordon: false }, signal);
}

/** Returns the taint that an earlier run left on a node, or undefined. */
function deletionTaintOf(node: Node, cordon: boolean): DeletionTaint | undefined {
  const cordonedBefore = hasTaint(node.taints, CORDONED_BEFORE_TAINT);
  if (!hasTaint(node.taints, TO_BE_DELETED_TAINT) && !cordonedBefore) return undefined;
  return { node: node.name, uncordon: cordon && !cordonedBefore, cordonedBefore };
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
  readonly log: Log;
  /** `policy.drain.cordon`. */
  readonly cordon: boolean;
}

/**
 * Removes our deletion taint from nodes whose removal is not under way: an earlier run or a late failure left it. Runs in
 * every loop before planning and costs nothing without such nodes. Returns the freed nodes. A failure is logged and tried
 * again in the next loop. Throws only `cancelled`.
 */
export async function undoLeftovers(input: LeftoversInput, signal: AbortSignal): Promise<readonly NodeName[]> {
  const freed: NodeName[] = [];
  for (const { node, taint } of findLeftovers(input)) {
    if (await freeNode(node, taint, input, signal)) freed.push(node.name);
  }
  return freed;
}

interface Leftover {
  readonly node: Node;
  readonly taint: DeletionTaint;
}

/** Finds all leftovers before any is changed. */
function findLeftovers(input: LeftoversInput): readonly Leftover[] {
  const found: Leftover[] = [];
  for (const node of input.observation.cluster.nodes.values()) {
    const taint = deletionTaintOf(node, input.cordon);
    if (taint !== undefined && isAbandoned(node, input)) found.push({ node, taint });
  }
  return found.sort(compareBy((item) => item.node.name));
}

/**
 * Whether the taint may be removed. It stays on nodes of unmanaged groups, nodes under removal by us or another component,
 * nodes whose instance Azure is deleting, and nodes whose instance is unknown.
 */
function isAbandoned(node: Node, input: LeftoversInput): boolean {
  const { cloud, nowMs } = input.observation;
  if (input.inFlight.has(node.name) || input.state.deleting.has(node.name) || node.deletionAtMs !== undefined) return false;
  if (isForeignDeletionTaint(node.name, input.state, nowMs)) return false;
  const group = cloud.groups.find((candidate) => candidate.id === cloud.groupOfNode.get(node.name));
  const key = cloud.instanceOfNode.get(node.name);
  const instance = group?.instances?.find((candidate) => candidate.key === key);
  return instance !== undefined && instance.state !== 'deleting';
}

async function freeNode(node: Node, taint: DeletionTaint, input: LeftoversInput, signal: AbortSignal): Promise<boolean> {
  const subject = { kind: 'Node', name: node.name, uid: node.uid } as const;
  try {
    await removeDeletionTaint(taint, input.tainter, signal);
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
