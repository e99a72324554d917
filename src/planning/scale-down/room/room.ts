/**
 * Room on a node that stays: a pod of a DaemonSet waits for its full node, or a running pod for its new size (a deferred resize), and others
 * may be moved, or the pod itself, if it comes back with that size. The fewest pods are chosen by the rules of a drain. Each has a place by
 * simulation, or one node is requested for them first. Nothing is remembered but a closure of the node, which grows: no pod is moved twice
 * within an hour, over restarts, too. Pure. Must not know how a pod is evicted.
 */
import { podName, type NodeGroupId, type NodeName } from '../../../domain/ids.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Increase, ScaleDownPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { NodeRoom, RepackMemory } from '../../../domain/repack.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import { describeBlock } from '../../../domain/group-blocks.ts';
import { optionsOf } from '../../../domain/policy.ts';
import { nextDurationMs } from '../../../lib/closure.ts';
import { rotate } from '../../../lib/collections.ts';
import { formatDuration } from '../../../lib/duration.ts';
import { tryInFork } from '../../../scheduling/snapshot/snapshot.ts';
import { checkNodeDrain, checkPodDrain } from '../../../scheduling/drainability/drainability.ts';
import { allRecreated, comesBackWith } from '../../facts/recreated-pods.ts';
import { reasonNotToAct } from '../../state/cluster-health.ts';
import { inFlight } from '../../state/increases/increase-records.ts';
import { staleReadReason } from '../cooldown.ts';
import type { ScaleDownContext } from '../plan-context.ts';
import { addNewNodes, growablePools } from '../repack/growable-pools.ts';
import { youngPod } from '../repacked-nodes.ts';
import { placePods, placementOrder } from '../simulate-removal.ts';
import { destinationsOf } from '../unneeded.ts';
import { askerPriority, fewestPods, findRoomAsks, missingFor, mustLeave, type RoomAsk } from './room-asks.ts';

const HOUR_MS = 3_600_000;
/** The first time without another try on a node, and the longest. */
const CLOSED = { firstMs: HOUR_MS, longestMs: 24 * HOUR_MS };
const MOST_NODES_PER_HOUR = 5;
/** Pods for which one plan simulates; the others have their turn in the next loops. */
const MOST_LOOKS = 5;
/** If more pods of one node wait, only these are said to. */
const MOST_NAMED = 3;
/** Sets of pods that are tried for one node. */
const MOST_TRIES = 8;

export interface RoomInput {
  readonly context: ScaleDownContext;
  readonly names: ResourceNames;
  readonly plan: Pick<ScaleDownPlan, 'unneeded' | 'removals'>;
  readonly memory: RepackMemory;
  /** Pods are being moved for another node. */
  readonly busy: boolean;
}

/** Pods to evict now, and the pod that gets their room. */
export interface RoomMove {
  readonly node: NodeName;
  readonly group: NodeGroupId;
  readonly pods: readonly Pod[];
  readonly asker: Pod;
}

interface RoomDecision {
  readonly rooms: RepackMemory['rooms'];
  /** undefined: nothing is moved in this loop. */
  readonly move: RoomMove | undefined;
  /** A node for the pods, before they move. */
  readonly increase: Increase | undefined;
}

/** Decides for at most one node. */
export function planRoom(input: RoomInput): RoomDecision {
  const { context, memory } = input;
  const rooms = knownRooms(input);
  if (![...context.groups.values()].some((group) => optionsOf(group, context.policy).makeRoom))
    return { rooms: rooms.size === memory.rooms.size ? memory.rooms : rooms, move: undefined, increase: undefined };
  const refusal = staleReadReason(context) ?? reasonNotToAct(context.observation, context.state, context.policy);
  const search: RoomSearch = { left: MOST_LOOKS, made: undefined };
  for (const [name, asks] of asksInTurn(context)) {
    const room = rooms.get(name) ?? NO_ROOM;
    const found = asks.map((ask) => {
      const against = reasonAgainst(ask, room, input) ?? refusal ?? hourlyRefusal(rooms, room, context.observation.nowMs);
      return against === undefined ? lookAt(ask, room, { input, search }) : { why: against };
    });
    const here = found.find(isMade);
    const after = here === undefined ? { ...room, why: whysOf(asks, found) } : roomAfter(here, room, context.observation.nowMs);
    rooms.set(name, after);
  }
  return { rooms, move: search.made?.move, increase: search.made?.increase };
}

