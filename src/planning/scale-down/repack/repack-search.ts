/** Searches sets of nodes that could be removed together so that fewer or cheaper ones hold their pods. Each set holds on top of those before it. */
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { NodeName } from '../../../domain/ids.ts';
import type { RepackSet } from '../../../domain/repack.ts';
import { compareText } from '../../../lib/comparison.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { tryInSlices, withForkInSlices } from '../../../scheduling/snapshot/snapshot.ts';
import { priceOf, savedByRemovals } from '../../expanders/node-price.ts';
import { ClusterMinimum, GroupMinimums } from '../budgets.ts';
import type { Candidate } from '../eligibility.ts';
import type { ScaleDownContext } from '../plan-context.ts';
import { simulateRemoval } from '../simulate-removal.ts';
import { destinationsOf, movableNow, placePodsOfDrainingNodes } from '../unneeded.ts';
import { EvenZones } from './even-zones.ts';
import { addNewNodes, type GrowablePool } from './growable-pools.ts';
import { type NewNodes, type Worth, disruptionOf, scoredSet, worthOf } from './repack-worth.ts';

/** New nodes that one set tries to add at once. */
const MOST_ADDED = 3;
/** Gains that differ by less are equal. */
const EQUAL = 1e-9;
/** A node without pods is not used at all: its share of use would say nothing about its price. */
const LEAST_LOAD = 1e-3;
/** Simulated removals of one search: so many for each thousand nodes, within these limits. */
const SIMULATIONS = { least: 1_000, most: 4_000, ofNodes: 3_000_000 };
/** The part of them for removals without new nodes. */
const SHARE_OF_PLAIN = 0.5;
/** A set is found again without a comparison while it saves so much of what the one before saved. */
const AS_GOOD = 0.9;
/** Simulated removals in a row that failed, after which a try ends: without new nodes, and with them, which hold the pods of a few. */
const MOST_FAILURES = { plain: 60, withNew: 20 };

export interface RepackSearchInput {
  readonly context: ScaleDownContext;
  readonly candidates: readonly Candidate[];
  /** Groups that may bring new nodes. */
  readonly pools: readonly GrowablePool[];
  /** Nodes that take no pods beside those that no removal counts on. */
  readonly closed: ReadonlySet<NodeName>;
  /** How many nodes one set may remove. */
  readonly mostAtOnce: number;
}

export interface FoundSets {
  /** In order: each holds once those before it are done. */
  readonly sets: readonly RepackSet[];
  /** The limit of simulations was reached. */
  readonly cutShort: boolean;
}

/** What a whole search has done. Mutable, and dropped with the search. */
interface Search extends RepackSearchInput {
  /** Simulated removals that are left to the present part. */
  left: number;
  destinations: Set<NodeName>;
  readonly removed: Set<NodeName>;
  readonly taken: Candidate[];
  readonly sets: RepackSet[];
  /** As they are now. */
  readonly zones: EvenZones;
}

/** Searches on the snapshot, which is as before afterwards. Nothing else may use it before the end. */
export function* searchRepacks(input: RepackSearchInput): SlicedWork<FoundSets> {
  return yield* withForkInSlices(input.context.snapshot, () => searchInFork(input));
}

function* searchInFork(input: RepackSearchInput): SlicedWork<FoundSets> {
  const { context, closed } = input;
  const destinations = destinationsOf(context);
  for (const name of closed) destinations.delete(name);
  placePodsOfDrainingNodes(context, destinations);
  yield;
  const search: Search = { ...input, left: 0, destinations, removed: new Set(), taken: [], sets: [], zones: EvenZones.of(context) };
  const all = simulationsFor(context);
  search.left = Math.floor(all * SHARE_OF_PLAIN);
  const plain = yield* bestOrder(search, undefined);
  const isPlainCut = search.left <= 0;
  if (plain !== undefined && (yield* keepTry(search, plain))) search.sets.push(...inParts(plain, search));
  // New nodes would be blamed for what needs none.
  if (isPlainCut) return { sets: search.sets, cutShort: true };
  search.left += all - Math.floor(all * SHARE_OF_PLAIN);
  yield* searchWithNewNodes(search);
  return { sets: search.sets, cutShort: search.left <= 0 };
}

function simulationsFor({ observation: { cluster } }: ScaleDownContext): number {
  const { least, most, ofNodes } = SIMULATIONS;
  return Math.max(least, Math.min(most, Math.floor(ofNodes / Math.max(1, cluster.nodes.size))));
}

