/**
 * Room on a node that stays: a pod of a DaemonSet waits for its full node, or a running pod for its new size (a deferred resize), and others
 * may be moved, or the pod itself, if it comes back with that size. The fewest pods are chosen by the rules of a drain. Each has a place by
 * simulation, or one node is requested for them first. Nothing is remembered but a closure of the node, which grows: no pod is moved twice
 * within an hour, over restarts, too. Pure. Must not know how a pod is evicted.
 */
import { nodeGroupId, podName, type NodeGroupId, type NodeName } from '../../../domain/ids.ts';
import type { DrainOptions } from '../../../domain/node-group.ts';
import type { Increase, ScaleDownPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { NodeRoom, RepackMemory } from '../../../domain/repack.ts';
import type { ResourceNames, Resources } from '../../../domain/resources.ts';
import { describeBlock } from '../../../domain/group-blocks.ts';
import { optionsOf } from '../../../domain/policy.ts';
import { nextDurationMs } from '../../../lib/closure.ts';
import { rotate } from '../../../lib/collections.ts';
import { compareBy } from '../../../lib/comparison.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { fitsStatically } from '../../../scheduling/snapshot/node-only-fit.ts';
import { tryInFork, withForkInSlices } from '../../../scheduling/snapshot/snapshot.ts';
import { statedDrain } from '../../../scheduling/drainability/group-drain-options.ts';
import { clusterProblem, reasonNotToAct } from '../../state/cluster-health.ts';
import { inFlight } from '../../state/increases/increase-records.ts';
import { staleReadReason } from '../cooldown.ts';
import type { ScaleDownContext } from '../plan-context.ts';
import type { Move } from '../repacked-nodes.ts';
import { addNewNodes, growablePools, type GrowablePool } from '../repack/growable-pools.ts';
import { destinationsOf, placePodsOfDrainingNodes } from '../unneeded.ts';
import { findRoomAsks, type RoomAsk } from './room-asks.ts';
import { findSet, placedOn } from './room-sets.ts';

const HOUR_MS = 3_600_000;
/** The first time without another try on a node, and the longest. */
const CLOSED = { firstMs: HOUR_MS, longestMs: 24 * HOUR_MS };
const MOST_NODES_PER_HOUR = 5;
/** Pods for which one plan simulates; the others have their turn in the next loops. */
const MOST_LOOKS = 5;
/** If more pods of one node wait, only these are said to. */
const MOST_NAMED = 3;
/** Pools that one plan simulates a new node of. If there are more, other loops begin with others. */
const MOST_POOLS = 10;

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
  /** The group's own settings of drains. undefined: it has none. */
  readonly drain: Partial<DrainOptions> | undefined;
  /** What was remembered of the node until then. */
  readonly before: NodeRoom;
}

/** A move or an increase that came to nothing. */
interface FailedTry extends Pick<RoomMove, 'node' | 'before'> {
  /** As a part of a sentence. */
  readonly why: string;
  /** How long it is not tried again. 0: a closure of the pool, or its new size, says what is tried next. */
  readonly waitMs: number;
}

/** Moves that are over. */
export interface EndedMoves {
  /** Without an eviction. */
  readonly failed: readonly FailedTry[];
  readonly moved: readonly Move[];
}

export interface RoomDecision {
  readonly rooms: RepackMemory['rooms'];
  /** undefined: nothing is moved in this loop. */
  readonly move: RoomMove | undefined;
  /** A node for the pods, before they move. */
  readonly increase: RoomIncrease | undefined;
}

/** Requests a node for the pods of another one. */
interface RoomIncrease {
  readonly increase: Increase;
  readonly asked: Pick<RoomMove, 'node' | 'before'>;
}