function isMade(found: Found): found is Made {
  return !('why' in found);
}

interface RoomSearch {
  /** Pods that may still be simulated. */
  left: number;
  made: Made | undefined;
}

/** Simulates for the pod, if nothing is done in this loop yet. */
function lookAt(ask: RoomAsk, room: NodeRoom, { input, search }: { readonly input: RoomInput; readonly search: RoomSearch }): Found {
  if (search.made !== undefined || search.left === 0) return { why: 'another pod comes first' };
  search.left -= 1;
  const found = roomOn(ask, room, input);
  if (isMade(found)) search.made = found;
  return found;
}

/** With the first pods, if not the same is said of all. */
function whysOf(asks: readonly RoomAsk[], found: readonly Found[]): string {
  const whys = found.map((one) => ('why' in one ? one.why : ''));
  if (new Set(whys).size === 1) return whys[0] ?? '';
  const few = asks.slice(0, MOST_NAMED).map(({ pod }, at) => `for pod ${podName(pod)}, ${whys[at] ?? ''}`);
  return [...few, ...(asks.length > MOST_NAMED ? [`and ${asks.length - MOST_NAMED} others wait`] : [])].join('; ');
}

type Made = Pick<RoomDecision, 'move' | 'increase'>;

const NO_ROOM: NodeRoom = { closure: undefined, added: undefined, why: undefined };

/** What is remembered of nodes that are there, without what every loop finds again. */
function knownRooms({ context, memory }: RoomInput): Map<NodeName, NodeRoom> {
  const { nowMs, cluster } = context.observation;
  const rooms = new Map<NodeName, NodeRoom>();
  for (const [name, { closure, added }] of memory.rooms) {
    const untilMs = closure?.untilMs ?? 0;
    if (!cluster.nodes.has(name) || untilMs + CLOSED.longestMs <= nowMs) continue;
    rooms.set(name, { closure, added: untilMs > nowMs ? added : undefined, why: undefined });
  }
  return rooms;
}

/** By node. Each loop begins with another one, so that none waits for those that find no room. */
function asksInTurn(context: ScaleDownContext): readonly (readonly [NodeName, readonly RoomAsk[]])[] {
  const asks = [...Map.groupBy(findRoomAsks(context), ({ node }) => node.name)];
  return asks.length === 0 ? asks : rotate(asks, context.observation.loopId % asks.length);
}

/** A node that was promised for the pods closes their own one no second time. */
function roomAfter({ move, increase }: Made, { closure, added }: NodeRoom, nowMs: number): NodeRoom {
  const durationMs = nextDurationMs(CLOSED, closure);
  const next = closure !== undefined && added !== undefined ? closure : { durationMs, untilMs: nowMs + durationMs };
  const why = increase === undefined ? movesOf(move?.pods ?? []) : 'a node for its pods is being requested';
  return { closure: next, added: increase?.group, why };
}

function movesOf(pods: readonly Pod[]): string {
  const names = pods.map(podName).join(', ');
  return pods.length === 1 ? `pod ${names} moves to another node` : `pods ${names} move to other nodes`;
}

/** Why no pod of the node is moved now, as a part of a sentence. undefined: it is worth a simulation. */
function reasonAgainst(ask: RoomAsk, room: NodeRoom, input: RoomInput): string | undefined {
  const { cloud } = input.context.observation;
  const id = cloud.groupOfNode.get(ask.node.name);
  const group = id === undefined ? undefined : input.context.groups.get(id);
  if (group === undefined) return 'its node belongs to no managed pool';
  // guard: room is made only in pools where that is on
  if (!optionsOf(group, input.context.policy).makeRoom) return `no room is made in pool ${group.id} (makeRoom: true turns it on)`;
  const block = group.blocks.change ?? group.blocks.removal;
  return block === undefined ? reasonOnNode(ask, room, input) : describeBlock(block);
}

