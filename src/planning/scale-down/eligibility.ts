import { arePublished } from '../../domain/devices.ts';
import { describeBlock } from '../../domain/group-blocks.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import { compareText } from '../../lib/comparison.ts';
import { isScaleDownDisabled, type Node } from '../../domain/node.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { UnremovableNode } from '../../domain/plan.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import { DEVICE_CLAIMS, type Pod } from '../../domain/pod.ts';
import { isExpendable } from '../../scheduling/drainability/drain-rules.ts';
import { checkNodeDrain, type NodeDrain } from '../../scheduling/drainability/drainability.ts';
import { nodeListFacts } from '../facts/node-list-facts.ts';
import { factsOf } from '../scale-up/pods/pod-list-facts.ts';
import { awaitsDevices } from '../scale-up/groups/unpublished-devices.ts';
import { isReservation } from '../state/assumed-pods.ts';
import { hasReimageTaint } from '../state/deletions.ts';
import { isStarting, isWorking } from '../state/node-counts.ts';
import { claimUtilization, unsupportedClaim, unknownDeviceUse, deviceUtilization, hasDevices, utilizationOf } from './utilization.ts';
import { isLeaving, type ScaleDownContext } from './plan-context.ts';
import { type RepackedNodes, youngPod } from './repacked-nodes.ts';
import { defined } from '../../lib/defined.ts';
import { describeSource } from '../../domain/schedule-rules.ts';

/** A node whose removal is worth a simulation. */
export interface Candidate {
  readonly node: Node;
  readonly group: NodeGroup;
  readonly instance: InstanceKey;
  readonly utilization: number;
  readonly drain: NodeDrain;
  /** The condition that it is replaced for. undefined: it is not being replaced since it is sick. */
  readonly condition: string | undefined;
  /** A repack removes it. */
  readonly repacked: boolean;
}

export interface Eligibility {
  /** Sorted by name. */
  readonly candidates: readonly Candidate[];
  readonly kept: readonly UnremovableNode[];
  /** Unremovable nodes whose timer goes on: only a budget that is exhausted for the moment, or a pod that was moved lately, is against it. */
  readonly pausedBy: ReadonlySet<string>;
}

const NO_PODS: readonly Pod[] = [];
const PROTECTION = { 'scale-in': 'scale-in', actions: 'scale set actions' } as const;

/** Separates removable from unremovable nodes, with the cheap checks first. Simulates nothing. */
export function findCandidates(context: ScaleDownContext): Eligibility {
  const candidates: Candidate[] = [];
  const kept: UnremovableNode[] = [];
  const pausedBy = new Set<string>();
  const { nodes } = context.observation.cluster;
  const names = context.only === undefined ? nodeListFacts(nodes).names : [...context.only].sort(compareText);
  for (const name of names) {
    const node = nodes.get(name);
    if (node === undefined) continue;
    const verdict = checkNode(node, context);
    if ('reason' in verdict) {
      kept.push(verdict);
      continue;
    }
    const { blocker, passing } = verdict.drain;
    const moved = movedLately(verdict, context);
    if (blocker === undefined && moved !== undefined) {
      pausedBy.add(name);
      kept.push({ node: name, utilization: verdict.utilization, ...moved });
    } else if (blocker === undefined) candidates.push(verdict);
    else if (passing) {
      pausedBy.add(name);
      kept.push({ node: name, reason: 'BlockedByPod', blocker, utilization: verdict.utilization });
    } else {
      const { recheckUnremovableAfterMs } = context.policy.scaleDown;
      const recheckAtMs = Math.min(context.observation.nowMs + recheckUnremovableAfterMs, blocker.untilMs ?? Number.POSITIVE_INFINITY);
      kept.push({ node: name, reason: 'BlockedByPod', blocker, utilization: verdict.utilization, recheckAtMs });
    }
  }
  return { candidates, kept, pausedBy };
}

function checkNode(node: Node, context: ScaleDownContext): Candidate | UnremovableNode {
  const { observation } = context;
  const { name } = node;
  if (isLeaving(node, context))
    return { node: name, reason: 'CurrentlyBeingDeleted', ...defined({ detail: describeLeaving(node, context) }) };
  const groupId = observation.cloud.groupOfNode.get(name);
  const group = groupId === undefined ? undefined : context.groups.get(groupId);
  if (group === undefined) return { node: name, reason: 'NotAutoscaled' };
  if (isScaleDownDisabled(node, observation.nowMs)) return scaleDownDisabled(node);
  // guard: nodes of a group whose removals are blocked are kept
  const block = group.blocks.change ?? group.blocks.removal;
  if (block !== undefined) return { node: name, reason: 'GroupFrozen', detail: describeBlock(block) };
  const instance = observation.cloud.instanceOfNode.get(name);
  if (instance === undefined) return { node: name, reason: 'InstanceUnknown' };
  // guard: an instance with two nodes is not deleted
  if (context.disputedInstances.has(instance))
    return { node: name, reason: 'InstanceUnknown', detail: 'another node has the same providerID' };
  const guard = context.protectedInstances.get(instance);
  if (guard !== undefined)
    return { node: name, reason: 'InstanceProtected', detail: `its instance is protected from ${PROTECTION[guard]}` };
  const repack = awaitsRepack(node, group, context);
  // guard: a new node of a repack stays while its pods have yet to come
  if (repack !== undefined) return repack;
  // A broken node does not count for the minimum: its timer runs while a replacement is on its way.
  const floor = isWorking(node) ? floorReason(group, instance, context) : undefined;
  if (floor !== undefined) return { node: name, ...floor };
  const memory = rememberedReason(node, context);
  if (memory !== undefined) return memory;
  return checkUtilization({ node, group, instance }, context);
}

