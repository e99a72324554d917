/** Which pods are moved to make room on one node: the fewest, each with a place by simulation. Pure. Must not know when, or what comes of it. */
import { podName, type NodeName } from '../../../domain/ids.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { formatDuration } from '../../../lib/duration.ts';
import { checkNodeDrain, checkPodDrain } from '../../../scheduling/drainability/drainability.ts';
import { tryInFork } from '../../../scheduling/snapshot/snapshot.ts';
import { allRecreated, comesBackWith } from '../../facts/recreated-pods.ts';
import { isReservation } from '../../state/assumed-pods.ts';
import type { ScaleDownContext } from '../plan-context.ts';
import { youngPod } from '../repacked-nodes.ts';
import { placePods, placementOrder } from '../simulate-removal.ts';
import { askerPriority, fewestPods, missingFor, mustLeave, type RoomAsk } from './room-asks.ts';

/** Sets of pods that are tried for one node. */
const MOST_TRIES = 8;

type FoundSet = { readonly pods: readonly Pod[] } | { readonly why: string };

/** Other pods of the node; or the pod itself, if it is resized, comes back with its new size, and no others are enough. */
export function* findSet(
  ask: RoomAsk,
  context: ScaleDownContext,
  unplaced: (pods: readonly Pod[]) => Pod | undefined,
): SlicedWork<FoundSet> {
  const leaves = mustLeave(ask);
  const others = leaves ? undefined : yield* findOthers(ask, context, unplaced);
  if (ask.pod.status.resize === undefined || (others !== undefined && 'pods' in others)) return others ?? { why: TOO_SMALL };
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
function* findOthers(ask: RoomAsk, context: ScaleDownContext, unplaced: (pods: readonly Pod[]) => Pod | undefined): SlicedWork<FoundSet> {
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
    yield;
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
export function placedOn(
  { pod: asker, node }: RoomAsk,
  pods: readonly Pod[],
  { snapshot, observation: { cluster } }: ScaleDownContext,
  open: ReadonlySet<NodeName>,
): Pod | undefined {
  return tryInFork(
    snapshot,
    () => {
      const reserved = (snapshot.get(node.name)?.pods ?? []).filter(isReservation);
      for (const pod of [...pods, ...reserved]) snapshot.removePod(pod, node.name);
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