/** The best new nodes first, as long as any save something. */
function* searchWithNewNodes(search: Search): SlicedWork<void> {
  let last: Try | undefined;
  while (search.left > 0) {
    const again = last?.wanted === undefined ? undefined : yield* bestOrder(search, last.wanted, 1);
    const isAsGood = again !== undefined && last !== undefined && again.worth.gain >= last.worth.gain * AS_GOOD;
    const best = isAsGood ? again : yield* bestNewNodes(search);
    if (best?.wanted === undefined || !(yield* keepTry(search, best))) return;
    search.sets.push(scoredSet(best.removed, newNodesOf(best.wanted), best.worth, search.context));
    last = best;
  }
}

function* bestNewNodes(search: Search): SlicedWork<Try | undefined> {
  let best: Try | undefined;
  for (const pool of search.pools) {
    for (let nodes = 1; nodes <= MOST_ADDED; nodes++) {
      if (search.left <= 0) return best;
      const found = yield* bestOrder(search, { pool, nodes });
      if (found !== undefined && isBetter(found, best)) best = found;
    }
  }
  return best;
}

function addedOf(sets: readonly RepackSet[], { id }: NodeGroup): number {
  return sets.reduce((sum, { add }) => sum + (add?.group === id ? add.nodes : 0), 0);
}

/** Removals that need no new node follow each other: as many at once as one set may have. */
function inParts(found: Try, { context, mostAtOnce }: Search): readonly RepackSet[] {
  const parts: RepackSet[] = [];
  const size = Math.min(found.removed.length, mostAtOnce);
  for (let from = 0; from < found.removed.length; from += size) {
    const part = found.removed.slice(from, from + size);
    const worth = worthOf(
      part.map(({ group }) => group),
      undefined,
      context,
    );
    if (worth !== undefined) parts.push(scoredSet(part, undefined, worth, context));
  }
  return parts;
}

interface WantedNodes {
  readonly pool: GrowablePool;
  readonly nodes: number;
}

function newNodesOf(wanted: WantedNodes): NewNodes;
function newNodesOf(wanted: WantedNodes | undefined): NewNodes | undefined;
function newNodesOf(wanted: WantedNodes | undefined): NewNodes | undefined {
  return wanted === undefined ? undefined : { group: wanted.pool.group, nodes: wanted.nodes };
}

/** One try: what could go, in this order. */
interface Try {
  readonly removed: readonly Candidate[];
  readonly wanted: WantedNodes | undefined;
  readonly worth: Worth;
  /** In ordinary pods. */
  readonly disruption: number;
}

function isBetter(found: Try, than: Try | undefined): boolean {
  if (than === undefined) return true;
  const gain = found.worth.gain - than.worth.gain;
  return gain > EQUAL || (Math.abs(gain) <= EQUAL && found.disruption < than.disruption);
}

/** Tries the candidates in several orders, each in a fork that is undone. */
function* bestOrder(search: Search, wanted: WantedNodes | undefined, mostOrders = Infinity): SlicedWork<Try | undefined> {
  const { context } = search;
  if (wanted !== undefined && wanted.nodes + addedOf(search.sets, wanted.pool.group) > wanted.pool.most) return undefined;
  let best: Try | undefined;
  let tried = 0;
  for (const order of ordersOf(candidatesFor(search, wanted?.pool), search)) {
    if (tried++ >= mostOrders || search.left <= 0) break;
    yield;
    const work = () => removeInOrder(search, { order, wanted, destinations: new Set(search.destinations) });
    const removed = yield* withForkInSlices(context.snapshot, work);
    const found = tryOf(removed, wanted, context);
    if (found !== undefined && isBetter(found, best)) best = found;
  }
  return best;
}

function tryOf(removed: readonly Candidate[], wanted: WantedNodes | undefined, context: ScaleDownContext): Try | undefined {
  if (removed.length === 0) return undefined;
  const groups = removed.map(({ group }) => group);
  const worth = worthOf(groups, newNodesOf(wanted), context);
  // guard: nothing is repacked that saves nothing
  if (worth === undefined || worth.gain <= 0) return undefined;
  return {
    removed,
    wanted,
    worth,
    disruption: disruptionOf(
      removed.flatMap(({ drain }) => drain.movable),
      context,
    ),
  };
}

/** Makes the try again, so that what follows sees it. False if it does not hold: then nothing changed. */
function* keepTry(search: Search, { removed, wanted }: Try): SlicedWork<boolean> {
  const counted = search.left;
  search.left = removed.length;
  const isWhole = (gone: readonly Candidate[]): boolean => gone.length === removed.length;
  const destinations = new Set(search.destinations);
  const work = () => removeInOrder(search, { order: removed, wanted, destinations });
  const gone = yield* tryInSlices(search.context.snapshot, work, isWhole);
  search.left = counted;
  if (!isWhole(gone)) return false;
  search.destinations = destinations;
  for (const { node } of removed) search.removed.add(node.name);
  search.taken.push(...removed);
  return true;
}

interface RemovalsInOrder {
  readonly order: readonly Candidate[];
  readonly wanted: WantedNodes | undefined;
  /** The nodes that take pods. Follows the removals. */
  readonly destinations: Set<NodeName>;
}

