import type { InstanceKey, NodeName } from '../../domain/ids.ts';
import type { LoopState, SeenDeletionTaint } from '../../domain/loop-state.ts';
import type { InstanceState } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taints.ts';

/**
 * An accepted deletion shows as `deleting` at once, for as long as it takes. A machine that is still called running after
 * two readings of its list at their longest interval was never deleted: the node gives its mark back and is judged anew.
 */
const LOST_DELETION_MS = 600_000;

/**
 * Which nodes are on their way out: entries end when the node has gone, when Azure says that the deletion failed, or when
 * it was lost. A node that carries our taint and whose instance is being deleted belongs here even after a restart.
 */
export function reduceDeletions(state: LoopState, observation: Observation): LoopState['deleting'] {
  const { cluster, cloud, nowMs } = observation;
  const failed = new Set<InstanceKey>(cloud.events.flatMap((event) => (event.kind === 'delete-failed' ? event.instances : [])));
  const states = instanceStates(observation);
  const deleting = new Map<NodeName, { group: Deletion['group']; instance: InstanceKey; sinceMs: number }>();
  for (const [name, entry] of state.deleting) {
    const lost = nowMs - entry.sinceMs > LOST_DELETION_MS && states.get(entry.instance) === 'running';
    if (cluster.nodes.has(name) && !failed.has(entry.instance) && !lost) deleting.set(name, entry);
  }
  for (const [name, node] of cluster.nodes) {
    const group = cloud.groupOfNode.get(name);
    const instance = cloud.instanceOfNode.get(name);
    if (deleting.has(name) || group === undefined || instance === undefined || !hasTaint(node.taints, TO_BE_DELETED_TAINT)) continue;
    if (states.get(instance) === 'deleting') deleting.set(name, { group, instance, sinceMs: nowMs });
  }
  return deleting;
}

type Deletion = LoopState['deleting'] extends ReadonlyMap<NodeName, infer Entry> ? Entry : never;

function instanceStates(observation: Observation): ReadonlyMap<InstanceKey, InstanceState> {
  const states = new Map<InstanceKey, InstanceState>();
  for (const group of observation.cloud.groups) for (const instance of group.instances ?? []) states.set(instance.key, instance.state);
  return states;
}

// Whose the deletion marks on nodes are. One that this process wrote, or found when it began, is ours to take off at once
// when nobody works on the node any more. One that comes up later is somebody else's: another autoscaler, or a person.

/** The Cluster Autoscaler's figure: who marked a node and works on it has deleted its machine by then. */
export const FOREIGN_TAINT_TRUSTED_MS = 300_000;

/** When the mark says that it was written, milliseconds since the epoch; undefined: there is none, or it does not say. */
export function deletionTaintedAtMs(taints: Node['taints']): number | undefined {
  const mark = taints.find(({ key }) => key === TO_BE_DELETED_TAINT);
  return mark !== undefined && /^\d{1,12}$/.test(mark.value) ? Number(mark.value) * 1000 : undefined;
}

/** Keeps what is known of each mark, and tells new ones apart. Call it before the targets of the observation are taken in. */
export function trackDeletionTaints(state: LoopState, { cluster, nowMs }: Observation): LoopState['marks'] {
  const isFirstLook = state.targets === undefined;
  const marks = new Map<NodeName, SeenDeletionTaint>();
  for (const [name, { taints }] of cluster.nodes) {
    const known = state.marks?.get(name);
    const isMarked = hasTaint(taints, TO_BE_DELETED_TAINT);
    // Our own may be written any moment, and the watch may be behind.
    if (known !== undefined && (isMarked || (known.ours && nowMs - known.sinceMs < FOREIGN_TAINT_TRUSTED_MS))) marks.set(name, known);
    else if (isMarked)
      marks.set(name, { sinceMs: Math.min(nowMs, deletionTaintedAtMs(taints) ?? nowMs), ours: isFirstLook || state.deleting.has(name) });
  }
  return marks.size === 0 ? undefined : marks;
}

/** Somebody else marked the node lately and may be at work on it. */
export function isForeignDeletionTaint(name: NodeName, { marks }: Pick<LoopState, 'marks'>, nowMs: number): boolean {
  const mark = marks?.get(name);
  return mark !== undefined && !mark.ours && nowMs - mark.sinceMs < FOREIGN_TAINT_TRUSTED_MS;
}

/** Nodes that somebody else marked since the state before. */
export function newForeignDeletionTaints(before: Pick<LoopState, 'marks'>, after: Pick<LoopState, 'marks'>): readonly NodeName[] {
  return [...(after.marks ?? [])].flatMap(([name, { ours }]) => (ours || before.marks?.has(name) === true ? [] : [name])).sort();
}
