/**
 * The nodes that each group still waits for, until they join, fail or are overdue. Pure.
 * Idea: increase.
 */
import { instanceKey, type NodeGroupId, type NodeName } from '../../domain/ids.ts';
import type { AcceptedIncrease, LoopState } from '../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import { absentInstances, instanceListFacts, membershipFacts } from '../facts/instance-facts.ts';
import { failIncrease } from './closures.ts';
import { awaiting, increaseByOthers, inFlight, inFlightIn, withRecords, type InFlightIncrease } from './increases/increase-records.ts';
import { awaitedSinceMs, isFirstLoop, isLeftover, mayJoin } from './unregistered.ts';

/**
 * Updates the in-flight increases. Nodes that joined are no longer expected, failed instances never join, and an overdue increase has
 * failed. Increases by other writers, or by us before a restart, are added.
 */
export function trackIncreases(
  state: LoopState,
  { observation, before }: { readonly observation: Observation; readonly before: LoopState['increases'] },
  policy: Policy,
): LoopState {
  const registered = registeredByGroup(observation);
  const tracked = observation.cloud.groups.reduce((next, group) => {
    const counts = registered.get(group.id) ?? NO_NODES;
    return trackGroup(
      next,
      { ...counts, ...absentParts(next, { group, observation, before: before.get(group.id) ?? [] }, policy) },
      policy,
    );
  }, state);
  const present = new Set(observation.cloud.groups.map((group) => group.id));
  return {
    ...tracked,
    increases: new Map([...tracked.increases].map(([group, records]) => [group, present.has(group) ? records : awaiting(records, 0)])),
    targets: new Map([...tracked.targets].filter(([group]) => present.has(group))),
  };
}

interface GroupUpdate extends RegisteredNodes, AbsentInstances {
  readonly group: NodeGroup;
  readonly nowMs: number;
}

interface RegisteredNodes {
  readonly registered: number;
  /** Those of them on no listed instance. */
  readonly unlisted: number;
}

interface AbsentInstances {
  /** The increases before this observation reported failures. */
  readonly before: readonly AcceptedIncrease[];
  /** Instances that failed and never became nodes. */
  readonly failed: readonly Instance[];
  /** Instances that may still become nodes of the in-flight increase. */
  readonly joining: readonly Instance[];
  /** How many instances count towards the target although the in-flight increase did not request them. */
  readonly leftover: number;
}

type SeenGroup = Pick<GroupUpdate, 'group' | 'before'> & { readonly observation: Observation };

function absentParts(
  state: LoopState,
  { group, before, observation: { cloud, nowMs } }: SeenGroup,
  policy: Policy,
): AbsentInstances & Pick<GroupUpdate, 'group' | 'nowMs'> {
  // A node whose instance reports a failure did join: it counts as the node it is.
  const absent = absentInstances(group, cloud);
  const failed = absent.filter(({ state: is }) => is === 'failed');
  const mayCome = absent.filter(mayJoin);
  const increase =
    inFlight(state, group.id) ?? inFlightIn(group.id, before) ?? increaseFoundNow(state, { group, joining: mayCome, nowMs }, policy);
  const leftover = new Set(absent.filter((instance) => isLeftover(instance, group, increase, { state, policy, nowMs })));
  const joining = mayCome.filter((instance) => !leftover.has(instance));
  return { group, before, failed, joining, leftover: leftover.size, nowMs };
}

function trackGroup(state: LoopState, seen: GroupUpdate, policy: Policy): LoopState {
  const { group, nowMs } = seen;
  if (!group.target.known) return failOverdue(state, seen, policy);
  const target = group.target.value;
  const missing = missingNodes(seen, target);
  const records = inFlight(state, group.id) === undefined ? stillJoining(state, seen) : (state.increases.get(group.id) ?? []);
  const known = inFlightIn(group.id, records);
  const rise = unexplainedIncrease(state, seen, target);
  const times =
    known === undefined
      ? increaseFoundNow(state, seen, policy)
      : { requestedAtMs: nowMs, expectedByMs: nowMs + optionsOf(group, policy).maxProvisionMs };
  const all = rise > 0 ? [...records, increaseByOthers(rise, times)] : records;
  const next = {
    ...state,
    increases: withRecords(state.increases, group.id, awaiting(all, Math.min(missing, (known?.nodes ?? 0) + rise))),
    targets: state.targets.get(group.id) === target ? state.targets : new Map([...state.targets, [group.id, target]]),
  };
  return failOverdue(failOnFailedInstance(next, { seen, known }, policy), seen, policy);
}

/**
 * How many nodes of the target have yet to join, without leftover instances. If the node of one is registered under the id of another
 * instance, the node counts already.
 */
function missingNodes({ registered, unlisted, failed, leftover }: GroupUpdate, target: number): number {
  // guard: an instance that never becomes a node is not awaited by later increases
  // guard: a node under the id of another instance hides no node that is missing
  return Math.max(0, target - registered - failed.length - Math.max(0, leftover - unlisted));
}

/** The increases of a group that just failed: instances that Azure shows are still expected. */
function stillJoining(state: LoopState, { group, before, joining }: GroupUpdate): readonly AcceptedIncrease[] {
  const nodes = Math.min(inFlightIn(group.id, before)?.nodes ?? 0, joining.length);
  return nodes === 0 ? (state.increases.get(group.id) ?? []) : awaiting(before, nodes);
}