/** A broken or sick node is removed nevertheless. */
function movedLately({ node, condition }: Candidate, { repack }: ScaleDownContext): ReturnType<RepackedNodes['movedTo']> {
  // guard: where repacking is on, no pod is moved twice within its least age
  return node.readiness.ready && condition === undefined ? repack.movedTo(node.name) : undefined;
}

function rememberedReason({ name: node }: Node, { state, observation }: ScaleDownContext): UnremovableNode | undefined {
  const memory = state.unremovable.get(node);
  if (memory === undefined || memory.untilMs <= observation.nowMs) return undefined;
  const { reason, untilMs: recheckAtMs, blocker, detail = `${reason} in an earlier check` } = memory;
  return { node, reason: 'RecentlyUnremovable', cause: reason, detail, recheckAtMs, ...defined({ blocker }) };
}

/** A node that a repack added: nothing runs on it until its pods come. */
function awaitsRepack({ name: node, readiness }: Node, { id }: NodeGroup, { repack }: ScaleDownContext): UnremovableNode | undefined {
  const added = readiness.ready ? repack.addedFor(node, id) : undefined;
  if (added === undefined) return undefined;
  return { node, reason: 'RepackInProgress', detail: `it was added for the pods of ${added.set.remove.map((old) => old.node).join(', ')}` };
}

/** What delays or replaces the deletion of a leaving node. undefined: it is being deleted, or nothing delays it. */
function describeLeaving(node: Node, { observation: { cloud }, groups, instancesBeingDeleted }: ScaleDownContext): string | undefined {
  if (hasReimageTaint(node)) return 'it is being reimaged, and comes back';
  const { name } = node;
  const instance = cloud.instanceOfNode.get(name);
  const group = cloud.groupOfNode.get(name);
  const wait = group === undefined ? undefined : groups.get(group)?.blocks.deletion;
  const isDeleted = instance !== undefined && instancesBeingDeleted.has(instance);
  return wait === undefined || isDeleted ? undefined : `its removal is in progress, and deletions in its pool wait: ${describeBlock(wait)}`;
}

function scaleDownDisabled({ name, disabledBecause, protectedUntilMs: recheckAtMs }: Node): UnremovableNode {
  return { node: name, reason: 'ScaleDownDisabledAnnotation', ...defined({ detail: disabledBecause || undefined, recheckAtMs }) };
}

/**
 * What a node was found to be used for: its verdict follows from these values alone. Most nodes of a busy cluster are used, by the same pods as in
 * the loop before.
 */
interface KnownUse {
  readonly pods: readonly Pod[];
  readonly group: NodeGroup;
  readonly rules: Policy['scaleDown'];
  readonly cutoff: number;
  readonly verdict: UnremovableNode;
}

const knownUses = new WeakMap<Node, KnownUse>();

function checkUtilization(known: Pick<Candidate, 'node' | 'group' | 'instance'>, context: ScaleDownContext): Candidate | UnremovableNode {
  const pods = context.observation.cluster.podsByNode.get(known.node.name) ?? NO_PODS;
  const { scaleDown: rules, scaleUp } = context.policy;
  const { group } = known;
  const cutoff = scaleUp.expendablePriorityCutoff;
  if (context.repack.removing.has(known.node.name)) return findUseVerdict(known, pods, context);
  const use = knownUses.get(known.node);
  if (use?.pods === pods && use.group === group && use.rules === rules && use.cutoff === cutoff) return use.verdict;
  const verdict = findUseVerdict(known, pods, context);
  // While a pod terminates, or devices are awaited, the verdict depends on the time, too.
  const isLasting = factsOf(pods).requests !== undefined && !awaitsDevices(known.node, known.group);
  if ('reason' in verdict && verdict.reason === 'NotUnderutilized' && isLasting)
    knownUses.set(known.node, { pods, group, rules, cutoff, verdict });
  return verdict;
}