function reasonOnNode({ node, others }: RoomAsk, { closure, added }: NodeRoom, { context, plan, busy }: RoomInput): string | undefined {
  const isGoing = context.leaving.has(node.name) || context.repack.removing.has(node.name) || plan.unneeded.has(node.name);
  if (isGoing || !node.readiness.ready) return 'its node is not ready, or may be removed soon';
  if (busy) return 'pods of another node are being moved';
  if (others.some(({ deletionAtMs }) => deletionAtMs !== undefined)) return 'a pod there is ending, which may make the room';
  const untilMs = closure?.untilMs ?? 0;
  // guard: room is made on a node once within a time that grows
  if (untilMs > context.observation.nowMs && added === undefined)
    return `pods were moved from it within the last hours, and none is before ${new Date(untilMs).toISOString()}`;
  return undefined;
}

/** undefined: the hour leaves another node, or this one is counted already. */
function hourlyRefusal(rooms: RepackMemory['rooms'], own: NodeRoom, nowMs: number): string | undefined {
  if (own.added !== undefined) return undefined;
  const begun = [...rooms.values()].filter(
    ({ closure }) => closure !== undefined && closure.untilMs - closure.durationMs > nowMs - HOUR_MS,
  );
  // guard: room is made on few nodes within an hour
  return begun.length < MOST_NODES_PER_HOUR
    ? undefined
    : `room was made on ${begun.length} nodes within an hour, of ${MOST_NODES_PER_HOUR}`;
}

type Found = Made | { readonly why: string };

function roomOn(ask: RoomAsk, room: NodeRoom, input: RoomInput): Found {
  const { context, plan } = input;
  const destinations = destinationsOf(context);
  // A node that was requested for the pods is not needed until they come.
  for (const name of [...plan.removals.map(({ node }) => node), ask.node.name]) destinations.delete(name);
  const now = findSet(ask, context, (pods) => placedOn(ask, pods, context, destinations));
  if ('pods' in now) return { move: moveOf(ask, now.pods, context), increase: undefined };
  const coming = room.added;
  if (coming !== undefined)
    return { why: inFlight(context.state, coming) === undefined ? now.why : `a node of pool ${coming} is on its way for its pods` };
  return requestFor(ask, destinations, input) ?? now;
}

/** One new node of the first pool that holds the pods beside present nodes. */
function requestFor(ask: RoomAsk, destinations: ReadonlySet<NodeName>, { context, names }: RoomInput): Found | undefined {
  for (const id of [...context.groups.keys()].sort()) {
    const [pool] = growablePools(context, names, id);
    const target = pool?.group.target;
    if (pool === undefined || target?.known !== true || inFlight(context.state, id) !== undefined) continue;
    const holds = (pods: readonly Pod[]): Pod | undefined =>
      tryInFork(
        context.snapshot,
        () => placedOn(ask, pods, context, new Set([...destinations, ...addNewNodes(pool, 1, context.snapshot)])),
        () => false,
      );
    if (!('pods' in findSet(ask, context, holds))) continue;
    const { value: from, version } = target;
    return { move: undefined, increase: { group: id, from, to: from + 1, version, pods: [], cause: 'make-room' } };
  }
  return undefined;
}

function moveOf({ node, pod }: RoomAsk, pods: readonly Pod[], { observation }: ScaleDownContext): RoomMove | undefined {
  const group = observation.cloud.groupOfNode.get(node.name);
  return group === undefined ? undefined : { node: node.name, group, pods, asker: pod };
}

type FoundSet = { readonly pods: readonly Pod[] } | { readonly why: string };

/** Other pods of the node; or the pod itself, if it is resized, comes back with its new size, and no others are enough. */
function findSet(ask: RoomAsk, context: ScaleDownContext, unplaced: (pods: readonly Pod[]) => Pod | undefined): FoundSet {
  const leaves = mustLeave(ask);
  const others = leaves ? undefined : findOthers(ask, context, unplaced);
  if (ask.pod.resize === undefined || (others !== undefined && 'pods' in others)) return others ?? { why: TOO_SMALL };
  const itself = findItself(ask, context, unplaced);
  if ('pods' in itself) return itself;
  return others ?? { why: `${TOO_SMALL}, and ${itself.why}` };
}

