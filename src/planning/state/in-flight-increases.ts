import { instanceKey, type NodeGroupId, type NodeName } from '../../domain/ids.ts';
import type { InFlightIncrease, LoopState } from '../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import { absentInstances, instanceListFacts, membershipFacts } from '../facts/instance-facts.ts';
import { backOffGroup } from './backoff.ts';
import { awaitedSinceMs, isFirstLoop, maxProvisionMsOf, mayJoin } from './unregistered.ts';

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
    // A node whose instance reports a failure did join: it counts as the node it is.
    const absent = absentInstances(group, observation.cloud);
    const failed = absent.filter(({ state: is }) => is === 'failed');
    const joining = absent.filter(mayJoin);
    return trackGroup(
      next,
      { group, before: before.get(group.id), failed, joining, registered: registered.get(group.id) ?? 0, nowMs: observation.nowMs },
      policy,
    );
  }, state);
  const present = new Set(observation.cloud.groups.map((group) => group.id));
  return {
    ...tracked,
    increases: new Map([...tracked.increases].filter(([group]) => present.has(group))),
    targets: new Map([...(tracked.targets ?? [])].filter(([group]) => present.has(group))),
  };
}

interface GroupUpdate {
  readonly group: NodeGroup;
  readonly registered: number;
  /** Instances that failed and never became nodes. */
  readonly failed: readonly Instance[];
  /** The in-flight increase before this observation reported failures. */
  readonly before: InFlightIncrease | undefined;
  /** Instances that may still become nodes. */
  readonly joining: readonly Instance[];
  readonly nowMs: number;
}

function trackGroup(state: LoopState, seen: GroupUpdate, policy: Policy): LoopState {
  const { group, nowMs } = seen;
  if (!group.target.known) return failOverdue(state, seen, policy);
  const target = group.target.value;
  const missing = Math.max(0, target - seen.registered - seen.failed.length);
  const known = state.increases.get(group.id) ?? stillJoining(seen);
  const rise = unexplainedIncrease(state, seen, target);
  const maxProvisionMs = maxProvisionMsOf(group, policy);
  const requestedAtMs = known?.requestedAtMs ?? (isFirstLoop(state) ? newestCreationMs(seen, maxProvisionMs) : nowMs);
  const entry: InFlightIncrease = {
    group: group.id,
    nodes: Math.min(missing, (known?.nodes ?? 0) + rise),
    requestedAtMs,
    // A further increase restarts the time limit for all of them.
    expectedByMs: known === undefined ? requestedAtMs + maxProvisionMs : rise > 0 ? nowMs + maxProvisionMs : known.expectedByMs,
  };
  const next = {
    ...state,
    increases: withIncrease(state.increases, entry),
    targets: new Map([...(state.targets ?? []), [group.id, target]]),
  };
  return failOverdue(failOnFailedInstance(next, { seen, known }, policy), seen, policy);
}

/** The rest of an increase that just failed: instances that Azure shows are still expected. */
function stillJoining({ before, joining }: GroupUpdate): InFlightIncrease | undefined {
  const nodes = Math.min(before?.nodes ?? 0, joining.length);
  return before === undefined || nodes === 0 ? undefined : { ...before, nodes };
}

/** When the newest expected instance was requested, by the creation times. Used when a process starts. */
function newestCreationMs({ joining, nowMs }: GroupUpdate, maxProvisionMs: number): number {
  const births = joining.map((instance) => awaitedSinceMs(instance, nowMs, maxProvisionMs));
  return births.length === 0 ? nowMs : Math.max(...births);
}

/** The part of the target that this process did not request: all of it after a restart. */
function unexplainedIncrease(state: LoopState, { group, nowMs }: GroupUpdate, target: number): number {
  const backoff = state.backoffs.get(group.id);
  // During a backoff, a target that rises again after a failure does not mean new nodes.
  if (backoff !== undefined && backoff.refused !== true && backoff.untilMs > nowMs) return 0;
  return Math.max(0, target - (state.targets?.get(group.id) ?? 0));
}

function withIncrease(increases: LoopState['increases'], entry: InFlightIncrease): LoopState['increases'] {
  const next = new Map(increases);
  if (entry.nodes > 0) next.set(entry.group, entry);
  else next.delete(entry.group);
  return next;
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
  const lastFailureMs = backoff === undefined || backoff.refused === true ? -Infinity : backoff.lastFailureMs;
  if (first?.error === undefined || lastFailureMs >= known.requestedAtMs) return state;
  const { group, nowMs } = seen;
  const { detail, code: cause, message } = first.error;
  const failed = backOffGroup(state, { groupId: group.id, group, detail, cause, message, atMs: nowMs }, policy.backoff);
  // The other instances of the increase are expected, and may be late: those that Azure shows, and at first those it does not list yet.
  const coming = state.increases.get(group.id);
  if (coming === undefined) return failed;
  const nodes = mayBeUnlisted(known, group) ? coming.nodes : Math.min(coming.nodes, seen.joining.length);
  return { ...failed, increases: withIncrease(failed.increases, { ...coming, nodes }) };
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
  const entry = state.increases.get(group.id);
  if (entry === undefined || nowMs <= entry.expectedByMs) return state;
  const detail = { kind: 'unavailable', effect: 'unknown' } as const;
  const message = `${entry.nodes} nodes did not join within ${Math.round((entry.expectedByMs - entry.requestedAtMs) / 60_000)} minutes`;
  return backOffGroup(state, { groupId: group.id, group, detail, cause: 'timeout', message, atMs: nowMs }, policy.backoff);
}

const NO_INSTANCE = instanceKey('');

/** Nodes that count towards the target. An instance in deletion no longer counts. */
function registeredByGroup(observation: Observation): ReadonlyMap<NodeGroupId, number> {
  const { groups, instanceOfNode } = observation.cloud;
  const leaving = new Set(groups.flatMap((group) => instanceListFacts(group).deleting.map(({ key }) => key)));
  const isLeaving = (node: NodeName): boolean => leaving.has(instanceOfNode.get(node) ?? NO_INSTANCE);
  const members = [...membershipFacts(observation.cloud).nodesByGroup];
  return new Map(
    members.map(([group, nodes]) => [group, leaving.size === 0 ? nodes.length : nodes.filter((node) => !isLeaving(node)).length]),
  );
}