type IncreaseTimes = Pick<InFlightIncrease, 'requestedAtMs' | 'expectedByMs'>;

/** The times of an increase by another writer, which is seen now, or by an earlier process: then by its newest instance. */
function increaseFoundNow(
  state: LoopState,
  { group, joining, nowMs }: Pick<GroupUpdate, 'group' | 'joining' | 'nowMs'>,
  policy: Policy,
): IncreaseTimes {
  const { maxProvisionMs } = optionsOf(group, policy);
  const births = isFirstLoop(state) ? joining.map((instance) => awaitedSinceMs(instance, nowMs, maxProvisionMs)) : [];
  const recent = births.filter((birthMs) => birthMs < nowMs);
  const requestedAtMs = recent.length === 0 ? nowMs : Math.max(...recent);
  return { requestedAtMs, expectedByMs: requestedAtMs + maxProvisionMs };
}

/** The part of the target that this process did not request: all of it after a restart. */
function unexplainedIncrease(state: LoopState, { group, nowMs }: GroupUpdate, target: number): number {
  const backoff = state.backoffs.get(group.id);
  // During a backoff, a target that rises again after a failure does not mean new nodes.
  if (backoff !== undefined && !backoff.refused && backoff.untilMs > nowMs) return 0;
  return Math.max(0, target - (state.targets.get(group.id) ?? 0));
}

/** A failed instance fails its increase once, although later loops still see the instance. */
function failOnFailedInstance(
  state: LoopState,
  { seen, known }: { readonly seen: GroupUpdate; readonly known: InFlightIncrease | undefined },
  policy: Policy,
): LoopState {
  if (known === undefined) return state;
  const first = seen.failed.find((instance) => instance.error !== undefined && instance.firstSeenMs >= known.requestedAtMs);
  const backoff = state.backoffs.get(seen.group.id);
  const lastFailureMs = backoff === undefined || backoff.refused ? -Infinity : backoff.lastFailureMs;
  if (first?.error === undefined || lastFailureMs >= known.requestedAtMs) return state;
  const { group, nowMs } = seen;
  const { detail, code: cause, message } = first.error;
  const failed = failIncrease(
    state,
    { groupId: group.id, group, detail, cause, message, correlationId: undefined, atMs: nowMs, waitMs: 0 },
    policy,
  );
  // The other instances of the increase are expected, and may be late: those that Azure shows, and at first those it does not list yet.
  const coming = inFlight(state, group.id);
  if (coming === undefined) return failed;
  const nodes = mayBeUnlisted(known, group) ? coming.nodes : Math.min(coming.nodes, seen.joining.length);
  return { ...failed, increases: withRecords(failed.increases, group.id, awaiting(state.increases.get(group.id) ?? [], nodes)) };
}

/** Azure lists a new instance after seconds. What a later list does not show after a failure is no longer expected. */
const LISTED_AFTER_MS = 30_000;

/** Whether an increase may have instances that the last list was too early to show. */
export function mayBeUnlisted(
  { requestedAtMs }: Pick<InFlightIncrease, 'requestedAtMs'>,
  { instancesObservedAtMs = Number.NEGATIVE_INFINITY }: Pick<NodeGroup, 'instancesObservedAtMs'>,
): boolean {
  return instancesObservedAtMs - requestedAtMs < LISTED_AFTER_MS;
}

function failOverdue(state: LoopState, seen: GroupUpdate, policy: Policy): LoopState {
  const { group, nowMs } = seen;
  const entry = inFlight(state, group.id);
  if (entry === undefined || nowMs <= entry.expectedByMs) return state;
  const detail = { kind: 'unavailable', effect: 'unknown' } as const;
  const message = `${entry.nodes} nodes did not join within ${Math.round((entry.expectedByMs - entry.requestedAtMs) / 60_000)} minutes`;
  return failIncrease(
    state,
    { groupId: group.id, group, detail, cause: 'timeout', message, correlationId: undefined, atMs: nowMs, waitMs: 0 },
    policy,
  );
}

const NO_INSTANCE = instanceKey('');
const NO_NODES: RegisteredNodes = { registered: 0, unlisted: 0 };

/** Nodes that count towards the target. An instance in deletion no longer counts. */
function registeredByGroup(observation: Observation): ReadonlyMap<NodeGroupId, RegisteredNodes> {
  const { groups, instanceOfNode, groupOfNode } = observation.cloud;
  const leaving = new Set(groups.flatMap((group) => instanceListFacts(group).deleting.map(({ key }) => key)));
  const isLeaving = (node: NodeName): boolean => leaving.has(instanceOfNode.get(node) ?? NO_INSTANCE);
  const { nodesByGroup, unlisted } = membershipFacts(observation.cloud);
  const unlistedIn = (group: NodeGroupId): number => unlisted.filter((name) => groupOfNode.get(name) === group).length;
  return new Map(
    [...nodesByGroup].map(([group, nodes]) => {
      const registered = leaving.size === 0 ? nodes.length : nodes.filter((node) => !isLeaving(node)).length;
      return [group, { registered, unlisted: unlisted.length === 0 ? 0 : unlistedIn(group) }];
    }),
  );
}
