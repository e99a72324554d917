/**
 * Since when instances run without a node. An instance that lost its node (deleted Node object, reimage) starts its time then, not at its
 * creation years ago.
 * Idea: instance.
 */
import type { InstanceKey } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import { absentInstances } from '../facts/instance-facts.ts';
import type { InFlightIncrease } from './increases/increase-records.ts';

/** At the start of a process each instance gets at least this much more time, since the first reads may lag. */
const EXTRA_AFTER_START_MS = 60_000;

/**
 * Since when an instance without a node is expected, milliseconds since the epoch. It is the creation time if that is recent enough before
 * `seenMs` that the instance hardly had a node and lost it. A restart then does not grant the whole time again.
 */
export function awaitedSinceMs({ createdAtMs }: Pick<Instance, 'createdAtMs'>, seenMs: number, maxProvisionMs: number): number {
  const isYoung = createdAtMs !== undefined && seenMs - createdAtMs < 2 * maxProvisionMs;
  return isYoung ? Math.min(seenMs, createdAtMs) : seenMs;
}

/** Whether no observation has entered the state yet. What a process finds at its start it may have done itself in an earlier life. */
export function isFirstLoop({ unregisteredSince }: Pick<LoopState, 'unregisteredSince'>): boolean {
  return unregisteredSince === undefined;
}

/** Keeps the known times, starts new ones now, and drops instances that joined, left or cannot join. */
export function trackUnregistered(
  state: LoopState,
  { cluster, cloud, nowMs }: Observation,
  policy: Policy,
): ReadonlyMap<InstanceKey, number> {
  const known = state.unregisteredSince;
  const since = new Map<InstanceKey, number>();
  // If no node matches an instance, the ids do not compare; it does not mean that every instance lost its node.
  if (cloud.instanceOfNode.size === 0 && cluster.nodes.size > 0) return since;
  for (const group of cloud.groups) {
    const { maxProvisionMs } = optionsOf(group, policy);
    const bornMs = (instance: Instance): number =>
      Math.min(nowMs, Math.max(awaitedSinceMs(instance, nowMs, maxProvisionMs), nowMs - maxProvisionMs + EXTRA_AFTER_START_MS));
    for (const instance of absentInstances(group, cloud)) {
      if (!mayJoin(instance)) continue;
      since.set(instance.key, known === undefined ? bornMs(instance) : (known.get(instance.key) ?? nowMs));
    }
  }
  return since;
}

export function mayJoin(instance: Instance): boolean {
  return instance.state === 'creating' || instance.state === 'running';
}

interface OverdueContext {
  readonly state: Pick<LoopState, 'unregisteredSince'>;
  readonly policy: Policy;
  readonly nowMs: number;
}

/** Whether an instance without a node exceeded its time to join. Call it for instances without a node. */
export function isOverdue(instance: Instance, group: NodeGroup, context: OverdueContext): boolean {
  const { state, policy, nowMs } = context;
  const sinceMs = state.unregisteredSince?.get(instance.key) ?? instance.firstSeenMs;
  return nowMs - sinceMs > optionsOf(group, policy).maxProvisionMs;
}

/** Whether the instance was old enough, when it was first seen without a node, that it may have had one. */
export function mayHaveBeenNode(instance: Instance, group: NodeGroup, { state, policy }: { state: LoopState; policy: Policy }): boolean {
  const sinceMs = state.unregisteredSince?.get(instance.key) ?? instance.firstSeenMs;
  return sinceMs - (instance.createdAtMs ?? instance.firstSeenMs) >= optionsOf(group, policy).maxProvisionMs;
}

/**
 * Whether an instance without a node is not part of an increase, although it counts towards the target: it was created long before the
 * request, or it was there before the request and will not join. Whatever the increase did request is awaited until `expectedByMs`.
 */
export function isLeftover(
  instance: Instance,
  group: NodeGroup,
  { requestedAtMs, expectedByMs }: Pick<InFlightIncrease, 'requestedAtMs' | 'expectedByMs'>,
  context: OverdueContext,
): boolean {
  const { state, createdAtMs = Number.POSITIVE_INFINITY, firstSeenMs } = instance;
  if (state === 'failed' || state === 'deleting') return false;
  // The clocks of Azure and of this process may differ, and a new process sees every instance for the first time.
  if (createdAtMs + 2 * optionsOf(group, context.policy).maxProvisionMs <= requestedAtMs) return true;
  // guard: an instance that was seen after the request is part of the increase
  if (firstSeenMs >= requestedAtMs) return false;
  // guard: a node that an increase did request is awaited until the increase must be complete
  return state === 'deallocated' || isKnownOverdue(instance, group, { ...context, nowMs: Math.min(context.nowMs, expectedByMs) });
}

/** How many of the group's instances count in the target but never became nodes. Only instances with a known time. */
export function overdueInstances(group: NodeGroup, context: OverdueContext): number {
  if (context.state.unregisteredSince === undefined || context.state.unregisteredSince.size === 0) return 0;
  return (group.instances ?? []).filter((instance) => isKnownOverdue(instance, group, context)).length;
}

function isKnownOverdue(instance: Instance, group: NodeGroup, context: OverdueContext): boolean {
  return mayJoin(instance) && context.state.unregisteredSince?.has(instance.key) === true && isOverdue(instance, group, context);
}
