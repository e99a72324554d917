/**
 * The pods that accepted increases were made for. Nodes on their way serve these pods first, and no other node is requested for them
 * until their nodes have joined and kube-scheduler had time to look at the pods again.
 * Idea: increase.
 */
import { isReal, type Pod } from '../../domain/pod.ts';
import type { NodeGroupId, PodUid } from '../../domain/ids.ts';
import type { AcceptedIncrease, FollowedInstances, LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import { membershipFacts } from '../facts/instance-facts.ts';
import { inFlight, isOwn } from './increases/increase-records.ts';
import {
  firstAskedTimes,
  onlyPods,
  podsByClass,
  withCreatedPods,
  withFirstAsked,
  withFoundPods,
  withoutPods,
} from './increases/pods-of-increases.ts';

/**
 * kube-scheduler tries a refused pod again at most 10 s after a node that may take it (its `podMaxBackoffSeconds`), and some seconds pass
 * until a taint is removed, the pod is bound and the watch reports it.
 */
const SCHEDULER_BACKOFF_MS = 20_000;
/** kube-scheduler binds at least 100 pods a second. */
const SCHEDULING_MS_PER_POD = 10;

/** How long kube-scheduler may take to look at so many pods again after nodes became ready, milliseconds. */
export function schedulerWaitMs(pods: number): number {
  return SCHEDULER_BACKOFF_MS + pods * SCHEDULING_MS_PER_POD;
}

/** Adds an increase of our own. Its pods are no longer part of earlier increases. Pods of a ProvisioningRequest are not remembered. */
export function rememberAccepted(
  increases: LoopState['increases'],
  increase: {
    readonly group: NodeGroupId;
    readonly nodes: number;
    /** Of the nodes. */
    readonly started: number;
    readonly pods: readonly Pod[];
    readonly expectedByMs: number;
    readonly followed: FollowedInstances | undefined;
  },
  nowMs: number,
): LoopState['increases'] {
  const real = increase.pods.filter(isReal);
  const planned = increase.pods.filter((pod) => !isReal(pod)).map(({ uid }) => uid);
  const moved = new Set([...planned, ...real.map(({ uid }) => uid)]);
  const askedBefore = firstAskedTimes(increases.get(increase.group) ?? []);
  const earlier = [...increases].map(([group, entries]) => [group, entries.map((entry) => withoutPods(entry, moved))] as const);
  const next = new Map<NodeGroupId, readonly AcceptedIncrease[]>(earlier);
  const { expectedByMs } = increase;
  const entry: AcceptedIncrease = {
    nodes: increase.nodes,
    acceptedAtMs: nowMs,
    pods: podsByClass(real, nowMs).map((some) => withFirstAsked(some, askedBefore)),
    planned,
    started: increase.started,
    incomplete: false,
    podsGoneSinceMs: undefined,
    joinedAtMs: undefined,
    readyAtMs: undefined,
    by: 'us',
    coming: { nodes: increase.nodes, expectedByMs },
    isOver: false,
    followed: increase.followed,
  };
  const records = [...(next.get(increase.group) ?? []), entry];
  // The text of the memory has groups in the order in which they began to have increases of their own.
  if (!records.slice(0, -1).some(isOwn)) next.delete(increase.group);
  return next.set(increase.group, records);
}

/** Call it after in-flight increases were updated. `before` is the state before this observation. */
export function trackAccepted(
  state: LoopState,
  { observation, before }: { readonly observation: Observation; readonly before: LoopState },
  policy: Policy,
): LoopState {
  if (state.increases.size === 0) return state;
  const { cluster, cloud } = observation;
  const pending = new Set(cluster.pendingPods.map(({ uid }) => uid));
  // guard: pods that a controller creates have the nodes that were requested for their copies
  const known = withCreatedPods(withFoundPods(state.increases, cluster.pendingPods), cluster.pendingPods);
  const increases = new Map<NodeGroupId, readonly AcceptedIncrease[]>();
  let { readyTimes, startTimes } = state;
  for (const group of cloud.groups) {
    const entries = (known.get(group.id) ?? []).map((entry) =>
      isOwn(entry)
        ? withPodsGone(
            onlyPods(entry, (uid) => pending.has(uid)),
            observation.nowMs,
          )
        : entry,
    );
    const tracked = trackNodes(entries, { group, state, observation, lostNodes: hasLostNodes(group, state, before) });
    const { maxProvisionMs } = optionsOf(group, policy);
    const ready = tracked.filter(({ readyAtMs, incomplete }) => readyAtMs === observation.nowMs && !incomplete);
    // guard: nodes are ready at the time of a rule although the last ones were started, not created
    const created = ready.filter((each) => startedNodes(each, group) < Math.max(1, each.nodes));
    readyTimes = withTimes(readyTimes, group.id, created, observation.nowMs);
    const areStarted = ready.filter((each) => !created.includes(each));
    startTimes = withTimes(startTimes, group.id, areStarted, observation.nowMs);
    const left = tracked.map((entry) => (isNeeded(entry, observation.nowMs, maxProvisionMs) ? entry : ended(entry)));
    increases.set(group.id, left);
  }
  const present = new Set(cloud.groups.map(({ id }) => id));
  for (const [group, entries] of known) {
    if (!present.has(group)) increases.set(group, entries.map(ended));
  }
  return { ...state, increases, readyTimes, startTimes };
}

function withPodsGone(entry: AcceptedIncrease, nowMs: number): AcceptedIncrease {
  const areGone = entry.followed !== undefined && entry.pods.length === 0 && entry.planned.length === 0 && entry.joinedAtMs === undefined;
  if (!areGone) return entry.podsGoneSinceMs === undefined ? entry : { ...entry, podsGoneSinceMs: undefined };
  return entry.podsGoneSinceMs === undefined ? { ...entry, podsGoneSinceMs: nowMs } : entry;
}

/** Of each group: the newest are the best forecast. */
const MOST_READY_TIMES = 20;

/**
 * Adds how long the increases that became ready now took. One that failed in part says nothing about the next, and one that started stopped
 * instances alone says nothing about how long new ones take.
 */
function withTimes(
  known: LoopState['readyTimes'],
  group: NodeGroupId,
  ready: readonly AcceptedIncrease[],
  nowMs: number,
): LoopState['readyTimes'] {
  if (ready.length === 0) return known;
  const times = [...(known.get(group) ?? []), ...ready.map(({ acceptedAtMs }) => nowMs - acceptedAtMs)];
  return new Map(known).set(group, times.slice(-MOST_READY_TIMES));
}

/** How many of its nodes are stopped instances that were started, by us or, where only a count is written, by the cloud. */
function startedNodes({ started, acceptedAtMs }: AcceptedIncrease, { instances = [] }: NodeGroup): number {
  return Math.max(started, instances.filter(({ startedAtMs }) => (startedAtMs ?? -Infinity) >= acceptedAtMs).length);
}

interface SeenGroup {
  readonly group: NodeGroup;
  readonly state: LoopState;
  readonly observation: Observation;
  readonly lostNodes: boolean;
}

/** Nodes join in the order of the increases, so those that are missing belong to our latest increases: a node may be ours. */
function trackNodes(entries: readonly AcceptedIncrease[], seen: SeenGroup): readonly AcceptedIncrease[] {
  let missing = inFlight(seen.state, seen.group.id)?.nodes ?? 0;
  const newestFirst = entries.toReversed().map((entry): AcceptedIncrease => {
    if (!isOwn(entry)) return entry;
    const isJoined = missing <= 0;
    missing -= entry.nodes;
    const marked = seen.lostNodes && entry.joinedAtMs === undefined ? { ...entry, incomplete: true } : entry;
    return isJoined ? withJoined(marked, seen) : marked;
  });
  return newestFirst.toReversed();
}

function withJoined(entry: AcceptedIncrease, { group, observation }: SeenGroup): AcceptedIncrease {
  const { nowMs } = observation;
  const joined = { ...entry, joinedAtMs: entry.joinedAtMs ?? nowMs };
  if (joined.readyAtMs !== undefined || !group.target.known) return joined;
  return hasStartingNodes(group, observation, joined) ? joined : { ...joined, readyAtMs: nowMs };
}

/** Whether a node that joined by then, and not long before the increase, is not ready yet. */
function hasStartingNodes(group: NodeGroup, { cluster, cloud }: Observation, entry: AcceptedIncrease & { joinedAtMs: number }): boolean {
  for (const name of membershipFacts(cloud).nodesByGroup.get(group.id) ?? []) {
    const node = cluster.nodes.get(name);
    if (node === undefined || node.createdAtMs < entry.acceptedAtMs || node.createdAtMs > entry.joinedAtMs) continue;
    if (!node.readiness.ready || hasStartupTaint(node, group)) return true;
  }
  return false;
}

function hasStartupTaint({ taints }: Node, { template }: NodeGroup): boolean {
  return taints.some(({ key }) => template?.startupTaints.includes(key) === true);
}

/** A failure backs off the group, and nodes that are given back or removed lower its target. */
function hasLostNodes(group: NodeGroup, state: LoopState, before: LoopState): boolean {
  const failed = state.backoffs.get(group.id);
  const isNewFailure = failed !== undefined && !failed.refused && failed !== before.backoffs.get(group.id);
  const target = before.targets.get(group.id);
  return isNewFailure || (group.target.known && target !== undefined && group.target.value < target);
}

/** Whether nodes of the increase, or pods of it, are still expected to come to rest. Of others' increases nothing but nodes is. */
function isNeeded(entry: AcceptedIncrease, nowMs: number, maxProvisionMs: number): boolean {
  const { joinedAtMs, readyAtMs, pods, planned } = entry;
  if (!isOwn(entry)) return true;
  const isAwaiting = pods.length > 0 || (planned.length > 0 && readyAtMs === undefined);
  return joinedAtMs === undefined || (isAwaiting && nowMs - joinedAtMs < maxProvisionMs);
}

function ended(entry: AcceptedIncrease): AcceptedIncrease {
  return { ...entry, pods: [], planned: [], isOver: true };
}

/**
 * The pods for which nodes are on their way, or joined so recently that kube-scheduler may not have looked at the pods again; with the
 * group. No other node is requested for them. `refused` are pods that kube-scheduler has looked at again with all nodes of the cluster.
 */
export function awaitedPods(
  { increases }: Pick<LoopState, 'increases'>,
  nowMs: number,
  refused: ReadonlySet<PodUid>,
): ReadonlyMap<PodUid, NodeGroupId> {
  const awaited = new Map<PodUid, NodeGroupId>();
  for (const [group, entries] of increases) {
    for (const entry of entries) {
      if (!isOwn(entry) || entry.incomplete || !isAwaited(entry, nowMs)) continue;
      const all = entry.pods.flatMap((some) => some.uids ?? []);
      const uids = entry.readyAtMs === undefined ? all : all.filter((uid) => !refused.has(uid));
      for (const uid of [...uids, ...entry.planned]) awaited.set(uid, group);
    }
  }
  return awaited;
}

function isAwaited({ readyAtMs, pods }: AcceptedIncrease, nowMs: number): boolean {
  if (readyAtMs === undefined) return true;
  const count = pods.reduce((sum, some) => sum + some.count, 0);
  return nowMs - readyAtMs < schedulerWaitMs(count);
}
