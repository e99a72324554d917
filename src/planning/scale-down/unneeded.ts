import { podName, type NodeName } from '../../domain/ids.ts';
import { compareText } from '../../lib/comparison.ts';
import { isWhole } from '../../domain/node-group.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { UnremovableNode } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import { checkNodeDrain } from '../../scheduling/drainability/drainability.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import type { Snapshot } from '../../scheduling/snapshot/snapshot.ts';
import { nodeListFacts } from '../facts/node-list-facts.ts';
import { allRecreated, asRecreated, recreatedSize } from '../facts/recreated-pods.ts';
import { awaitsSuccessor, isReservation, roomOwner } from '../state/assumed-pods.ts';
import type { Candidate, Eligibility } from './eligibility.ts';
import type { ScaleDownContext } from './plan-context.ts';
import { simulateRemoval } from './simulate-removal.ts';

/** A node that could be removed: all its pods have a place on other nodes. */
export interface Unneeded extends Candidate {
  readonly sinceMs: number;
  /** The nodes that would take its pods. */
  readonly destinations: ReadonlySet<NodeName>;
}

export interface UnneededNodes {
  /** In the order in which they were simulated. */
  readonly nodes: readonly Unneeded[];
  readonly kept: readonly UnremovableNode[];
  /** The nodes that are expected to take the pods of draining nodes. */
  readonly reserved: ReadonlySet<NodeName>;
  /** Nodes that were not simulated: nothing new is known of them. */
  readonly unseen: readonly NodeName[];
  /** The number of simulated nodes after which the time was up; undefined if it was not. */
  readonly cutShortAfter: number | undefined;
}

/** A failed simulation costs a walk over all nodes; the next loops simulate the remaining candidates. */
const MAX_FAILED_SIMULATIONS = 100;
/** The loop's shortest interval, for `unneededLimit`. */
const LOOP_INTERVAL_MS = 10_000;

/**
 * Simulates the removal of the candidates one after the other, each on top of the earlier ones. Empty nodes and nodes that were
 * already unneeded come first, so that their timers go on.
 */
export function* findUnneeded(
  context: ScaleDownContext,
  eligibility: Eligibility,
  isLate: (made: number) => boolean,
): SlicedWork<UnneededNodes> {
  const { nowMs } = context.observation;
  const destinations = destinationsOf(context);
  const limit = unneededLimit(context.state.unneededSince.size, context.policy.scaleDown);
  const nodes: Unneeded[] = [];
  const kept: UnremovableNode[] = [];
  const reserved = placePodsOfDrainingNodes(context, destinations);
  for (const place of placeSuccessors(context, destinations)) reserved.add(place);
  let failures = 0;
  let counted = 0;
  let simulated = 0;
  let cutShortAfter: number | undefined;
  const unseen: NodeName[] = [];
  for (const candidate of simulationOrder(context, eligibility.candidates)) {
    const { node, utilization } = candidate;
    const known = reasonNotToSimulate(candidate, { counted, failures, limit });
    if (known === undefined && cutShortAfter === undefined && simulated > 0 && isLate(simulated)) cutShortAfter = simulated;
    const enough = known ?? (cutShortAfter === undefined ? undefined : TIME_IS_UP);
    if (enough !== undefined) {
      unseen.push(node.name);
      kept.push({ node: node.name, reason: 'RemovalBudgetSpent', detail: enough, utilization });
      continue;
    }
    if (context.snapshot.get(node.name) === undefined) {
      kept.push({ node: node.name, reason: 'UnexpectedError', detail: 'the node is missing from the simulated cluster', utilization });
      continue;
    }
    yield;
    simulated += 1;
    const result = simulateRemoval(node, movableNow(candidate, context), context.snapshot, destinations);
    if ('unplaced' in result) {
      failures += 1;
      kept.push(noPlaceFor(candidate, result.unplaced, context));
    } else {
      destinations.delete(node.name);
      if (!isWhole(candidate.group)) counted += 1;
      nodes.push({ ...candidate, sinceMs: context.state.unneededSince.get(node.name) ?? nowMs, destinations: result.destinations });
    }
  }
  return { nodes, kept, reserved, unseen, cutShortAfter };
}

const TIME_IS_UP = 'not checked in this loop: the time limit was reached';

/** Why no more nodes are simulated in this loop; undefined if they are. A partly simulated atomic group would be useless. */
function reasonNotToSimulate(
  { group }: Candidate,
  { counted, failures, limit }: { readonly counted: number; readonly failures: number; readonly limit: number },
): string | undefined {
  if (failures >= MAX_FAILED_SIMULATIONS) return `not checked in this loop: the pods of ${failures} other nodes fit nowhere`;
  return counted >= limit && !isWhole(group) ? `not checked in this loop: ${counted} nodes are unneeded already` : undefined;
}

/** Pods that are about to be evicted need places that no other node may count on. Pods without a place stay where they are. */
export function placePodsOfDrainingNodes(context: ScaleDownContext, destinations: ReadonlySet<NodeName>): Set<NodeName> {
  const { nowMs } = context.observation;
  const reserved = new Set<NodeName>();
  for (const name of [...context.state.deleting.keys()].sort(compareText)) {
    const present = context.snapshot.get(name);
    if (present === undefined) continue;
    const moving = checkNodeDrain(present.pods, context.drainOn(name)).movable.filter(
      (pod) => awaitsSuccessor(pod, nowMs) && !isReservation(pod),
    );
    if (moving.length === 0) continue;
    const result = simulateRemoval(present.node, allRecreated(moving, context.observation.cluster), context.snapshot, destinations);
    if ('destinations' in result) for (const place of result.destinations) reserved.add(place);
  }
  return reserved;
}