const TOO_SMALL = 'its node can never hold that size';

function findItself(
  { pod, node, wanted }: RoomAsk,
  context: ScaleDownContext,
  unplaced: (pods: readonly Pod[]) => Pod | undefined,
): FoundSet {
  const { cluster, nowMs } = context.observation;
  const { minPodAgeMs } = context.policy.repack;
  // guard: a pod is not moved for its new size if it would come back without
  if (!comesBackWith(pod, wanted, cluster)) return { why: noSizeFor(cluster) };
  const drain = context.drainOn(node.name);
  const { blocker, movable } = checkNodeDrain([pod], drain);
  if (blocker !== undefined) return { why: `it may not be moved (${blocker.reason}: ${blocker.detail})` };
  if (movable.length === 0) return { why: 'it may not be moved' };
  // guard: a resized pod is not moved within an hour of its start
  if (youngPod([pod], minPodAgeMs, nowMs) !== undefined) return { why: `it runs for less than ${formatDuration(minPodAgeMs)}` };
  // guard: a resized pod is not moved before it has a place for its new size
  return unplaced([pod]) === undefined ? { pods: [pod] } : { why: 'no other node has room for that size' };
}

function noSizeFor({ verticalPodAutoscalers }: ClusterView): string {
  return verticalPodAutoscalers === undefined
    ? 'what a replacement would request is not known (cluster.verticalPodAutoscalers is off)'
    : 'no VerticalPodAutoscaler gives a replacement that size';
}

/** The fewest pods that are enough, may be moved together, and have places by `unplaced`, which names one that has none. */
function findOthers(ask: RoomAsk, context: ScaleDownContext, unplaced: (pods: readonly Pod[]) => Pod | undefined): FoundSet {
  const drain = context.drainOn(ask.node.name);
  const { nowMs } = context.observation;
  const { minPodAgeMs } = context.policy.repack;
  const short = missingFor(ask);
  let why = 'the pods there that may be moved do not leave enough room';
  const mayMove = (pod: Pod): boolean => {
    if (checkPodDrain(pod, drain).kind !== 'move' || askerPriority(pod) > askerPriority(ask.pod)) return false;
    // guard: no pod is moved to make room within an hour of its start
    return youngPod([pod], minPodAgeMs, nowMs) === undefined;
  };
  let movable = ask.others.filter(mayMove);
  if (movable.length === 0)
    why = `no pod there may be moved: each is protected, of a higher priority, or younger than ${formatDuration(minPodAgeMs)}`;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const pods = fewestPods(movable, short);
    if (pods === undefined) break;
    const { blocker } = checkNodeDrain(pods, drain);
    // guard: no pod is moved to make room before it has a place
    const without = blocker === undefined ? unplaced(pods) : pods.find((pod) => podName(pod) === blocker.pod);
    if (without === undefined && blocker === undefined) return { pods };
    why =
      blocker === undefined
        ? `pod ${podName(without ?? ask.pod)} would find no place`
        : `pod ${blocker.pod} blocks (${blocker.reason}: ${blocker.detail})`;
    if (without === undefined || without === ask.pod) break;
    movable = movable.filter((pod) => pod !== without);
  }
  return { why };
}

/** A pod that finds no place once these have left the node: one of them, or the one that waits. undefined: all do. */
function placedOn(
  { pod: asker, node }: RoomAsk,
  pods: readonly Pod[],
  { snapshot, observation: { cluster } }: ScaleDownContext,
  open: ReadonlySet<NodeName>,
): Pod | undefined {
  return tryInFork(
    snapshot,
    () => {
      for (const pod of pods) snapshot.removePod(pod, node.name);
      if (asker.nodeName === undefined) {
        if (snapshot.check(asker, node.name).length > 0) return asker;
        snapshot.addPod(asker, node.name);
      }
      const placed = placePods(allRecreated(pods, cluster).toSorted(placementOrder), snapshot, (name) => open.has(name));
      return 'unplaced' in placed ? pods.find(({ uid }) => uid === placed.unplaced.uid) : undefined;
    },
    () => false,
  );
}
