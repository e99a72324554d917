/**
 * Which nodes may be repacked: all that a removal may take by its own rules, however much of them is used. Each other node has the reason that
 * a removal has against it.
 */
import type { NodeName } from '../../../domain/ids.ts';
import type { Saved, RepackBlocker } from '../../../domain/repack.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import { isWhole } from '../../../domain/node-group.ts';
import type { UnremovableNode } from '../../../domain/plan.ts';
import { CPU } from '../../../domain/resources.ts';
import { compareText } from '../../../lib/comparison.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { nodeListFacts } from '../../facts/node-list-facts.ts';
import { priceOf } from '../../expanders/node-price.ts';
import { findCandidates, type Candidate } from '../eligibility.ts';
import type { ScaleDownContext } from '../plan-context.ts';

/** Nodes that are looked at between two places where the search may be interrupted. */
const NODES_PER_STEP = 64;

export interface RepackCandidates {
  /** Ready nodes of groups, sorted by name. Those that a removal may not take are in `kept`. */
  readonly candidates: readonly Candidate[];
  readonly kept: readonly UnremovableNode[];
}

/** The rules of removals without the share of use up to which a node is a candidate, and without what only says that pods fit nowhere now. */
function withoutThresholds(context: ScaleDownContext): ScaleDownContext {
  const groups = new Map([...context.groups].map(([id, group]) => [id, { ...group, options: unlimited(group) }]));
  const unremovable = new Map([...context.state.unremovable].filter(([, { reason }]) => reason !== 'NoPlaceToMovePods'));
  return { ...context, groups, state: { ...context.state, unremovable } };
}

function unlimited({ options }: NodeGroup): NodeGroup['options'] {
  return { ...options, utilizationThreshold: Infinity, gpuUtilizationThreshold: Infinity };
}

/** May be interrupted: the pods of each node are checked. `among`: the nodes to look at; if absent, all. */
export function* findRepackCandidates(context: ScaleDownContext, among?: readonly NodeName[]): SlicedWork<RepackCandidates> {
  const open = withoutThresholds(context);
  const candidates: Candidate[] = [];
  const kept: UnremovableNode[] = [];
  const names = among ?? nodeListFacts(context.observation.cluster.nodes).names;
  for (let from = 0; from < names.length; from += NODES_PER_STEP) {
    const found = findCandidates({ ...open, only: new Set(names.slice(from, from + NODES_PER_STEP)) });
    for (const candidate of found.candidates) {
      const group = context.groups.get(candidate.group.id);
      if (group !== undefined && isSingle(candidate)) candidates.push({ ...candidate, group });
    }
    kept.push(...found.kept);
    yield;
  }
  return { candidates, kept };
}

/** Broken nodes are removed by their own rules, and the nodes of an atomic group only all together. */
function isSingle({ node, group, drain }: Candidate): boolean {
  return node.readiness.ready && !isWhole(group) && drain.waiting.length === 0 && group.target.known && group.target.confirmed;
}

/** What no removal may take: by the reason, the largest unused part first. */
export function repackBlockers(kept: readonly UnremovableNode[], context: ScaleDownContext): readonly RepackBlocker[] {
  const found = new Map<string, RepackBlocker>();
  for (const entry of kept) {
    const { reason: newest, cause: reason = newest, blocker } = entry;
    const unused = unusedOf(entry, context);
    if (unused === undefined || reason === 'CurrentlyBeingDeleted') continue;
    const key = `${reason} ${blocker?.reason ?? ''}`;
    const before = found.get(key);
    const sum = before === undefined ? unused : sumOf(before.unused, unused);
    found.set(key, { reason, blocker: blocker?.reason, nodes: (before?.nodes ?? 0) + 1, unused: sum });
  }
  return [...found].sort(([a, left], [b, right]) => compareUnused(right, left) || compareText(a, b)).map(([, blocker]) => blocker);
}

/** What no pod requests of the node. undefined: it is in no group. */
function unusedOf({ node: name, utilization = 1 }: UnremovableNode, { observation, groups, policy }: ScaleDownContext): Saved | undefined {
  const node = observation.cluster.nodes.get(name);
  const id = observation.cloud.groupOfNode.get(name);
  const group = id === undefined ? undefined : groups.get(id);
  if (node === undefined || group === undefined) return undefined;
  const share = Math.max(0, 1 - utilization);
  const price = priceOf(policy.scaleUp, group);
  return { nodes: 1, cpuMillis: Math.round((node.capacity[CPU] ?? 0) * share), perHour: price === undefined ? undefined : price * share };
}

function compareUnused(left: RepackBlocker, right: RepackBlocker): number {
  return (left.unused.perHour ?? 0) - (right.unused.perHour ?? 0) || left.unused.cpuMillis - right.unused.cpuMillis;
}

export function sumOf(left: Saved, right: Saved): Saved {
  return {
    nodes: left.nodes + right.nodes,
    cpuMillis: left.cpuMillis + right.cpuMillis,
    perHour: left.perHour === undefined || right.perHour === undefined ? undefined : left.perHour + right.perHour,
  };
}