/** Decides for at most one node. In slices: nothing else may use the snapshot before it ends. */
export function* planRoom(input: RoomInput): SlicedWork<RoomDecision> {
  const { context, memory } = input;
  const rooms = knownRooms(input);
  if (![...context.groups.values()].some((group) => optionsOf(group, context.policy).makeRoom))
    return { rooms: memory.rooms.size === 0 ? memory.rooms : rooms, move: undefined, increase: undefined };
  const refusal = reasonToLeaveAll(context);
  const search: RoomSearch = { left: MOST_LOOKS, made: undefined, pools: undefined, poolsLeft: MOST_POOLS };
  for (const [name, asks] of asksInTurn(context)) {
    const room = rooms.get(name) ?? NO_ROOM;
    const found: Found[] = [];
    for (const ask of asks) {
      const against = reasonAgainst(ask, room, input) ?? refusal ?? hourlyRefusal(rooms, room, context.observation.nowMs);
      found.push(against === undefined ? yield* lookAt(ask, room, { input, search }) : { why: against });
    }
    const here = found.find(isMade);
    const after = here === undefined ? { ...room, why: whysOf(asks, found) } : roomAfter(here, room, context.observation.nowMs);
    rooms.set(name, after);
  }
  return { rooms, move: search.made?.move, increase: search.made?.increase };
}

/** What is against a move from any node. undefined: nothing is. */
function reasonToLeaveAll(context: ScaleDownContext): string | undefined {
  const { observation, state, policy } = context;
  // guard: no pod is moved to make room while nothing may be removed
  if (!policy.scaleDown.enabled) return 'scale-down is disabled';
  return staleReadReason(context) ?? reasonNotToAct(observation, state, policy) ?? clusterProblem(observation, state, policy)?.detail;
}

/** The memory after a move or an increase that came to nothing: as before, but that the node may have no further try for a moment. */
export function withFailedTry(memory: RepackMemory, { node, before, why, waitMs }: FailedTry, nowMs: number): RepackMemory {
  const failed = { why, untilMs: nowMs + waitMs };
  return { ...memory, rooms: new Map([...memory.rooms, [node, { ...before, failed, why }]]) };
}

function isMade(found: Found): found is Made {
  return !('why' in found);
}

interface RoomSearch {
  /** Pods that may still be simulated. */
  left: number;
  made: Made | undefined;
  /** Those that could grow, by name. undefined: no pod has needed one. */
  pools: readonly GrowablePool[] | undefined;
  /** How many of them may still be simulated. */
  poolsLeft: number;
}

interface Looking {
  readonly input: RoomInput;
  readonly search: RoomSearch;
}

