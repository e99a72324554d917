import type { InstanceKey, NodeName } from '../../domain/ids.ts';
import type { LoopState, SeenDeletionTaint } from '../../domain/loop-state.ts';
import type { InstanceState } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taints.ts';

/**
 * An accepted deletion shows as `deleting` at once, for as long as it takes. If two reads of the instance list at their longest interval
 * still show `running`, the deletion was lost. The node then loses its taint and is evaluated again.
 */
const LOST_DELETION_MS = 600_000;

/**
 * The nodes that are being removed. An entry ends when the node is gone, when Azure reports that the deletion failed, or when the deletion
 * was lost. A node with our taint whose instance is being deleted is added, also after a restart.
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

// The owner of each deletion taint. A taint that this process wrote, or found at its start, is ours: it is removed at once if no removal
// of the node is in progress. A taint that appears later belongs to another autoscaler or to a person.

/** The Cluster Autoscaler's figure: the owner of the taint has deleted the instance by then. */
export const FOREIGN_TAINT_TRUSTED_MS = 300_000;

/** When the deletion taint was written, milliseconds since the epoch. undefined: no taint, or its value cannot be parsed. */
export function deletionTaintedAtMs(taints: Node['taints']): number | undefined {
  const taint = taints.find(({ key }) => key === TO_BE_DELETED_TAINT);
  return taint !== undefined && /^\d{1,12}$/.test(taint.value) ? Number(taint.value) * 1000 : undefined;
}

/** Keeps what is known of each taint and decides the owner of new ones. Call it before the observation's targets are stored. */
export function trackDeletionTaints(state: LoopState, { cluster, nowMs }: Observation): LoopState['marks'] {
  const isFirstLook = state.targets === undefined;
  const marks = new Map<NodeName, SeenDeletionTaint>();
  for (const [name, { taints }] of cluster.nodes) {
    const known = state.marks?.get(name);
    const isTainted = hasTaint(taints, TO_BE_DELETED_TAINT);
    // Our own taint may be written at any moment, and the watch may lag.
    if (known !== undefined && (isTainted || (known.ours && nowMs - known.sinceMs < FOREIGN_TAINT_TRUSTED_MS))) marks.set(name, known);
    else if (isTainted)
      marks.set(name, { sinceMs: Math.min(nowMs, deletionTaintedAtMs(taints) ?? nowMs), ours: isFirstLook || state.deleting.has(name) });
  }
  return marks.size === 0 ? undefined : marks;
}

/** Whether another writer tainted the node recently and may be removing it. */
export function isForeignDeletionTaint(name: NodeName, { marks }: Pick<LoopState, 'marks'>, nowMs: number): boolean {
  const mark = marks?.get(name);
  return mark !== undefined && !mark.ours && nowMs - mark.sinceMs < FOREIGN_TAINT_TRUSTED_MS;
}

/** Nodes that another writer tainted since the previous state. */
export function newForeignDeletionTaints(before: Pick<LoopState, 'marks'>, after: Pick<LoopState, 'marks'>): readonly NodeName[] {
  return [...(after.marks ?? [])].flatMap(([name, { ours }]) => (ours || before.marks?.has(name) === true ? [] : [name])).sort();
}
