/**
 * The mark that a node is being removed: the ToBeDeleted taint, with a cordon when the policy says so. The taint alone
 * cannot tell after a crash who cordoned the node; so a node that was cordoned before us gets a second, harmless taint
 * first. Who undoes the mark leaves the cordon of such a node alone.
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
import { isAnothersMark } from '../../planning/state/deletions.ts';
import type { Log } from '../../telemetry/log.ts';
import { compareBy } from '../../lib/comparison.ts';

/** On nodes that somebody else had cordoned before we marked them. PreferNoSchedule. */
export const CORDONED_BEFORE_TAINT = 'aks-autoscaler/cordoned-before';

export interface DeletionMark {
  readonly node: NodeName;
  /** Whether undoing the mark un-cordons. */
  readonly uncordon: boolean;
  readonly cordonedBefore: boolean;
}

/** What undoing will mean if marking is cut short half-way: known before the first write. */
export function intendedMark(node: Node, cordon: boolean): DeletionMark {
  return { node: node.name, uncordon: cordon && !node.unschedulable, cordonedBefore: node.unschedulable };
}

/** Writes the mark. Throws as the tainter does; the caller then undoes the intended mark. */
export async function markForDeletion(
  intended: DeletionMark,
  options: { readonly tainter: NodeTainter; readonly cordon: boolean; readonly nowMs: number },
  signal: AbortSignal,
): Promise<DeletionMark> {
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

/** Takes the mark off, the cordon first: a crash in between must leave the marker that says whose cordon it is. */
export async function unmark(mark: DeletionMark, tainter: NodeTainter, signal: AbortSignal): Promise<void> {
  await tainter.untaint(mark.node, TO_BE_DELETED_TAINT, { uncordon: mark.uncordon }, signal);
  if (mark.cordonedBefore) await tainter.untaint(mark.node, CORDONED_BEFORE_TAINT, { uncordon: false }, signal);
}

/** The mark that a node carries from an earlier run, or undefined. */
export function foundMark(node: Node, cordon: boolean): DeletionMark | undefined {
  const cordonedBefore = hasTaint(node.taints, CORDONED_BEFORE_TAINT);
  if (!hasTaint(node.taints, TO_BE_DELETED_TAINT) && !cordonedBefore) return undefined;
  return { node: node.name, uncordon: cordon && !cordonedBefore, cordonedBefore };
}

const UNMARK_ATTEMPTS = 3;
const UNMARK_RETRY_MS = 1_000;

/** Tries a few times; returns the last error, or undefined when the mark is off. What stays is a leftover for the next loop. */
export async function unmarkWithRetry(
  mark: DeletionMark,
  tools: { readonly tainter: NodeTainter; readonly clock: Clock },
  signal: AbortSignal,
): Promise<AutoscalerError | undefined> {
  let last: AutoscalerError | undefined;
  for (let attempt = 1; attempt <= UNMARK_ATTEMPTS; attempt++) {
    try {
      if (attempt > 1) await tools.clock.sleep(UNMARK_RETRY_MS, signal);
      await unmark(mark, tools.tainter, signal);
      return undefined;
    } catch (thrown) {
      last = asAutoscalerError(thrown);
      if (last.kind === 'not-found') return undefined;
      if (signal.aborted) return last;
    }
  }
  return last;
}

// Puts right what an earlier run left half done: nodes that carry our deletion mark while nobody works on them. Whether
// we cordoned such a node is known from the mark itself (deletion-mark.ts); when somebody else had, the cordon stays.

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
 * Frees nodes that carry our deletion mark while nobody works on them. Costs nothing when there are none: call it in
 * every loop, before planning (a deletion that failed late leaves such a node, too). Returns the nodes that were freed;
 * a node that could not be freed is logged and tried again in the next loop. Throws only `cancelled`.
 */
export async function undoLeftovers(input: LeftoversInput, signal: AbortSignal): Promise<readonly NodeName[]> {
  const freed: NodeName[] = [];
  for (const { node, mark } of findLeftovers(input)) {
    if (await free(node, mark, input, signal)) freed.push(node.name);
  }
  return freed;
}

interface Leftover {
  readonly node: Node;
  readonly mark: DeletionMark;
}

/** All of them are understood before any is touched. */
function findLeftovers(input: LeftoversInput): readonly Leftover[] {
  const found: Leftover[] = [];
  for (const node of input.observation.cluster.nodes.values()) {
    const mark = foundMark(node, input.cordon);
    if (mark !== undefined && isAbandoned(node, input)) found.push({ node, mark });
  }
  return found.sort(compareBy((item) => item.node.name));
}

/** Not of our groups, still worked on (by us or by somebody else), on its way out in the cloud, or not known well enough: left alone. */
function isAbandoned(node: Node, input: LeftoversInput): boolean {
  const { cloud, nowMs } = input.observation;
  if (input.inFlight.has(node.name) || input.state.deleting.has(node.name) || node.deletionAtMs !== undefined) return false;
  if (isAnothersMark(node.name, input.state, nowMs)) return false;
  const group = cloud.groups.find((candidate) => candidate.id === cloud.groupOfNode.get(node.name));
  const key = cloud.instanceOfNode.get(node.name);
  const instance = group?.instances?.find((candidate) => candidate.key === key);
  return instance !== undefined && instance.state !== 'deleting';
}

async function free(node: Node, mark: DeletionMark, input: LeftoversInput, signal: AbortSignal): Promise<boolean> {
  const subject = { kind: 'Node', name: node.name, uid: node.uid } as const;
  try {
    await unmark(mark, input.tainter, signal);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    input.log.warn({ node: node.name, err: error }, 'The mark of an earlier removal could not be taken off.');
    const message = 'the deletion mark of an earlier run could not be taken off';
    input.events.record({ subject, type: 'Warning', reason: 'ClusterAutoscalerCleanup', message });
    return false;
  }
  input.log.info({ node: node.name, uncordoned: mark.uncordon }, 'The mark of an earlier removal was taken off.');
  const message = 'took off the deletion mark of an earlier run';
  input.events.record({ subject, type: 'Normal', reason: 'ClusterAutoscalerCleanup', message });
  return true;
}