/** Simulates for the pod, if nothing is done in this loop yet. */
function* lookAt(ask: RoomAsk, room: NodeRoom, looking: Looking): SlicedWork<Found> {
  const { input, search } = looking;
  if (search.made !== undefined || search.left === 0) return { why: 'another pod comes first' };
  search.left -= 1;
  const found = yield* withForkInSlices(input.context.snapshot, () => roomOn(ask, room, looking));
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

const NO_ROOM: NodeRoom = { closure: undefined, added: undefined, failed: undefined, why: undefined };

/** What is remembered of nodes that are there, without what every loop finds again. */
function knownRooms({ context, memory }: RoomInput): Map<NodeName, NodeRoom> {
  const { nowMs, cluster } = context.observation;
  const rooms = new Map<NodeName, NodeRoom>();
  for (const [name, { closure, added, failed }] of memory.rooms) {
    const untilMs = closure?.untilMs ?? 0;
    const lately = failed !== undefined && failed.untilMs > nowMs ? failed : undefined;
    if (!cluster.nodes.has(name) || (untilMs + CLOSED.longestMs <= nowMs && lately === undefined)) continue;
    rooms.set(name, { closure, added: untilMs > nowMs ? added : undefined, failed: lately, why: undefined });
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
  return { closure: next, added: increase?.increase.group, failed: undefined, why };
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

function reasonOnNode(
  { node, others }: RoomAsk,
  { closure, added, failed }: NodeRoom,
  { context, plan, busy }: RoomInput,
): string | undefined {
  const isGoing = context.leaving.has(node.name) || context.repack.removing.has(node.name) || plan.unneeded.has(node.name);
  if (isGoing || !node.readiness.ready) return 'its node is not ready, or may be removed soon';
  if (busy) return 'pods of another node are being moved';
  if (others.some(({ deletionAtMs }) => deletionAtMs !== undefined)) return 'a pod there is ending, which may make the room';
  // guard: a try to make room that came to nothing is not repeated at once
  if (failed !== undefined) return `${failed.why}; it is tried again from ${new Date(failed.untilMs).toISOString()} on`;
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

function* roomOn(ask: RoomAsk, room: NodeRoom, { input, search }: Looking): SlicedWork<Found> {
  const { context, plan } = input;
  const destinations = destinationsOf(context);
  // A node that was requested for the pods is not needed until they come.
  for (const name of [...plan.removals.map(({ node }) => node), ask.node.name]) destinations.delete(name);
  // guard: no pod is moved to make room to a place that a pod of a draining node needs
  placePodsOfDrainingNodes(context, destinations);
  const now = yield* findSet(ask, context, (pods) => placedOn(ask, pods, context, destinations));
  if ('pods' in now) return { move: moveOf(ask, { pods: now.pods, before: room }, context), increase: undefined };
  const coming = room.added;
  if (coming !== undefined)
    return { why: inFlight(context.state, coming) === undefined ? now.why : `a node of pool ${coming} is on its way for its pods` };
  search.pools ??= growablePools(context, input.names, 'all').toSorted(compareBy(({ group }) => group.id));
  const able = search.pools.filter((pool) => couldHold(pool, ask) && inFlight(context.state, pool.group.id) === undefined);
  const increase = yield* requestFor(ask, destinations, { able, search, context });
  return increase === undefined ? now : { move: undefined, increase: { increase, asked: { node: ask.node.name, before: room } } };
}

interface PoolsToTry {
  /** Pools that could help. */
  readonly able: readonly GrowablePool[];
  readonly search: RoomSearch;
  readonly context: ScaleDownContext;
}

/** One new node of the first pool that holds the pods beside present nodes. */
function* requestFor(
  ask: RoomAsk,
  destinations: ReadonlySet<NodeName>,
  { able, search, context }: PoolsToTry,
): SlicedWork<Increase | undefined> {
  const inTurn = able.length > MOST_POOLS ? rotate(able, context.observation.loopId % able.length) : able;
  for (const pool of inTurn) {
    if (search.poolsLeft === 0) break;
    search.poolsLeft -= 1;
    const { id, target } = pool.group;
    if (!target.known) continue;
    const holds = (pods: readonly Pod[]): Pod | undefined =>
      tryInFork(
        context.snapshot,
        () => placedOn(ask, pods, context, new Set([...destinations, ...addNewNodes(pool, 1, context.snapshot)])),
        () => false,
      );
    if (!('pods' in (yield* findSet(ask, context, holds)))) continue;
    const { value: from, version } = target;
    return { group: id, from, to: from + 1, version, pods: [], cause: 'make-room' };
  }
  return undefined;
}

/** Whether its new node, if it were empty, would hold a pod that could leave. Without one, no set of pods has a place there. */
function couldHold({ node }: GrowablePool, { pod, wanted, others }: RoomAsk): boolean {
  const holds = ({ shape }: Pod, requests: Resources): boolean =>
    requests.every((amount, index) => amount <= (node.allocatable[index] ?? 0)) && fitsStatically(shape, node);
  if (pod.status.resize !== undefined && holds(pod, wanted)) return true;
  return others.some((other) => !other.daemonSet && !other.mirror && holds(other, other.shape.requests));
}

function moveOf(
  { node, pod }: RoomAsk,
  move: Pick<RoomMove, 'pods' | 'before'>,
  { observation, groups }: ScaleDownContext,
): RoomMove | undefined {
  const group = groups.get(observation.cloud.groupOfNode.get(node.name) ?? nodeGroupId(''));
  if (group === undefined) return undefined;
  return { node: node.name, group: group.id, asker: pod, drain: statedDrain(group.options), ...move };
}
