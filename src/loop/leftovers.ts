/**
 * Puts right what an earlier run left half done: nodes that carry our deletion mark while nobody works on them. Whether
 * we cordoned such a node is known from the mark itself (deletion-mark.ts); when somebody else had, the cordon stays.
 */
import { asAutoscalerError } from '../domain/errors.ts';
import type { NodeName } from '../domain/ids.ts';
import type { LoopState } from '../domain/loop-state.ts';
import type { Node } from '../domain/node.ts';
import type { Observation } from '../domain/observation.ts';
import type { EventRecorder } from '../ports/event-recorder.ts';
import type { NodeTainter } from '../ports/node-tainter.ts';
import type { Log } from '../telemetry/log.ts';
import { isAnothersMark } from '../planning/state/marks.ts';
import { foundMark, unmark, type DeletionMark } from './deletion-mark.ts';

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
  return found.sort((left, right) => (left.node.name < right.node.name ? -1 : 1));
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
