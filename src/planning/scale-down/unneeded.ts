import { podName, type NodeName } from '../../domain/ids.ts';
import { compareText } from '../../lib/comparison.ts';
import { isWhole } from '../../domain/node-group.ts';
import type { UnremovableNode } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import { judgeNode } from '../../scheduling/drainability/drainability.ts';
import { isReservation } from '../state/reserved-room.ts';
import type { Candidate, Eligibility } from './eligibility.ts';
import { isLeaving, type ScaleDownContext } from './plan-context.ts';
import { simulateRemoval } from './simulate-removal.ts';

/** A node that could go: everything on it has a place elsewhere. */
export interface Unneeded extends Candidate {
  readonly sinceMs: number;
  /** Where its pods would go. */
  readonly destinations: ReadonlySet<NodeName>;
}

export interface UnneededNodes {
  /** In the order in which they were simulated. */
  readonly nodes: readonly Unneeded[];
  readonly kept: readonly UnremovableNode[];
  /** Where the pods of nodes that are being drained are expected to go. */
  readonly reserved: ReadonlySet<NodeName>;
  /** Nodes that were not looked at: of them nothing new is known. */
  readonly unseen: readonly NodeName[];
  /** The time was up after so many; undefined: it was not. */
  readonly cutShortAfter: number | undefined;
}

/** Simulations that fail cost a walk over all nodes; what is left over is looked at in the next loops. */
const MAX_FAILED_SIMULATIONS = 100;
/** The loop's shortest interval, for the limit below. */
const LOOP_INTERVAL_MS = 10_000;

/**
 * Simulates the removal of the candidates one after the other, each on top of the ones before. Empty nodes and nodes
 * that were unneeded already go first, so that their timers live on.
 */
export function findUnneeded(
  context: ScaleDownContext,
  eligibility: Eligibility,
  isLate: (made: number) => boolean = () => false,
): UnneededNodes {
  const { nowMs } = context.observation;
  const destinations = destinationsOf(context);
  const limit = unneededLimit(context.state.unneededSince.size, context.policy.scaleDown);
  const nodes: Unneeded[] = [];
  const kept: UnremovableNode[] = [];
  const reserved = placePodsOfDrainingNodes(context, destinations);
  let failures = 0;
  let counted = 0;
  let made = 0;
  let cutShortAfter: number | undefined;
  const unseen: NodeName[] = [];
  for (const candidate of simulationOrder(context, eligibility.candidates)) {
    const { node, utilization } = candidate;
    const known = reasonNotToSimulate(candidate, { counted, failures, limit });
    if (known === undefined && cutShortAfter === undefined && made > 0 && isLate(made)) cutShortAfter = made;
    const enough = known ?? (cutShortAfter === undefined ? undefined : LATE);
    if (enough !== undefined) {
      unseen.push(node.name);
      kept.push({ node: node.name, reason: 'RemovalBudgetSpent', detail: enough, utilization });
      continue;
    }
    if (context.snapshot.get(node.name) === undefined) {
      kept.push({ node: node.name, reason: 'UnexpectedError', detail: 'it is not among the nodes that are simulated', utilization });
      continue;
    }
    made += 1;
    const result = simulateRemoval(node, movableNow(candidate, context), context.snapshot, destinations);
    if ('stuck' in result) {
      failures += 1;
      kept.push(noPlaceFor(candidate, result.stuck, context));
    } else {
      destinations.delete(node.name);
      if (!isWhole(candidate.group)) counted += 1;
      nodes.push({ ...candidate, sinceMs: context.state.unneededSince.get(node.name) ?? nowMs, destinations: result.destinations });
    }
  }
  return { nodes, kept, reserved, unseen, cutShortAfter };
}

const LATE = 'not looked at in this loop: the time for it was up';

/** Why no more nodes are looked at in this loop; undefined: they are. Groups that go as a whole are of no use half known. */
function reasonNotToSimulate(
  { group }: Candidate,
  { counted, failures, limit }: { readonly counted: number; readonly failures: number; readonly limit: number },
): string | undefined {
  if (failures >= MAX_FAILED_SIMULATIONS) return `not looked at in this loop: the pods of ${failures} other nodes fit nowhere`;
  return counted >= limit && !isWhole(group) ? `not looked at in this loop: ${counted} nodes are unneeded already` : undefined;
}

/** Pods that are about to be evicted need their places too: nobody else may count on them. Those without one stay where they are. */
function placePodsOfDrainingNodes(context: ScaleDownContext, destinations: ReadonlySet<NodeName>): ReadonlySet<NodeName> {
  const reserved = new Set<NodeName>();
  for (const name of [...context.state.deleting.keys()].sort(compareText)) {
    const present = context.snapshot.get(name);
    if (present === undefined) continue;
    // What is terminating already has been made anew elsewhere, or waits to be, and is counted there.
    const moving = judgeNode(present.pods, context.drain).movable.filter((pod) => pod.deletionAtMs === undefined && !isReservation(pod));
    if (moving.length === 0) continue;
    const result = simulateRemoval(present.node, moving, context.snapshot, destinations);
    if ('destinations' in result) for (const place of result.destinations) reserved.add(place);
  }
  return reserved;
}

/** Earlier simulations may have put more pods here: they have to go on from here too. */
function movableNow(candidate: Candidate, context: ScaleDownContext): readonly Pod[] {
  const pods = context.snapshot.get(candidate.node.name)?.pods;
  if (pods === undefined) return candidate.drain.movable;
  const real = pods.filter((pod) => !isReservation(pod));
  return [...judgeNode(real, context.drain).movable, ...pods.filter(isReservation)];
}

function noPlaceFor(candidate: Candidate, stuck: Pod, context: ScaleDownContext): UnremovableNode {
  return {
    node: candidate.node.name,
    reason: 'NoPlaceToMovePods',
    blocker: { pod: podName(stuck), reason: 'NoPlaceFound', detail: 'fits on no other node' },
    utilization: candidate.utilization,
    recheckAtMs: context.observation.nowMs + context.policy.scaleDown.recheckUnremovableAfterMs,
  };
}

/** Registered nodes that can take pods: ready, open, and not leaving. */
function destinationsOf(context: ScaleDownContext): Set<NodeName> {
  const { cluster } = context.observation;
  const names = new Set<NodeName>();
  for (const [name, node] of cluster.nodes) {
    if (node.readiness.ready && !node.unschedulable && !isLeaving(node, context)) names.add(name);
  }
  return names;
}

function simulationOrder(context: ScaleDownContext, candidates: readonly Candidate[]): readonly Candidate[] {
  const rank = (candidate: Candidate): number => {
    if (candidate.drain.movable.length === 0) return candidate.drain.waiting.length === 0 ? 0 : 1;
    return context.state.unneededSince.has(candidate.node.name) ? 2 : 3;
  };
  return [...candidates].sort(
    (left, right) =>
      rank(left) - rank(right) ||
      (context.state.unneededSince.get(left.node.name) ?? Infinity) - (context.state.unneededSince.get(right.node.name) ?? Infinity) ||
      left.utilization - right.utilization ||
      compareText(left.node.name, right.node.name),
  );
}

/** The Cluster Autoscaler's bound: more unneeded nodes than can be removed in time need not be known. */
export function unneededLimit(current: number, policy: Pick<ScaleDownPolicy, 'maxParallel' | 'unneededForMs'>): number {
  const { maxParallel } = policy;
  const rounds = Math.floor(Math.max(policy.unneededForMs, LOOP_INTERVAL_MS) / LOOP_INTERVAL_MS);
  return Math.min(current + 2 * maxParallel, maxParallel * rounds + maxParallel);
}
