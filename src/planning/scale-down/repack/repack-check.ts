/** Whether a set still holds: all its nodes may go, all their pods have a place that is not one of them, and it still saves enough. */
import { podName, type NodeName } from '../../../domain/ids.ts';
import type { UnremovableNode } from '../../../domain/plan.ts';
import { isForSickNodes, type RepackSet } from '../../../domain/repack.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { withForkInSlices } from '../../../scheduling/snapshot/snapshot.ts';
import { ClusterMinimum, GroupMinimums } from '../budgets.ts';
import type { Candidate } from '../eligibility.ts';
import type { ScaleDownContext } from '../plan-context.ts';
import { simulateRemoval } from '../simulate-removal.ts';
import { destinationsOf, movableNow, placePodsOfDrainingNodes } from '../unneeded.ts';
import { addNewNodes, type GrowablePool } from './growable-pools.ts';
import { type NewNodes, scoredSet, worthOf } from './repack-worth.ts';

export interface RepackCheckInput {
  readonly context: ScaleDownContext;
  readonly candidates: ReadonlyMap<NodeName, Candidate>;
  /** Nodes that a removal may not take. */
  readonly kept: readonly UnremovableNode[];
  readonly pools: readonly GrowablePool[];
  /** Nodes that take no pods, beside those that no removal counts on. */
  readonly closed: ReadonlySet<NodeName>;
}

const NO_WORTH = { gain: 0, nodes: 0 };

/** `set`: with the numbers of now. `why`: a part of a sentence. */
export type CheckedRepack = { readonly set: RepackSet } | { readonly why: string };

/** Checks the set in a fork of the snapshot. `missing`: how many of its new nodes have yet to come. */
export function* checkRepack(set: RepackSet, missing: number, input: RepackCheckInput): SlicedWork<CheckedRepack> {
  const { context, candidates, kept } = input;
  const removed: Candidate[] = [];
  for (const { node } of set.remove) {
    const candidate = candidates.get(node);
    // guard: a repack is undone once a removal rule keeps one of its nodes
    if (candidate === undefined) return { why: `node ${node} cannot be removed: ${whyKept(node, kept)}` };
    removed.push(candidate);
  }
  const added = newNodesOf(set, missing, input);
  if ('why' in added) return added;
  const unplaced = yield* withForkInSlices(context.snapshot, () => removeAll(removed, { input, missing, pool: added.pool }));
  if (unplaced !== undefined) return { why: unplaced };
  // What it costs to replace a sick node does not decide.
  if (isForSickNodes(set)) return { set: { ...scoredSet(removed, added.nodes, NO_WORTH, context), remove: set.remove } };
  const groups = removed.map((candidate) => candidate.group);
  const worth = worthOf(groups, added.nodes, context);
  return worth === undefined ? { why: 'what it saves is not known any more' } : { set: scoredSet(removed, added.nodes, worth, context) };
}

interface AddedBySet {
  /** undefined: the set adds none. */
  readonly nodes: NewNodes | undefined;
  /** undefined: none has yet to come, or the group cannot grow now. */
  readonly pool: GrowablePool | undefined;
}

function newNodesOf({ add }: RepackSet, missing: number, { context, pools }: RepackCheckInput): AddedBySet | { readonly why: string } {
  if (add === undefined) return { nodes: undefined, pool: undefined };
  const group = context.groups.get(add.group);
  if (group === undefined) return { why: `pool ${add.group} is gone` };
  const pool = pools.find((each) => each.group.id === add.group);
  if (missing > 0 && missing > (pool?.most ?? 0)) return { why: `pool ${add.group} cannot add ${missing} nodes now` };
  return { nodes: { group, nodes: add.nodes }, pool };
}

interface Attempt {
  readonly input: RepackCheckInput;
  readonly missing: number;
  readonly pool: GrowablePool | undefined;
}

/** Returns what does not hold. */
function* removeAll(removed: readonly Candidate[], { input, missing, pool }: Attempt): SlicedWork<string | undefined> {
  const { context, closed } = input;
  const destinations = destinationsOf(context);
  for (const name of closed) destinations.delete(name);
  placePodsOfDrainingNodes(context, destinations);
  // A pod must not move twice.
  for (const { node } of removed) destinations.delete(node.name);
  if (pool !== undefined && missing > 0) for (const name of addNewNodes(pool, missing, context.snapshot)) destinations.add(name);
  const groups = new GroupMinimums(context);
  const cluster = new ClusterMinimum(context);
  for (const candidate of removed) {
    const { node, group } = candidate;
    yield;
    if (!groups.allowsWorking(group)) return `pool ${group.id} would be below its minimum of ${group.minSize}`;
    const shortage = cluster.shortage([node]);
    if (shortage !== undefined) return shortage;
    const result = simulateRemoval(node, movableNow(candidate, context), context.snapshot, destinations);
    if ('unplaced' in result) return `pod ${podName(result.unplaced)} of node ${node.name} would find no place`;
    groups.countRemoval(group);
    cluster.countRemoval(node);
  }
  return undefined;
}

function whyKept(name: NodeName, kept: readonly UnremovableNode[]): string {
  const entry = kept.find(({ node }) => node === name);
  if (entry === undefined) return 'it is not there, not ready, or in a pool that changes';
  const { reason, blocker, detail } = entry;
  if (blocker !== undefined) return `pod ${blocker.pod} blocks it (${blocker.reason}: ${blocker.detail})`;
  return detail === undefined ? reason : `${reason}: ${detail}`;
}
