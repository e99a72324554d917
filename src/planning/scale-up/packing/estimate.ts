/**
 * Estimates how many new nodes of one group serve which pods, by first-fit-decreasing onto template nodes. Equal pods on equal
 * nodes are arithmetic: equal nodes are one run, and a run is split only at the node of the last pod.
 */
import type { HostPort } from '../../../domain/pod.ts';
import { CPU, MEMORY, type Resources } from '../../../domain/resources.ts';
import { countFits, type Need } from '../../../scheduling/predicates/resources-fit.ts';
import { takenPort } from '../../../scheduling/predicates/node-gates.ts';
import { noOperations, type OperationCounts } from '../../../scheduling/snapshot/operation-counts.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { knownVariants, type GroupTemplate } from '../groups/template-node.ts';
import { compareText } from '../../../lib/comparison.ts';
import type { SlicedWork } from '../../../lib/slices.ts';

export interface Estimate {
  /** New nodes; each has at least one of the pods. */
  readonly nodes: number;
  /** How many pods of each group find a place; a group without any is absent. */
  readonly placed: ReadonlyMap<EquivalenceGroup, number>;
  /** New nodes that help only if they land in certain zones of the group. */
  readonly zoneBound: number;
}

/** Runs visited between two places where an estimate may be interrupted: each interruption passes all steps of the plan that are above it. */
const VISITS_PER_STEP = 2_000;

/** Equal nodes in a row. */
interface Run {
  count: number;
  free: Resources;
  ports: readonly HostPort[];
}

/** The groups that fit the template at all, biggest pods first. */
export function packingOrder(groups: readonly EquivalenceGroup[], template: GroupTemplate) {
  return groups
    .filter((group) => group.pods.length > 0 && knownVariants(group, template) !== 0)
    .map((group) => ({ group, size: podSizeOn(group.need, template.template.allocatable) }))
    .sort((left, right) => right.size - left.size || compareText(left.group.key, right.group.key));
}

/**
 * For pods that only need room, in any zone of the template. `limit` is the largest number of nodes that may be added. Visited nodes are
 * added to `operations`.
 */
export function* estimate(
  groups: readonly EquivalenceGroup[],
  template: GroupTemplate,
  limit: number,
  operations: OperationCounts = noOperations(),
): SlicedWork<Estimate> {
  const runs: Run[] = [];
  const placed = new Map<EquivalenceGroup, number>();
  let nodes = 0;
  let pauseAt = operations.nodesVisited + VISITS_PER_STEP;
  for (const { group } of packingOrder(groups, template)) {
    if (operations.nodesVisited >= pauseAt) {
      yield;
      pauseAt = operations.nodesVisited + VISITS_PER_STEP;
    }
    const left = fillRuns(runs, group, operations);
    const added = addRuns(runs, { group, left }, template, limit - nodes);
    nodes += added.nodes;
    const done = group.pods.length - added.left;
    if (done > 0) placed.set(group, done);
  }
  return { nodes, placed, zoneBound: 0 };
}

/** Places pods on existing runs; returns how many pods are left. */
function fillRuns(runs: Run[], group: EquivalenceGroup, operations: OperationCounts): number {
  let left = group.pods.length;
  for (let at = 0; at < runs.length && left > 0; at++) {
    const run = runs[at];
    operations.nodesVisited += 1;
    if (run === undefined) continue;
    const each = podsFittingOn(group, run.free, run.ports);
    if (each === 0) continue;
    const full = Math.min(run.count, Math.floor(left / each));
    const rest = full < run.count ? left - full * each : 0;
    const split = [
      ...(full > 0 ? [fillRun(run, group, { count: full, each })] : []),
      ...(rest > 0 ? [fillRun(run, group, { count: 1, each: rest })] : []),
    ];
    const used = full + (rest > 0 ? 1 : 0);
    if (used < run.count) split.push({ ...run, count: run.count - used });
    left -= full * each + rest;
    runs.splice(at, 1, ...split);
    at += split.length - 1;
  }
  return left;
}

function addRuns(
  runs: Run[],
  wanted: { readonly group: EquivalenceGroup; readonly left: number },
  template: GroupTemplate,
  room: number,
): { readonly nodes: number; readonly left: number } {
  const { group, left } = wanted;
  const empty: Run = { count: 0, free: template.free, ports: template.ports };
  const each = podsFittingOn(group, empty.free, empty.ports);
  if (left === 0 || each === 0 || room <= 0) return { nodes: 0, left };
  const full = Math.min(room, Math.floor(left / each));
  const rest = full < room ? left - full * each : 0;
  if (full > 0) runs.push(fillRun(empty, group, { count: full, each }));
  if (rest > 0) runs.push(fillRun(empty, group, { count: 1, each: rest }));
  return { nodes: full + (rest > 0 ? 1 : 0), left: left - full * each - rest };
}

/** How many of the pods the node takes whose free vector begins at `offset`. Two pods with the same host port never share a node. */
export function podsFittingOn(
  group: Pick<EquivalenceGroup, 'need' | 'shape' | 'pods'>,
  free: Resources,
  ports: readonly HostPort[],
  offset = 0,
): number {
  const wanted = group.shape.hostPorts;
  const most = Math.min(countFits(group.need, free, offset), group.pods.length);
  if (wanted.length === 0) return most;
  return takenPort(wanted, ports) === undefined ? Math.min(1, most) : 0;
}

/** What is free after `each` pods are placed. */
function freeAfter(free: Resources, need: Need, each: number): Resources {
  const left = free.slice();
  need.indexes.forEach((index, at) => {
    left[index] = (left[index] ?? 0) - each * (need.amounts[at] ?? 0);
  });
  return left;
}

function fillRun(run: Run, group: EquivalenceGroup, by: { readonly count: number; readonly each: number }): Run {
  const wanted = group.shape.hostPorts;
  return {
    count: by.count,
    free: freeAfter(run.free, group.need, by.each),
    ports: wanted.length === 0 ? run.ports : [...run.ports, ...wanted],
  };
}

/** The size of a pod on a node: the sum of its shares of CPU and memory. */
export function podSizeOn(need: Need, allocatable: Resources): number {
  return need.indexes.reduce((sum, index, at) => {
    const whole = allocatable[index] ?? 0;
    return (index === CPU || index === MEMORY) && whole > 0 ? sum + (need.amounts[at] ?? 0) / whole : sum;
  }, 0);
}