/**
 * Pods that terminate on nodes which take no pods any more, cordoned by a person for example, and that are created again only afterwards.
 * Returns the nodes that take them. Those of our own drains have a place already.
 */
function placeSuccessors({ observation, state, snapshot }: ScaleDownContext, destinations: ReadonlySet<NodeName>): readonly NodeName[] {
  const { cluster, nowMs } = observation;
  const closed = nodeListFacts(cluster.nodes).names.filter((name) => !destinations.has(name) && !state.deleting.has(name));
  return closed.flatMap((name) => {
    const ending = (snapshot.get(name)?.pods ?? []).filter((pod) => pod.deletionAtMs !== undefined && awaitsSuccessor(pod, nowMs));
    return ending.flatMap((pod) => moveToDestination(pod, name, { snapshot, destinations, cluster }) ?? []);
  });
}

interface SuccessorInput {
  readonly snapshot: Snapshot;
  readonly destinations: ReadonlySet<NodeName>;
  readonly cluster: ClusterView;
}

function moveToDestination(pod: Pod, from: NodeName, { snapshot, destinations, cluster }: SuccessorInput): NodeName | undefined {
  snapshot.removePod(pod, from);
  const successor = asRecreated(pod, cluster);
  const place = snapshot.findNode(successor, (name) => destinations.has(name));
  snapshot.addPod(place === undefined ? pod : successor, place ?? from);
  return place;
}

/** As they come back. Earlier simulations may have placed more pods on the node: they have to move again. */
export function movableNow(candidate: Candidate, context: ScaleDownContext): readonly Pod[] {
  const { cluster } = context.observation;
  const pods = context.snapshot.get(candidate.node.name)?.pods;
  if (pods === undefined) return allRecreated(candidate.drain.movable, cluster);
  const real = pods.filter((pod) => !isReservation(pod));
  // guard: pods that a removal evicts need places for what their VerticalPodAutoscalers give them
  return [...allRecreated(checkNodeDrain(real, context.drainOn(candidate.node.name)).movable, cluster), ...pods.filter(isReservation)];
}

function noPlaceFor(candidate: Candidate, unplaced: Pod, context: ScaleDownContext): UnremovableNode {
  const known = {
    node: candidate.node.name,
    utilization: candidate.utilization,
    recheckAtMs: context.observation.nowMs + context.policy.scaleDown.recheckUnremovableAfterMs,
  };
  if (isReservation(unplaced))
    return { ...known, reason: 'RoomKeptFree', detail: `its room is kept free for ${roomOwner(unplaced)}, and no other node has it` };
  return {
    ...known,
    reason: 'NoPlaceToMovePods',
    blocker: { pod: podName(unplaced), reason: 'NoPlaceFound', detail: `fits on no other node${recreatedSize(unplaced)}` },
  };
}

/** Registered nodes that can take pods: ready, schedulable, and not leaving. */
export function destinationsOf(context: ScaleDownContext): Set<NodeName> {
  const { cluster } = context.observation;
  const names = new Set<NodeName>(cluster.nodes.keys());
  for (const { name } of nodeListFacts(cluster.nodes).closed) names.delete(name);
  for (const name of context.leaving) names.delete(name);
  for (const name of context.repack.removing.keys()) names.delete(name);
  return names;
}

function simulationOrder(context: ScaleDownContext, candidates: readonly Candidate[]): readonly Candidate[] {
  const { unneededSince } = context.state;
  const ranked = candidates.map((candidate) => {
    const sinceMs = unneededSince.get(candidate.node.name) ?? Number.POSITIVE_INFINITY;
    return { candidate, sinceMs, rank: rankOf(candidate, sinceMs) };
  });
  // Of nodes that could take each other's pods, the one with the older image is the one to go.
  const old = ({ node }: Candidate): number => (context.hasOldImage(node.name) ? 0 : 1);
  ranked.sort(
    (left, right) =>
      left.rank - right.rank ||
      left.sinceMs - right.sinceMs ||
      old(left.candidate) - old(right.candidate) ||
      left.candidate.utilization - right.candidate.utilization ||
      compareText(left.candidate.node.name, right.candidate.node.name),
  );
  return ranked.map(({ candidate }) => candidate);
}

function rankOf({ drain: { movable, waiting } }: Candidate, sinceMs: number): number {
  if (movable.length === 0) return waiting.length === 0 ? 0 : 1;
  return Number.isFinite(sinceMs) ? 2 : 3;
}

/** The Cluster Autoscaler's limit: more unneeded nodes than can be removed in time need not be known. */
export function unneededLimit(current: number, policy: Pick<ScaleDownPolicy, 'maxParallel' | 'unneededForMs'>): number {
  const { maxParallel } = policy;
  const rounds = Math.floor(Math.max(policy.unneededForMs, LOOP_INTERVAL_MS) / LOOP_INTERVAL_MS);
  return Math.min(current + 2 * maxParallel, maxParallel * rounds + maxParallel);
}
