/**
 * What repacks mean for single nodes: which are removed or were added by one, and whose pods were moved lately. Must not know how a set is found.
 */
import { podName, type NodeGroupId, type NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Node } from '../../domain/node.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ClusterView, Observation } from '../../domain/observation.ts';
import type { RemovalOutcome } from '../../domain/outcome.ts';
import type { Removal, UnremovableNode } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import type { MovedPods, RepackMemory, RepackPolicy, RunningRepack } from '../../domain/repack.ts';
import { formatDuration } from '../../lib/duration.ts';
import { wasReimagedLately } from '../state/deletions.ts';

export interface RepackedNodes {
  /** Nodes that are removed now, however much of them is used, and the condition of those that are sick. */
  readonly removing: ReadonlyMap<NodeName, string | undefined>;
  /** The repack that the node was added for, and whose pods have yet to come to it. */
  readonly addedFor: (node: NodeName, group: NodeGroupId) => RunningRepack | undefined;
  /** Why the node stays: one of its pods was moved to it lately. undefined: none was. */
  readonly movedTo: (node: NodeName) => StaysForPod | undefined;
}

type StaysForPod = Pick<UnremovableNode, 'reason' | 'detail'> & { readonly recheckAtMs: number };

interface RepackedInput {
  readonly observation: Observation;
  readonly state: Pick<LoopState, 'repacks'>;
  readonly policy: Pick<Policy, 'repack'>;
}

export function repackedNodes({ observation, state: { repacks }, policy }: RepackedInput): RepackedNodes {
  const { running, moved } = repacks;
  const { nodes } = observation.cluster;
  const removing = running
    .filter(({ stage }) => stage === 'draining')
    // guard: a node that came back from its reimage is not removed by the set that reimaged it
    .flatMap((repack) => repack.set.remove.filter(({ node }) => !reimagedBy(repack, nodes.get(node))));
  const adding = running.filter(({ stage, set }) => stage !== 'checked' && set.add !== undefined);
  let held: ReadonlyMap<NodeName, StaysForPod> | undefined;
  return {
    removing: new Map(removing.map(({ node, condition }) => [node, condition])),
    addedFor: (node, group) => adding.find(({ set, before }) => set.add?.group === group && !before.includes(node)),
    movedTo: (node) => (held ??= nodesOfMovedPods(observation, moved, policy.repack)).get(node),
  };
}

/** A pod that runs for too short a time to be moved: it may have been moved already. undefined: there is none. */
export function youngPod(movable: readonly Pod[], minPodAgeMs: number, nowMs: number): string | undefined {
  const young = movable.find(({ createdAtMs }) => nowMs - createdAtMs < minPodAgeMs);
  return young === undefined ? undefined : podName(young);
}

interface Reimaged {
  readonly node: Node;
  readonly group: Pick<NodeGroup, 'kind' | 'options'>;
}

/** Why the node is replaced instead, as a part of a sentence. Empty: its rules do not ask for a reimage. undefined: it is reimaged. */
export function reasonAgainstReimage({ node, group }: Reimaged, nowMs: number): string | undefined {
  // guard: a sick node is reimaged only where that is asked for
  if (group.options.sickNodes?.remedy !== 'reimage') return '';
  // guard: only instances of Uniform scale sets are reimaged
  if (group.kind !== 'vmss-uniform') return `only nodes of Uniform scale sets are reimaged, and its pool ${NOT_UNIFORM[group.kind]}`;
  // guard: a reimage is tried once within a day
  return wasReimagedLately(node, nowMs) ? `a reimage was tried ${formatDuration(nowMs - (node.reimagedAtMs ?? nowMs))} ago` : undefined;
}

const NOT_UNIFORM = { 'vmss-flexible': 'has a Flexible one', 'vms-pool': 'has none (type VirtualMachines)' } as const;

/** Whether the set reimaged the node, or tried to. */
export function reimagedBy({ stage, stageSinceMs }: RunningRepack, node: Node | undefined): boolean {
  return stage === 'draining' && node?.reimagedAtMs !== undefined && node.reimagedAtMs + PRECISION_MS > stageSinceMs;
}

/** How long after the begin of a removal its last pod may be replaced: evictions wait for budgets. */
const REPLACED_WITHIN_MS = 15 * 60_000;
/** Times of pods and of reimages are whole seconds. */
const PRECISION_MS = 1_000;

interface MovesSeen {
  readonly groups: readonly NodeGroup[];
  readonly policy: Policy;
}

