/**
 * Which nodes are being removed, by us or by another daemon, as their taints and their instances show it. Pure.
 * Idea: deletion taint.
 */
import type { InstanceKey, NodeName } from '../../domain/ids.ts';
import type { LoopState, NodeInDeletion, SeenDeletionTaint } from '../../domain/loop-state.ts';
import type { InstanceState } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import type { CloudView, Observation } from '../../domain/observation.ts';
import { isOwnerOver } from '../../domain/deletion-owner.ts';
import { CORDONED_BEFORE_TAINT, TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taints.ts';
import { nodeListFacts } from '../facts/node-list-facts.ts';
import { sickNodeOf } from '../facts/sick-nodes.ts';

/**
 * An accepted deletion shows as `deleting` at once, for as long as it takes. If two reads of the instance list at their longest interval
 * still show `running`, the deletion was lost. The node then loses its taint and is evaluated again. A drain may take longer than that.
 */
const LOST_DELETION_MS = 600_000;

/** A reimage is tried once within this time; a node that is sick again is replaced. */
const REIMAGED_LATELY_MS = 24 * 3_600_000;

/** Whether the node was reimaged within a day, or that was tried. */
export function wasReimagedLately({ reimagedAtMs }: Pick<Node, 'reimagedAtMs'>, nowMs: number): boolean {
  return reimagedAtMs !== undefined && nowMs - reimagedAtMs < REIMAGED_LATELY_MS;
}

/** Whether the deletion taint of the node is that of its reimage, not of a removal before or after it. */
export function hasReimageTaint({ taints, reimagedAtMs }: Pick<Node, 'taints' | 'reimagedAtMs'>): boolean {
  return reimagedAtMs !== undefined && deletionTaintedAtMs(taints) === reimagedAtMs;
}

/** Whether the node came back from its last reimage, ready and without a condition that makes it sick. */
export function isBackFromReimage({ name, readiness, reimagedAtMs }: Node, seen: Pick<Observation, 'cluster' | 'cloud'>): boolean {
  // guard: a node counts as reimaged once it has turned ready after that and is well
  return reimagedAtMs !== undefined && readiness.ready && readiness.sinceMs > reimagedAtMs && sickNodeOf(name, seen) === undefined;
}

/** Whether a reimage of the node was sent, and it still has time to come back well. By the node alone, so that every leader knows it. */
function isBeingReimaged(node: Node, observation: Observation, policy: Policy): boolean {
  if (node.reimagedAtMs === undefined || !hasReimageTaint(node) || isBackFromReimage(node, observation)) return false;
  const { cloud, nowMs } = observation;
  const group = cloud.groups.find(({ id }) => id === cloud.groupOfNode.get(node.name));
  // guard: a node that does not come back from its reimage is not awaited for ever
  return nowMs - node.reimagedAtMs < optionsOf(group, policy).maxStartupMs;
}

/**
 * The nodes that are being removed. An entry ends when the node is gone, when Azure reports that the deletion failed, or when the deletion
 * was lost. A node with our taint whose instance is being deleted is added, also after a restart, and so is one that is being reimaged.
 */
export function reduceDeletions(state: LoopState, observation: Observation, policy: Policy): LoopState['deleting'] {
  const { cluster, cloud, nowMs } = observation;
  const failed = new Set<InstanceKey>(cloud.events.flatMap((event) => (event.kind === 'delete-failed' ? event.instances : [])));
  const tainted = nodeListFacts(cluster.nodes).deletionTainted;
  // In a cluster at rest nothing is being removed.
  const states = state.deleting.size + tainted.length === 0 ? NO_STATES : instanceStates(observation);
  const deleting = new Map<NodeName, NodeInDeletion>();
  for (const [name, entry] of state.deleting) {
    // guard: a drain that takes long is no lost deletion
    const lost = nowMs - (entry.sentAtMs ?? nowMs) > LOST_DELETION_MS && states.get(entry.instance) === 'running';
    if (isBeingDeleted(cluster.nodes.get(name)) && !failed.has(entry.instance) && !lost) deleting.set(name, entry);
  }
  for (const node of tainted) {
    const found = deleting.has(node.name) ? undefined : deletionByTaint(node, state, { observation, policy, states });
    if (found !== undefined) deleting.set(node.name, found);
  }
  return deleting;
}

interface SeenDeletions {
  readonly observation: Observation;
  readonly policy: Policy;
  readonly states: ReadonlyMap<InstanceKey, InstanceState>;
}

/** undefined: its taint alone does not show that its instance is being deleted or reimaged. */
function deletionByTaint(
  node: Node,
  state: Pick<LoopState, 'deleting'>,
  { observation, policy, states }: SeenDeletions,
): NodeInDeletion | undefined {
  const { cloud, nowMs } = observation;
  const [group, instance] = [cloud.groupOfNode.get(node.name), cloud.instanceOfNode.get(node.name)];
  if (group === undefined || instance === undefined || !hasTaint(node.taints, TO_BE_DELETED_TAINT)) return undefined;
  // guard: a node that is being reimaged is no capacity, also after a restart
  if (states.get(instance) !== 'deleting' && !isBeingReimaged(node, observation, policy)) return undefined;
  return state.deleting.get(node.name) ?? { group, instance, sinceMs: nowMs, sentAtMs: nowMs };
}

/** What the node itself shows of a reimage decides about that. */
function isBeingDeleted(node: Node | undefined): boolean {
  return node !== undefined && !hasReimageTaint(node);
}

const NO_STATES: ReadonlyMap<InstanceKey, InstanceState> = new Map();

function instanceStates(observation: Observation): ReadonlyMap<InstanceKey, InstanceState> {
  const states = new Map<InstanceKey, InstanceState>();
  for (const group of observation.cloud.groups) for (const instance of group.instances ?? []) states.set(instance.key, instance.state);
  return states;
}

/** How long a deletion taint whose owner may still be at work is not touched. Longer than the usual drain. */
const DELETION_TAINT_TRUSTED_MS = 600_000;

/** When the deletion taint was written, milliseconds since the epoch. undefined: no taint, or its value cannot be parsed. */
export function deletionTaintedAtMs(taints: Node['taints']): number | undefined {
  const taint = taints.find(({ key }) => key === TO_BE_DELETED_TAINT);
  return taint !== undefined && /^\d{1,12}$/.test(taint.value) ? Number(taint.value) * 1000 : undefined;
}

/** Since when nodes have a deletion taint: by the taint's value, or by when it was first seen. A taint that was written again is new. */
export function trackDeletionTaints(
  { deletionTaints: before }: Pick<LoopState, 'deletionTaints'>,
  { cluster, nowMs }: Observation,
): LoopState['deletionTaints'] {
  const seen = new Map<NodeName, SeenDeletionTaint>();
  for (const node of nodeListFacts(cluster.nodes).deletionTainted) {
    const { name } = node;
    const text = deletionTaintText(node);
    if (text === undefined) continue;
    const known = before.get(name);
    const sinceMs = Math.min(nowMs, deletionTaintedAtMs(node.taints) ?? nowMs);
    seen.set(name, known?.text === text ? known : { sinceMs, text });
  }
  return seen;
}

/** Equal texts are the same write of the taint. undefined: the node has neither of the taints that a removal writes. */
function deletionTaintText({ taints, deletionOwner }: Node): string | undefined {
  const taint = taints.find(({ key }) => key === TO_BE_DELETED_TAINT) ?? taints.find(({ key }) => key === CORDONED_BEFORE_TAINT);
  return taint === undefined ? undefined : `${taint.key} ${taint.value} ${deletionOwner}`;
}

/** Whether the owner of the node's deletion taint may still be removing the node: it is another process, not known to have ended. */
export function mayBeInUse(
  node: Pick<Node, 'name' | 'deletionOwner' | 'readiness'>,
  { deletionTaints }: Pick<LoopState, 'deletionTaints'>,
  { self, observation: { cloud, nowMs } }: { readonly self: string; readonly observation: Pick<Observation, 'cloud' | 'nowMs'> },
): boolean {
  const seen = deletionTaints.get(node.name);
  if (seen === undefined || wasStartedAgain(node, seen, cloud)) return false;
  // guard: the taint of a daemon that may be at work is not removed
  return !isOwnerOver(node.deletionOwner, self) && nowMs - seen.sinceMs < DELETION_TAINT_TRUSTED_MS;
}

/**
 * Whether the removal that the taint is of has ended: where nodes are stopped instead of deleted, one that turned ready after its taint was written
 * was stopped and started since. If it was a kubelet that came back in the middle of a drain, its owner gives the drain up.
 */
function wasStartedAgain({ name, readiness }: Pick<Node, 'name' | 'readiness'>, { sinceMs }: SeenDeletionTaint, cloud: CloudView): boolean {
  // guard: a taint counts as left behind only on a node that turned ready after it
  if (!readiness.ready || readiness.sinceMs <= sinceMs) return false;
  // guard: the taint of an ended removal keeps no started node from pods
  return cloud.groups.find(({ id }) => id === cloud.groupOfNode.get(name))?.stopped?.kind === 'stops';
}

/** Nodes whose deletion taint is new since the previous state, and whose owner may be removing them. */
export function newForeignDeletionTaints(
  before: Pick<LoopState, 'deletionTaints'>,
  after: LoopState,
  self: string,
  observation: Observation,
): readonly NodeName[] {
  const { cluster } = observation;
  return [...after.deletionTaints]
    .flatMap(([name, { text }]) => {
      const node = cluster.nodes.get(name);
      const isNew = node !== undefined && before.deletionTaints.get(name)?.text !== text;
      return isNew && mayBeInUse(node, after, { self, observation }) ? [name] : [];
    })
    .sort();
}

/** Whether a deletion taint shows that the node is about to be deleted. A taint without a readable time always counts. */
export function isTaintedForDeletion({ taints }: Pick<Node, 'taints'>, nowMs: number): boolean {
  if (!hasTaint(taints, TO_BE_DELETED_TAINT)) return false;
  const atMs = deletionTaintedAtMs(taints);
  return atMs === undefined || nowMs - atMs < DELETION_TAINT_TRUSTED_MS;
}
