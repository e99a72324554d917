/**
 * Whose the deletion marks on nodes are. One that this process wrote, or found when it began, is ours to take off at once
 * when nobody works on the node any more. One that comes up later is somebody else's: another autoscaler, or a person.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { LoopState, SeenMark } from '../../domain/loop-state.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taint.ts';

/** The Cluster Autoscaler's figure: who marked a node and works on it has deleted its machine by then. */
export const MARK_BELIEVED_MS = 300_000;

/** When the mark says that it was written, milliseconds since the epoch; undefined: there is none, or it does not say. */
export function writtenAtMs(taints: Node['taints']): number | undefined {
  const mark = taints.find(({ key }) => key === TO_BE_DELETED_TAINT);
  return mark !== undefined && /^\d{1,12}$/.test(mark.value) ? Number(mark.value) * 1000 : undefined;
}

/** Keeps what is known of each mark, and tells new ones apart. Call it before the targets of the observation are taken in. */
export function trackMarks(state: LoopState, { cluster, nowMs }: Observation): LoopState['marks'] {
  const isFirstLook = state.targets === undefined;
  const marks = new Map<NodeName, SeenMark>();
  for (const [name, { taints }] of cluster.nodes) {
    const known = state.marks?.get(name);
    const isMarked = hasTaint(taints, TO_BE_DELETED_TAINT);
    // Our own may be written any moment, and the watch may be behind.
    if (known !== undefined && (isMarked || (known.ours && nowMs - known.sinceMs < MARK_BELIEVED_MS))) marks.set(name, known);
    else if (isMarked)
      marks.set(name, { sinceMs: Math.min(nowMs, writtenAtMs(taints) ?? nowMs), ours: isFirstLook || state.deleting.has(name) });
  }
  return marks.size === 0 ? undefined : marks;
}

/** Somebody else marked the node lately and may be at work on it. */
export function isAnothersMark(name: NodeName, { marks }: Pick<LoopState, 'marks'>, nowMs: number): boolean {
  const mark = marks?.get(name);
  return mark !== undefined && !mark.ours && nowMs - mark.sinceMs < MARK_BELIEVED_MS;
}

/** Nodes that somebody else marked since the state before. */
export function newMarksOfOthers(before: Pick<LoopState, 'marks'>, after: Pick<LoopState, 'marks'>): readonly NodeName[] {
  return [...(after.marks ?? [])].flatMap(([name, { ours }]) => (ours || before.marks?.has(name) === true ? [] : [name])).sort();
}