/** Counts the pods of the removals that began, in groups where repacking is on. */
export function withMovedPods(
  memory: RepackMemory,
  { removals, outcomes }: { readonly removals: readonly Removal[]; readonly outcomes: readonly RemovalOutcome[] },
  seen: MovesSeen,
): RepackMemory {
  const begunMs = new Map(outcomes.flatMap((outcome) => (outcome.kind === 'started' ? [[outcome.node, outcome.atMs]] : [])));
  const moves = removals.flatMap(({ node, group, pods }): readonly Move[] => {
    const atMs = begunMs.get(node);
    return atMs === undefined ? [] : [{ group, pods, atMs }];
  });
  return withMoves(memory, moves, seen);
}

/** Pods of one group that were evicted, from then on. */
export interface Move {
  readonly group: NodeGroupId;
  readonly pods: readonly Pod[];
  readonly atMs: number;
}

/** The same for any moves. */
export function withMoves(memory: RepackMemory, moves: readonly Move[], { groups, policy }: MovesSeen): RepackMemory {
  if (moves.length === 0) return memory;
  const on = new Set(groups.filter((group) => optionsOf(group, policy).repack).map(({ id }) => id));
  const moved = moves.flatMap(({ group, pods, atMs }) => (on.has(group) ? movedAt(pods, atMs) : []));
  return moved.length === 0 ? memory : { ...memory, moved: [...memory.moved, ...moved] };
}

function movedAt(pods: readonly Pod[], atMs: number): readonly MovedPods[] {
  const counts = new Map<string, number>();
  for (const { controller } of pods) if (controller !== undefined) counts.set(controller.uid, (counts.get(controller.uid) ?? 0) + 1);
  return [...counts].map(([owner, count]) => ({ owner, pods: count, atMs }));
}

/** Without those that hold no node any more. The same list if none is forgotten. */
export function withoutOldMoves(moved: readonly MovedPods[], { minPodAgeMs }: RepackPolicy, nowMs: number): readonly MovedPods[] {
  const left = moved.filter(({ atMs }) => atMs > nowMs - minPodAgeMs - REPLACED_WITHIN_MS);
  return left.length === moved.length ? moved : left;
}

/**
 * A moved pod is a new pod: of a controller whose pods were moved, as many of those that it created next replace them. Only removals make a
 * node wait, so a time without any ends all of it.
 */
function nodesOfMovedPods(
  { cluster, nowMs }: Observation,
  moved: readonly MovedPods[],
  { minPodAgeMs }: RepackPolicy,
): ReadonlyMap<NodeName, StaysForPod> {
  const nodes = new Map<NodeName, StaysForPod>();
  if (moved.length === 0) return nodes;
  const created = podsByOwner(cluster, new Set(moved.map(({ owner }) => owner)));
  const next = new Map<string, number>();
  for (const { owner, pods: count, atMs } of moved) {
    const pods = created.get(owner) ?? [];
    const from = pods.findIndex(({ createdAtMs }, at) => at >= (next.get(owner) ?? 0) && createdAtMs + PRECISION_MS > atMs);
    if (from < 0) continue;
    next.set(owner, from + count);
    for (const pod of pods.slice(from, from + count)) {
      const recheckAtMs = pod.createdAtMs + minPodAgeMs;
      const known = pod.nodeName === undefined ? undefined : nodes.get(pod.nodeName);
      if (pod.nodeName === undefined || hasEnded(pod) || recheckAtMs <= Math.max(nowMs, known?.recheckAtMs ?? 0)) continue;
      const detail = `pod ${podName(pod)} was moved ${formatDuration(nowMs - pod.createdAtMs)} ago`;
      nodes.set(pod.nodeName, { reason: 'RepackInProgress', detail, recheckAtMs });
    }
  }
  return nodes;
}

function hasEnded({ phase, deletionAtMs }: Pod): boolean {
  return phase === 'Succeeded' || phase === 'Failed' || deletionAtMs !== undefined;
}

/** The oldest first. */
function podsByOwner({ podsByNode, pendingPods }: ClusterView, owners: ReadonlySet<string>): ReadonlyMap<string, readonly Pod[]> {
  const found = new Map<string, Pod[]>([...owners].map((owner) => [owner, []]));
  for (const pods of [...podsByNode.values(), pendingPods])
    for (const pod of pods) if (pod.controller !== undefined) found.get(pod.controller.uid)?.push(pod);
  for (const pods of found.values()) pods.sort((left, right) => left.createdAtMs - right.createdAtMs || (left.uid < right.uid ? -1 : 1));
  return found;
}