/** Removes what can be removed, one node on top of the other. */
function* removeInOrder(search: Search, { order, wanted, destinations }: RemovalsInOrder): SlicedWork<readonly Candidate[]> {
  const { context, mostAtOnce } = search;
  if (wanted !== undefined) for (const name of addNewNodes(wanted.pool, wanted.nodes, context.snapshot)) destinations.add(name);
  const limits = limitsAfter(search, wanted);
  if (!limits.allowNew) return [];
  const mostFailures = wanted === undefined ? MOST_FAILURES.plain : MOST_FAILURES.withNew;
  const removed: Candidate[] = [];
  let failures = 0;
  for (const candidate of order) {
    if (search.left <= 0 || failures >= mostFailures || (wanted !== undefined && removed.length >= mostAtOnce)) break;
    if (!limits.allow(candidate)) continue;
    yield;
    search.left -= 1;
    const result = simulateRemoval(candidate.node, movableNow(candidate, context), context.snapshot, destinations);
    if ('unplaced' in result) {
      failures += 1;
      continue;
    }
    failures = 0;
    destinations.delete(candidate.node.name);
    limits.count(candidate);
    removed.push(candidate);
  }
  return removed;
}

/** Minimum sizes, even zones, and what the cluster must keep, after what the search has removed and added already. */
function limitsAfter(
  { context, taken, sets, zones: now }: Search,
  wanted: WantedNodes | undefined,
): {
  readonly allow: (candidate: Candidate) => boolean;
  readonly count: (candidate: Candidate) => void;
  readonly allowNew: boolean;
} {
  const groups = new GroupMinimums(context);
  const cluster = new ClusterMinimum(context);
  const pays = context.policy.scaleUp.paidNodes.length > 0;
  const gone: NodeGroup[] = [];
  const zones = now.copy();
  const count = ({ group, node }: Candidate): void => {
    zones.count(group.id, -1);
    groups.countRemoval(group);
    cluster.countRemoval(node);
    if (pays) gone.push(group);
  };
  for (const candidate of taken) count(candidate);
  for (const { add } of sets) if (add !== undefined) zones.count(add.group, add.nodes);
  const allowNew = wanted === undefined || zones.allowsNew(wanted.pool.group.id, wanted.nodes);
  if (wanted !== undefined) zones.count(wanted.pool.group.id, wanted.nodes);
  // guard: no set takes a group below its minimum
  const allow = ({ group, node }: Candidate): boolean =>
    groups.allowsWorking(group) &&
    zones.allowsRemoval(group.id) &&
    cluster.shortage([node]) === undefined &&
    !(pays && isPaid([...gone, group], context));
  return { allow, count, allowNew };
}

/** Whether the last of these removals saves nothing, since the node is paid for anyway. */
function isPaid(removed: readonly NodeGroup[], { policy, observation }: ScaleDownContext): boolean {
  return savedByRemovals(removed, policy.scaleUp, observation).at(-1) === 0;
}

/** Nodes that are still there, and that new nodes of the group would not repeat. */
function candidatesFor({ candidates, context, removed }: Search, pool: GrowablePool | undefined): readonly Candidate[] {
  const left = candidates.filter(({ node }) => !removed.has(node.name));
  if (pool === undefined) return left;
  return left.filter(({ group }) => {
    const price = priceOf(context.policy.scaleUp, group);
    // Such a set saves nothing, and what saves nothing is never repacked: leaving it out here spares its simulation.
    return !(
      group.vmSize.toLowerCase() === pool.group.vmSize.toLowerCase() &&
      group.priority === pool.group.priority &&
      price === pool.price
    );
  });
}

/** Different ways to begin: what saves most for its use first, what saves most for the moves, the most expensive first, the fullest first. */
function* ordersOf(candidates: readonly Candidate[], { context }: Search): Generator<readonly Candidate[]> {
  const rated = candidates.map((candidate) => {
    const price = priceOf(context.policy.scaleUp, candidate.group) ?? 1;
    const load = Math.max(candidate.utilization, LEAST_LOAD);
    return { candidate, price, load, disruption: disruptionOf(candidate.drain.movable, context) };
  });
  const by = (...ranks: readonly ((entry: (typeof rated)[number]) => number)[]): readonly Candidate[] =>
    rated
      .toSorted(
        (left, right) =>
          ranks.reduce((order, rank) => order || rank(left) - rank(right), 0) ||
          compareText(left.candidate.node.name, right.candidate.node.name),
      )
      .map(({ candidate }) => candidate);
  yield by(({ load, price }) => load / price);
  yield by(({ disruption, price }) => disruption / price);
  yield by(
    ({ price }) => -price,
    ({ load }) => load,
  );
  yield by(({ load }) => -load);
}