function findUseVerdict(
  known: Pick<Candidate, 'node' | 'group' | 'instance'>,
  present: readonly Pod[],
  context: ScaleDownContext,
): Candidate | UnremovableNode {
  const { node } = known;
  const { policy, observation } = context;
  if (!node.readiness.ready && !policy.scaleDown.unreadyEnabled) return { node: node.name, reason: 'ScaleDownUnreadyDisabled' };
  // Reserved room does not count as use of the node: it only must be found elsewhere if the node is removed.
  const facts = factsOf(present);
  const pods = facts.hasHolds ? present.filter((pod) => !isReservation(pod)) : present;
  const cutoff = policy.scaleUp.expendablePriorityCutoff;
  const counted = facts.lowestPriority < cutoff ? pods.filter((pod) => !isExpendable(pod, cutoff)) : pods;
  if (node.readiness.ready && awaitsDevices(node, known.group) && isStarting(node, known.group, { policy, nowMs: observation.nowMs }))
    return { node: node.name, reason: 'NotUnreadyLongEnough', detail: 'its device drivers have not published its devices yet' };
  const unknown = facts.hasDeviceClaims || arePublished(node.devices) ? unknownClaims(node, pods) : undefined;
  if (unknown !== undefined) return unknown;
  const { utilization, threshold } = utilizationAndThreshold(known, counted, context);
  if (utilization === undefined)
    return { node: node.name, reason: 'UnexpectedError', detail: 'the node has no allocatable CPU or memory, or only for ignored pods' };
  // Equality is eligible, as in the Cluster Autoscaler: a threshold of 0 still frees nodes that carry nothing.
  const condition = context.repack.removing.get(node.name);
  const repacked = context.repack.removing.has(node.name);
  const found = (): Candidate => ({ ...known, utilization, drain: checkNodeDrain(pods, context.drainOn(node.name)), condition, repacked });
  if (utilization <= threshold || condition !== undefined) return found();
  if (!repacked) return { node: node.name, reason: 'NotUnderutilized', utilization, threshold };
  return repackedCandidate(found(), context);
}

function repackedCandidate(candidate: Candidate, { policy, observation }: ScaleDownContext): Candidate | UnremovableNode {
  const { node, drain, utilization } = candidate;
  const { minPodAgeMs } = policy.repack;
  const young = youngPod(drain.movable, minPodAgeMs, observation.nowMs);
  // guard: a pod that a repack may have moved is not moved again by one
  if (young !== undefined) return { node: node.name, reason: 'RepackInProgress', detail: `pod ${young} came to it lately`, utilization };
  return candidate;
}

/** undefined: the devices that pods of the node claim are known. */
function unknownClaims(node: Node, pods: readonly Pod[]): UnremovableNode | undefined {
  const unsupported = unsupportedClaim(pods, DEVICE_CLAIMS);
  if (unsupported !== undefined) return { node: node.name, reason: 'UnexpectedError', blocker: unsupported };
  const unknown = unknownDeviceUse(node, pods);
  return unknown === undefined ? undefined : { node: node.name, reason: 'UnexpectedError', detail: unknown };
}

/** How much of the node is used, and the threshold up to which it is a candidate. For a node with devices only these count. */
function utilizationAndThreshold(
  { node, group }: Pick<Candidate, 'node' | 'group'>,
  pods: readonly Pod[],
  { policy, observation, gpuIndexes: devices }: ScaleDownContext,
): { readonly utilization: number | undefined; readonly threshold: number } {
  const options = optionsOf(group, policy);
  const claimed = claimUtilization(node, pods);
  if (hasDevices(node, devices))
    return { utilization: claimed ?? deviceUtilization(node, pods, devices), threshold: options.gpuUtilizationThreshold };
  const counted = {
    nowMs: observation.nowMs,
    ignoreDaemonPods: options.ignoreDaemonSetsUtilization,
    ignoreMirrorPods: policy.scaleDown.ignoreMirrorPodsUtilization,
  };
  return { utilization: claimed ?? utilizationOf(node, pods, counted), threshold: options.utilizationThreshold };
}

/** The reason, with the minimum size. */
export function minimumSizeReason({ minSize, schedule }: NodeGroup): Pick<UnremovableNode, 'reason' | 'detail'> {
  const rule = schedule?.min === undefined ? '' : `, by ${describeSource(schedule.min.rule)}`;
  return { reason: 'NodeGroupMinSizeReached', detail: `its node group is at its minimum size of ${minSize}${rule}` };
}

/** Why a working node is needed for the size of its group, or of a reservation. */
function floorReason(
  group: NodeGroup,
  instance: InstanceKey,
  context: ScaleDownContext,
): Pick<UnremovableNode, 'reason' | 'detail'> | undefined {
  if (isAtMinimum(group, context)) return minimumSizeReason(group);
  const detail = context.reserved.shortage([instance]);
  // guard: a working node that a capacity reservation pays anyway is not removed
  return detail === undefined ? undefined : { reason: 'CapacityReserved', detail };
}

function isAtMinimum(group: NodeGroup, context: ScaleDownContext): boolean {
  return group.target.known && group.target.value - (context.draining.get(group.id)?.length ?? 0) <= group.minSize;
}
